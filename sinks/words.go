package sinks

import (
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// mostWords is how much of what a store says of an error is kept.
const mostWords = 1000

// without takes our keys out of a store's words, which go to logs and health:
// some stores, and proxies before them, say back what they were sent.
func (b *Bucket) without(words string) string {
	if b.chain == nil || !b.creds.IsExpired() { // else a role would be asked for keys
		v, err := b.creds.GetWithContext(&credentials.CredContext{Client: http.DefaultClient})
		for _, secret := range []string{v.SecretAccessKey, v.SessionToken, v.AccessKeyID} {
			if err == nil && secret != "" {
				words = strings.ReplaceAll(words, secret, "(hidden)")
			}
		}
	}
	if len(words) > mostWords {
		words = strings.ToValidUTF8(words[:mostWords], "") + "..."
	}
	return words
}
