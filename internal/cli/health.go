package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// HealthCommand asks a worker how it is, for what starts workers where there is
// no other program to ask with. It takes the worker's own settings, so in the
// worker's environment it needs no flags.
type HealthCommand struct {
	Listen         Address  `help:"Address of the worker, as in its own setting." default:"127.0.0.1:9090" placeholder:"HOST:PORT" group:"Health"`
	ListenCertFile string   `help:"Certificate of the worker, as in its own setting: it is asked by TLS." placeholder:"FILE" group:"Health"`
	Ready          bool     `help:"Ask whether all of the first assignment is claimed, instead of whether the worker is well." group:"Health"`
	Timeout        Duration `help:"How long to wait for the answer." default:"5s" placeholder:"TIME" group:"Health"`
}

// errIll: the worker answers that it is not well, or not ready.
var errIll = errors.New("the worker answers")

// Validate refuses a worker that cannot be asked.
func (c *HealthCommand) Validate() error {
	if c.Listen == "" {
		return errors.New("--listen is empty: there is nobody to ask")
	}
	if c.Timeout <= 0 {
		return errors.New("--timeout must be more than 0s")
	}
	return nil
}

// Run prints what the worker says, and fails unless it is well.
func (c *HealthCommand) Run(p *Process) error {
	ctx, cancel := context.WithTimeout(p.Stop, time.Duration(c.Timeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(), nil)
	if err != nil {
		return usageError{fmt.Errorf("--listen: %w", err)}
	}
	transport := &http.Transport{
		// The certificate need not name the address by which a worker is asked
		// on its own machine. Nothing secret is sent.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return c.silent(err)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return c.silent(err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w %d: %s", errIll, response.StatusCode, strings.TrimSpace(string(said)))
	}
	_, err = p.Stdout.Write(said)
	return err
}

// silent says which worker does not answer, and how.
func (c *HealthCommand) silent(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the worker at %s has not answered within %s: it hangs, or is not let run: %w", c.Listen, time.Duration(c.Timeout), err)
	}
	return fmt.Errorf("no worker answers at %s: it has ended, or listens elsewhere (--listen): %w", c.Listen, err)
}

// url is where the question goes. An address that means all of a machine's
// interfaces is asked on its own.
func (c *HealthCommand) url() string {
	scheme, path := "http", "/healthz"
	if c.ListenCertFile != "" {
		scheme = "https"
	}
	if c.Ready {
		path = "/readyz"
	}
	address := string(c.Listen)
	if host, port, err := net.SplitHostPort(address); err == nil {
		ip := net.ParseIP(host)
		switch {
		case host == "" || ip != nil && ip.IsUnspecified() && ip.To4() != nil:
			address = net.JoinHostPort("127.0.0.1", port)
		case ip != nil && ip.IsUnspecified():
			address = net.JoinHostPort("::1", port)
		}
	}
	return scheme + "://" + address + path
}
