package sinks

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// newCredentials gives the configured keys, else those of the usual chain.
// Both are asked again after a refusal, so keys may be replaced without a
// restart.
func newCredentials(cfg BucketConfig) (*credentials.Credentials, *chain) {
	if cfg.Keys != nil {
		return credentials.New(&configured{keys: cfg.Keys}), nil
	}
	if cfg.AccessKey != "" {
		return credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, cfg.SessionToken), nil
	}
	c := newChain(&credentials.IAM{Client: roleClient()})
	return credentials.New(c), c
}

// configured are keys that may be replaced while the process runs.
type configured struct {
	keys func() Keys
	at   time.Time // when they were last asked for
}

// keysEvery is how often they are asked for; the library asks about each request.
const keysEvery = time.Second

func (c *configured) IsExpired() bool { return time.Since(c.at) > keysEvery }

func (c *configured) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

func (c *configured) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	c.at = time.Now()
	k := c.keys()
	return credentials.Value{AccessKeyID: k.Access, SecretAccessKey: k.Secret, SessionToken: k.Token, SignerType: credentials.SignatureV4}, nil
}

// roleClient asks for roles. Outside a cloud nobody answers at their address,
// and no connection must be waited for long; a security token service that has
// taken one may think a little.
func roleClient() *http.Client {
	d := net.Dialer{Timeout: 2 * time.Second}
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: d.DialContext, TLSHandshakeTimeout: 5 * time.Second,
	}}
}

// chain asks one place after another for keys: the environment by AWS' and by
// MinIO's names, the shared credentials file, and the role: by web identity,
// of the container or of the machine.
type chain struct {
	mu    sync.Mutex // the library has a lock of its own; this one is for String
	links []link
	found credentials.Provider // that gave the keys in use
	none  time.Time            // when nobody had any
}

type link struct {
	place    string
	provider credentials.Provider
	why      error // it had none when last asked
}

// noneFor is how long nobody is asked again after nobody had keys: the library
// asks for every request, and each time a laptop would wait for a cloud.
const noneFor = 10 * time.Second

func newChain(role *credentials.IAM) *chain {
	return &chain{links: []link{
		{place: "environment (AWS_ACCESS_KEY_ID)", provider: &credentials.EnvAWS{}},
		{place: "environment (MINIO_ACCESS_KEY)", provider: &credentials.EnvMinio{}},
		{place: "shared credentials file", provider: &credentials.FileAWSCredentials{}},
		{place: "role", provider: role},
	}}
}

// IsExpired implements credentials.Provider.
func (c *chain) IsExpired() bool { return c.found == nil || c.found.IsExpired() }

func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

// RetrieveWithCredContext returns the first keys found. Without any it signs
// nothing, which a store may allow.
func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	nobody := credentials.Value{SignerType: credentials.SignatureAnonymous}
	if !c.none.IsZero() && time.Since(c.none) < noneFor {
		return nobody, nil
	}
	c.none = time.Time{}
	for i := range c.links {
		l := &c.links[i]
		v, err := l.provider.RetrieveWithCredContext(cc)
		if l.why = err; err == nil && v.AccessKeyID != "" && v.SecretAccessKey != "" {
			c.found = l.provider
			return v, nil
		}
	}
	c.found, c.none = nil, time.Now()
	return nobody, nil
}

// String says where keys were looked for, and why there were none.
func (c *chain) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var places []string
	for _, l := range c.links {
		place := l.place
		if l.why != nil {
			place = fmt.Sprintf("%s: %v", l.place, l.why)
		}
		places = append(places, place)
	}
	return strings.Join(places, "; ")
}

// anonymous says that no keys were found anywhere.
func (b *Bucket) anonymous(ctx context.Context) bool {
	v, err := b.creds.GetWithContext(&credentials.CredContext{Client: http.DefaultClient, Context: ctx})
	return err != nil || v.SignerType.IsAnonymous() || v.AccessKeyID == ""
}
