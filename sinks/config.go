package sinks

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// Checksum says how an upload is protected on its way and confirmed after it.
type Checksum string

const (
	CRC32C Checksum = "crc32c" // sent with the upload and compared with the reply
	MD5    Checksum = "md5"    // as Content-MD5, for stores that know nothing newer
	SHA256 Checksum = "sha256" // for stores whose policy demands it; the dearest
	None   Checksum = "none"   // nothing is sent; the ETag or the size confirms
)

// Keys are what a client logs in with.
type Keys struct{ Access, Secret, Token string }

// BucketConfig names the object store and says how patient to be with it.
type BucketConfig struct {
	Endpoint string `yaml:"endpoint"` // URL, or host:port (plain HTTP)
	Bucket   string `yaml:"bucket"`
	Root     string `yaml:"root"` // path before every key; one for each Milvus cluster

	// Static keys; both empty: the usual AWS chain (environment, shared
	// credentials file, web identity, instance role), read again whenever the
	// store refuses what it gave.
	AccessKey    string `yaml:"access-key"`
	SecretKey    string `yaml:"secret-key"`
	SessionToken string `yaml:"session-token"`
	// Keys, if given, is asked for the keys of each request, at most once a
	// second and again after a refusal: they may be replaced at any time.
	Keys func() Keys `yaml:"-"`

	Region     string   `yaml:"region"`     // empty: the store is asked
	Addressing string   `yaml:"addressing"` // auto, path or virtual-host
	CAFile     string   `yaml:"ca-file"`    // PEM certificates to trust besides the system's
	CertFile   string   `yaml:"cert-file"`  // PEM certificate of this client; read again for new connections
	KeyFile    string   `yaml:"key-file"`   // and its private key
	Checksum   Checksum `yaml:"checksum"`

	Connections  int `yaml:"connections"`   // kept open to the store when idle
	ReadRefusals int `yaml:"read-refusals"` // how often a refused get, stat or list is tried again
	ProbeTries   int `yaml:"probe-tries"`   // tries of each step of the probe at start

	// AttemptTimeout and AttemptRate limit one request: it may take the time
	// plus its size at that rate (bytes a second). A request that ran out of
	// time is given twice as much the next time.
	AttemptTimeout time.Duration `yaml:"attempt-timeout"`
	AttemptRate    int64         `yaml:"attempt-rate"`

	// The pause before the next try: BackoffFirst, doubled each time up to
	// BackoffWait for a store in trouble and BackoffRefusal for a refusal,
	// less up to half by chance.
	BackoffFirst   time.Duration `yaml:"backoff-first"`
	BackoffWait    time.Duration `yaml:"backoff-wait"`
	BackoffRefusal time.Duration `yaml:"backoff-refusal"`
}

// Default returns the configuration without endpoint, bucket and keys.
func Default() BucketConfig {
	return BucketConfig{
		Root:           "files",
		Addressing:     "auto",
		Checksum:       CRC32C,
		Connections:    64,
		ReadRefusals:   3,
		ProbeTries:     5,
		AttemptTimeout: 30 * time.Second,
		AttemptRate:    1 << 20,
		BackoffFirst:   200 * time.Millisecond,
		BackoffWait:    10 * time.Second,
		BackoffRefusal: 3 * time.Second,
	}
}

// Validate reports every setting that cannot work, each with what is allowed.
func (c BucketConfig) Validate() error {
	var errs []error
	if _, _, err := c.host(); err != nil {
		errs = append(errs, err)
	}
	if len(c.Bucket) < 3 || len(c.Bucket) > 63 || strings.Contains(c.Bucket, "/") {
		errs = append(errs, fmt.Errorf("bucket %q: give the bucket's name alone, 3 to 63 characters; a path belongs into root", c.Bucket))
	}
	if (c.AccessKey == "") != (c.SecretKey == "") {
		errs = append(errs, errors.New("access-key and secret-key: give both, or none to use the environment, the shared credentials file or the machine's role"))
	}
	if c.SessionToken != "" && c.AccessKey == "" {
		errs = append(errs, errors.New("session-token: it belongs to an access-key and a secret-key; give these too"))
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		errs = append(errs, errors.New("cert-file and key-file: give both, or none"))
	}
	switch c.Checksum {
	case CRC32C, MD5, SHA256, None:
	default:
		errs = append(errs, fmt.Errorf("checksum %q: allowed are crc32c, md5, sha256 and none", c.Checksum))
	}
	switch c.Addressing {
	case "auto", "path", "virtual-host":
	default:
		errs = append(errs, fmt.Errorf("addressing %q: allowed are auto, path and virtual-host", c.Addressing))
	}
	for _, p := range strings.Split(c.Root, "/") {
		if p == "." || p == ".." {
			errs = append(errs, fmt.Errorf("root %q: a path in the bucket such as files, without . and .. in it", c.Root))
		}
	}
	return errors.Join(append(errs, c.validateLimits()...)...)
}

func (c BucketConfig) validateLimits() []error {
	var errs []error
	for _, l := range []struct {
		name string
		n    int64
	}{
		{"connections", int64(c.Connections)}, {"read-refusals", int64(c.ReadRefusals)},
		{"probe-tries", int64(c.ProbeTries)}, {"attempt-rate", c.AttemptRate},
		{"attempt-timeout", int64(c.AttemptTimeout)}, {"backoff-first", int64(c.BackoffFirst)},
		{"backoff-wait", int64(c.BackoffWait)}, {"backoff-refusal", int64(c.BackoffRefusal)},
	} {
		if l.n <= 0 {
			errs = append(errs, fmt.Errorf("%s: must be greater than 0", l.name))
		}
	}
	return errs
}

// host splits the endpoint into host[:port] and whether it speaks TLS.
func (c BucketConfig) host() (host string, secure bool, err error) {
	bad := func(why string) (string, bool, error) {
		return "", false, fmt.Errorf("endpoint %q: %s; allowed are http://host:port, https://host[:port] and host:port", c.Endpoint, why)
	}
	if !strings.Contains(c.Endpoint, "://") {
		if h, p, err := net.SplitHostPort(c.Endpoint); err != nil || h == "" || p == "" {
			return bad("no host and port")
		}
		return c.Endpoint, false, nil
	}
	u, err := url.Parse(c.Endpoint)
	switch {
	case err != nil:
		return bad(err.Error())
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("unknown scheme " + u.Scheme)
	case u.Host == "" || u.Hostname() == "":
		return bad("no host")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil:
		return bad("only scheme, host and port may be in it (the bucket and the root path are settings of their own)")
	}
	return u.Host, u.Scheme == "https", nil
}

// prefix is what stands before every key in the bucket: "" or "root/".
func (c BucketConfig) prefix() string {
	root := strings.Trim(c.Root, "/")
	if root == "" {
		return ""
	}
	return root + "/"
}
