package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Endpoint is the address of an object store.
type Endpoint struct {
	Host   string // host or host:port
	Secure bool   // https
}

const endpointSentence = "write https://HOST, http://HOST:PORT, or HOST:PORT for plain HTTP"

// UnmarshalText reads a URL, or HOST:PORT for plain HTTP. Errors do not repeat
// the value: it may hold a password.
func (e *Endpoint) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	if in == "" {
		*e = Endpoint{}
		return nil
	}
	if !strings.Contains(in, "://") {
		host, port, err := net.SplitHostPort(in)
		if err != nil || host == "" || port == "" || strings.ContainsAny(in, "@/?#") {
			return fmt.Errorf("not the address of a store: %s", endpointSentence)
		}
		in = "http://" + in
	}
	u, err := url.Parse(in)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("not the address of a store: %s", endpointSentence)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the scheme must be http or https: %s", endpointSentence)
	case u.User != nil:
		return errors.New("an endpoint does not hold user and password: give them as --s3-access-key and --s3-secret-key")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("an endpoint has no path; the bucket is --s3-bucket: %s", endpointSentence)
	}
	*e = Endpoint{Host: u.Host, Secure: u.Scheme == "https"}
	return nil
}

// IsSet tells whether there is an endpoint.
func (e Endpoint) IsSet() bool { return e.Host != "" }

// String is the endpoint as a URL.
func (e Endpoint) String() string {
	switch {
	case !e.IsSet():
		return ""
	case e.Secure:
		return "https://" + e.Host
	}
	return "http://" + e.Host
}
