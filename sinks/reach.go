package sinks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
)

// Reach tries whether the bucket can be reached and read, a few times only:
// whoever runs a command wants to be told of a wrong setting, not to wait. Each
// failure is a sentence that says what to do.
func (b *Bucket) Reach(ctx context.Context) error {
	p := &probe{b: b}
	err := p.list(ctx)
	// Who may read but not list may still do what is asked for.
	if err == nil || p.denied(ctx, err) {
		return nil
	}
	return p.unusable(ctx, err)
}

// unfit is why a store cannot be used.
type unfit struct {
	sentence string
	cause    error
}

func (u *unfit) Error() string { return u.sentence + ": " + u.cause.Error() }
func (u *unfit) Unwrap() error { return u.cause }

// Sentence is what is wrong and what to do, without the store's own words: it
// is the same at each try, while those may name another key.
func (u *unfit) Sentence() string { return u.sentence }

// unusable explains why nothing can be written at all.
func (p *probe) unusable(ctx context.Context, err error) error {
	say := func(what string) error { return &unfit{fmt.Sprintf("object store %s: %s", p.b.name, what), err} }
	var a *answer
	if ctx.Err() != nil {
		return err
	}
	if !errors.As(err, &a) {
		return say(unreachable(err, p.b.cfg))
	}
	switch a.code {
	case "NoSuchBucket":
		return say(fmt.Sprintf("there is no bucket %q: create it, or correct s3-bucket", p.b.cfg.Bucket))
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "InvalidTokenId", "XAdminUserNotFound":
		return say("the keys are not valid: check s3-access-key, s3-secret-key and s3-session-token, or what the environment, the shared credentials file or the role gives")
	case "AccessDenied":
		if p.b.anonymous(ctx) {
			return say("no keys were found: set s3-access-key and s3-secret-key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a shared credentials file, or a role" + p.b.looked())
		}
		return say(fmt.Sprintf("the keys may not write: allow PutObject, GetObject, ListBucket and DeleteObject under %q", p.b.prefix))
	case "RequestTimeTooSkewed":
		return say("this machine's clock is wrong: set it by NTP")
	case "XMinioStorageFull", "XMinioDiskFull", "InsufficientStorage", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded":
		return say("the store is full: make room")
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "InvalidRegion":
		return say("the bucket is in another region: set s3-region")
	}
	if a.status == 400 && strings.Contains(a.Error(), "HTTPS server") || a.status == 400 && a.code == "400 Bad Request" {
		return say("the store speaks TLS on this port: write s3-endpoint as https://HOST:PORT")
	}
	if a.status == 400 || a.status == 501 {
		return say(fmt.Sprintf("it refuses an upload with checksum %q: try s3-checksum md5, sha256 or none", p.b.cfg.Checksum))
	}
	return say(fmt.Sprintf("it does not take an object after %d tries", p.b.cfg.ProbeTries))
}

// unreachable says why there is no answer.
func unreachable(err error, cfg BucketConfig) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var plain tls.RecordHeaderError
	var alert *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &unknown) && cfg.CAFile == "":
		return "nobody known here has signed its certificate: give the certificate of its authority as s3-ca-file"
	case errors.As(err, &unknown):
		return "its certificate is signed by another authority than those in s3-ca-file: give the right file"
	case errors.As(err, &name):
		return "its certificate is for another name: give a name that stands in it in s3-endpoint"
	case errors.As(err, &invalid):
		return "its certificate is not valid: renew it there, and check this machine's clock"
	case errors.As(err, &plain), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "it does not speak TLS on this port: write s3-endpoint as http://HOST:PORT"
	case errors.As(err, &alert) && alert.Op == "remote error": // of TLS
		return "it refuses the TLS connection: it may want a client certificate, check s3-cert-file and s3-key-file"
	case errors.As(err, &dns):
		return fmt.Sprintf("its host %s is not known: check s3-endpoint", dns.Name)
	}
	return "it cannot be reached: check s3-endpoint (with https:// if it speaks TLS), and that the store is running"
}

// looked says where keys were looked for, "" if they were given.
func (b *Bucket) looked() string {
	if b.chain == nil {
		return ""
	}
	return " (" + b.chain.String() + ")"
}
