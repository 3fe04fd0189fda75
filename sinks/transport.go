package sinks

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"flowgraph/internal/reread"
)

// newTransport keeps many connections to the one host it talks to, and speaks
// HTTP/1.1 only: one connection an upload is faster than many in one.
func newTransport(cfg BucketConfig, log zerolog.Logger) (*http.Transport, error) {
	secure, err := secureConfig(cfg, log)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dial,
		MaxIdleConns:        2 * cfg.Connections,
		MaxIdleConnsPerHost: cfg.Connections,
		IdleConnTimeout:     time.Minute,
		TLSHandshakeTimeout: 10 * time.Second,
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      32 << 10,
		DisableCompression:  true, // or the sizes of objects would not be known
		TLSClientConfig:     secure,
	}, nil
}

// secureConfig trusts and shows what is configured. A client certificate is
// read again for each connection.
func secureConfig(cfg BucketConfig, log zerolog.Logger) (*tls.Config, error) {
	out, err := reread.Trusting(cfg.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca-file: %w", err)
	}
	if cfg.CertFile == "" {
		return out, nil
	}
	pair, err := reread.KeyPair(cfg.CertFile, cfg.KeyFile, func(err error) {
		if err != nil {
			log.Warn().Err(err).Msg("the new client certificate for the object store cannot be used; the old one stays")
			return
		}
		log.Info().Str("file", cfg.CertFile).Msg("the client certificate for the object store was read again")
	})
	if err != nil {
		return nil, fmt.Errorf("cert-file and key-file: %w", err)
	}
	out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.Get(), nil }
	return out, nil
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn{c}, nil
}

// conn writes bodies of ours from where they lie, many megabytes a system
// call, instead of through the 32 KiB buffer of net/http.
type conn struct{ net.Conn }

func (c conn) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if b, ok := l.R.(*body); ok && b.left() == l.N {
			n, err := b.WriteTo(c.Conn)
			l.N -= n
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}

// Keys of what a call hands to its requests through the library.
type (
	payloadKey struct{}
	listingKey struct{}
)

// listing follows the pages of one listing.
type listing struct{ token string }

// exchanger stands between the library and the wire for what the library does
// not do: it puts our own body into uploads, finds replies of status 200 that
// are none, and ends listings that turn in circles.
type exchanger struct{ next http.RoundTripper }

func (e *exchanger) RoundTrip(req *http.Request) (*http.Response, error) {
	// A listing may first ask for the bucket's region.
	if l, ok := req.Context().Value(listingKey{}).(*listing); ok && req.URL.Query().Has("list-type") {
		return e.list(req, l)
	}
	if req.Method != http.MethodPut {
		return e.next.RoundTrip(req)
	}
	if p, ok := req.Context().Value(payloadKey{}).(*payload); ok && req.Body != nil {
		req = req.WithContext(req.Context()) // a request may not be changed
		req.Body = p.open()
		req.GetBody = func() (io.ReadCloser, error) { return p.open(), nil }
	}
	resp, err := e.next.RoundTrip(req) // of an upload, or of a copy within the store
	if err == nil && resp.StatusCode == http.StatusOK {
		unmask(resp)
	}
	return resp, err
}

// list makes sure that the reply is a listing: the library takes any other
// XML, also an error's or a proxy's page, for one that has no keys.
func (e *exchanger) list(req *http.Request, l *listing) (*http.Response, error) {
	token := req.URL.Query().Get("continuation-token")
	if token != "" && token == l.token {
		return nil, &answer{code: "RepeatedToken", message: "the store gives the same continuation token again"}
	}
	l.token = token
	resp, err := e.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	if root := unmask(resp); root != "" && root != "ListBucketResult" && root != "Error" {
		resp.Body.Close()
		return nil, &answer{code: "BadListing", message: fmt.Sprintf("the reply to a listing is a document of type %q; is there a proxy in between?", root)}
	}
	return resp, nil
}

// mostReply is as large as an XML reply may be. A page of a listing has a
// thousand keys of at most a kilobyte.
const mostReply = 32 << 20

// bounded is a reply that may not go on for ever.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, &answer{code: "ReplyTooLarge", message: fmt.Sprintf("the store's reply is larger than %d bytes", int64(mostReply))}
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// unmask turns a reply of status 200 whose body is an error into one of status
// 500: a store that began to answer before it was done has no other way. It
// returns the name of the body's root element, "" if it has none.
func unmask(resp *http.Response) string {
	if resp.ContentLength == 0 {
		return ""
	}
	r := bufio.NewReader(&bounded{r: resp.Body, left: mostReply})
	head, _ := r.Peek(r.Size()) // what failed here fails again for the reader of the body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{r, resp.Body}
	root := rootOf(head)
	if root == "Error" {
		resp.StatusCode, resp.Status = http.StatusInternalServerError, "500 error in a reply of status 200"
	}
	return root
}

// rootOf is the name of the first element in the beginning of an XML document.
func rootOf(head []byte) string {
	d := xml.NewDecoder(bytes.NewReader(head))
	d.Strict = false // an HTML page has a root too
	for {
		switch t, err := d.Token(); t := t.(type) {
		case xml.StartElement:
			return t.Name.Local
		default:
			if err != nil {
				return ""
			}
		}
	}
}
