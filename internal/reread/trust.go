package reread

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
)

// Trusting is a client's configuration that trusts the system's certificates
// and those in a PEM file; "" stands for no file.
func Trusting(file string) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if file == "" {
		return out, nil
	}
	var err error
	out.RootCAs, err = roots(file)
	return out, err
}

// roots are the system's certificates and those in a PEM file.
func roots(path string) (*x509.CertPool, error) {
	pem, err := File(path)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in PEM form in it", path)
	}
	return pool, nil
}
