package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

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
	S3CertFile     string   `name:"s3-cert-file" help:"PEM file of this client's certificate, for a store that wants one; read again when it changes." placeholder:"FILE" group:"Bucket"`
	S3KeyFile      string   `name:"s3-key-file" help:"PEM file of its private key." placeholder:"FILE" group:"Bucket"`
}

// Validate refuses a bucket that cannot be reached.
func (f S3Flags) Validate() error {
	return broken(
		rule{!f.S3Endpoint.IsSet(), "--s3-endpoint is missing: " + endpointSentence},
		rule{len(f.S3Bucket) < 3 || len(f.S3Bucket) > 63 || strings.ContainsAny(f.S3Bucket, "/: "),
			fmt.Sprintf("--s3-bucket %q is not the name of a bucket: 3 to 63 letters, digits, dots and dashes", f.S3Bucket)},
		rule{f.S3Root != strings.Trim(f.S3Root, "/") || strings.Contains(f.S3Root, "//"),
			fmt.Sprintf("--s3-root %q must neither begin nor end with a slash nor hold an empty part", f.S3Root)},
		rule{f.S3AccessKey.IsSet() != f.S3SecretKey.IsSet(), "--s3-access-key and --s3-secret-key belong together: give both, or neither for the AWS chain"},
		rule{f.S3SessionToken.IsSet() && !f.S3AccessKey.IsSet(), "--s3-session-token needs --s3-access-key and --s3-secret-key"},
		rule{(f.S3CertFile == "") != (f.S3KeyFile == ""), "--s3-cert-file and --s3-key-file belong together: give both"},
		rule{f.S3Endpoint.IsSet() && !f.S3Endpoint.Secure && (f.S3CAFile != "" || f.S3CertFile != ""),
			"--s3-ca-file and --s3-cert-file need TLS: write the endpoint as https://HOST"},
	)
}

// open makes a client of the bucket and sees that it can be reached.
func (f S3Flags) open(ctx context.Context, log zerolog.Logger) (*sinks.Bucket, error) {
	bucket, err := sinks.NewBucket(f.Bucket(log), log, sinks.Hooks{})
	if err != nil {
		return nil, usageError{err}
	}
	if err := bucket.Reach(ctx); err != nil {
		bucket.Close()
		return nil, err
	}
	return bucket, nil
}

// Bucket is the configuration of a client of this bucket. The log is told when
// keys and certificates are read again.
func (f S3Flags) Bucket(log zerolog.Logger) sinks.BucketConfig {
	c := sinks.Default()
	c.Endpoint, c.Bucket, c.Root, c.Region = f.S3Endpoint.String(), f.S3Bucket, f.S3Root, f.S3Region
	c.Checksum, c.Addressing = sinks.Checksum(f.S3Checksum), f.S3Addressing
	c.CAFile, c.CertFile, c.KeyFile = f.S3CAFile, f.S3CertFile, f.S3KeyFile
	if f.S3AccessKey.IsSet() {
		withKeys(&c, "s3", f.S3AccessKey, f.S3SecretKey, f.S3SessionToken, log)
	}
	return c
}

// withKeys gives a client keys that are read again where they stand in files;
// side is the beginning of their flags' names.
func withKeys(c *sinks.BucketConfig, side string, access, secret, token Secret, log zerolog.Logger) {
	c.AccessKey, c.SecretKey, c.SessionToken = access.Reveal(), secret.Reveal(), token.Reveal()
	a, s, t := access.Source(side+"-access-key", log), secret.Source(side+"-secret-key", log), token.Source(side+"-session-token", log)
	c.Keys = func() sinks.Keys { return sinks.Keys{Access: a(), Secret: s(), Token: t()} }
}
