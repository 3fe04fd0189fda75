package sinks

import (
	"net/http"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// newCredentials gives the configured keys, else the usual chain: environment,
// shared credentials file, then web identity or the machine's role. The chain
// is asked again after a refusal, so keys may be replaced without a restart.
func newCredentials(cfg BucketConfig) *credentials.Credentials {
	if cfg.AccessKey != "" {
		return credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, cfg.SessionToken)
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{},
		&credentials.EnvMinio{},
		&credentials.FileAWSCredentials{},
		// A short limit: outside a cloud nobody answers at the role's address.
		&credentials.IAM{Client: &http.Client{Timeout: 3 * time.Second}},
	})
}

// anonymous says that no keys were found anywhere.
func (b *Bucket) anonymous() bool {
	v, err := b.creds.GetWithContext(nil)
	return err != nil || v.SignerType.IsAnonymous() || v.AccessKeyID == ""
}
