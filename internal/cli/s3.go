package cli

import (
	"errors"
	"fmt"
	"strings"

	"flowgraph/sinks"
)

// S3Flags say where the bucket is and how to log in to it.
type S3Flags struct {
	S3Endpoint     Endpoint `name:"s3-endpoint" help:"Object store, as https://HOST, http://HOST:PORT, or HOST:PORT for plain HTTP." placeholder:"URL" group:"Bucket"`
	S3Bucket       string   `name:"s3-bucket" help:"Bucket; it must exist." default:"a-bucket" placeholder:"NAME" group:"Bucket"`
	S3Root         string   `name:"s3-root" help:"Path in the bucket under which everything lies. One for each Milvus cluster." default:"files" placeholder:"PATH" group:"Bucket"`
	S3Region       string   `name:"s3-region" help:"Region of the bucket; asked of the store when empty." placeholder:"NAME" group:"Bucket"`
	S3AccessKey    Secret   `name:"s3-access-key" help:"Access key. Without one the usual AWS chain is asked: environment, shared credentials file, instance role." placeholder:"KEY" group:"Bucket"`
	S3SecretKey    Secret   `name:"s3-secret-key" help:"Secret key. Better given as a file or in the environment than as a flag, which other users of the machine can see." placeholder:"KEY" group:"Bucket"`
	S3SessionToken Secret   `name:"s3-session-token" help:"Session token of temporary keys." placeholder:"TOKEN" group:"Bucket"`
	S3Checksum     string   `name:"s3-checksum" help:"Checksum by which an upload is confirmed: ${enum}." enum:"crc32c,md5,sha256,none" default:"crc32c" placeholder:"KIND" group:"Bucket"`
	S3Addressing   string   `name:"s3-addressing" help:"Where the bucket's name stands in a URL: ${enum}." enum:"auto,path,virtual-host" default:"auto" placeholder:"FORM" group:"Bucket"`
	S3CAFile       string   `name:"s3-ca-file" help:"PEM file of certificates to trust besides the system's." placeholder:"FILE" group:"Bucket"`
}

// Validate refuses a bucket that cannot be reached.
func (f S3Flags) Validate() error {
	switch {
	case !f.S3Endpoint.IsSet():
		return errors.New("--s3-endpoint is missing: " + endpointSentence)
	case len(f.S3Bucket) < 3 || len(f.S3Bucket) > 63 || strings.ContainsAny(f.S3Bucket, "/: "):
		return fmt.Errorf("--s3-bucket %q is not the name of a bucket: 3 to 63 letters, digits, dots and dashes", f.S3Bucket)
	case f.S3Root != strings.Trim(f.S3Root, "/") || strings.Contains(f.S3Root, "//"):
		return fmt.Errorf("--s3-root %q must neither begin nor end with a slash nor hold an empty part", f.S3Root)
	case f.S3AccessKey.IsSet() != f.S3SecretKey.IsSet():
		return errors.New("--s3-access-key and --s3-secret-key belong together: give both, or neither for the AWS chain")
	case f.S3SessionToken.IsSet() && !f.S3AccessKey.IsSet():
		return errors.New("--s3-session-token needs --s3-access-key and --s3-secret-key")
	}
	return nil
}

// Bucket is the configuration of a client of this bucket.
func (f S3Flags) Bucket() sinks.BucketConfig {
	c := sinks.Default()
	c.Endpoint, c.Bucket, c.Root, c.Region = f.S3Endpoint.String(), f.S3Bucket, f.S3Root, f.S3Region
	c.AccessKey, c.SecretKey, c.SessionToken = f.S3AccessKey.Reveal(), f.S3SecretKey.Reveal(), f.S3SessionToken.Reveal()
	c.Checksum, c.Addressing, c.CAFile = sinks.Checksum(f.S3Checksum), f.S3Addressing, f.S3CAFile
	return c
}
