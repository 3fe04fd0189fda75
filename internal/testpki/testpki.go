// Package testpki makes certificate authorities and certificates for tests.
package testpki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates and keeps everything as PEM files.
type Authority struct {
	File string // its own certificate

	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	issued int64
}

// Pair is a certificate and its key, for server and client alike.
type Pair struct{ CertFile, KeyFile string }

// New makes an authority whose files lie in dir.
func New(dir, name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &Authority{dir: dir, key: key, File: filepath.Join(dir, name+".pem")}
	template := a.template(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return a, write(a.File, "CERTIFICATE", der)
}

func (a *Authority) template(name string) *x509.Certificate {
	a.issued++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.issued), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

// Issue signs a certificate for a name and the hosts, which may be IP
// addresses. The same name overwrites the files of before.
func (a *Authority) Issue(name string, hosts ...string) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	template := a.template(name)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	p := Pair{filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+"-key.pem")}
	return p, errors.Join(write(p.CertFile, "CERTIFICATE", der), write(p.KeyFile, "PRIVATE KEY", private))
}

// Server is the configuration of a server with a certificate, which asks its
// clients for one of the authority's if clients is true.
func (a *Authority) Server(p Pair, clients bool) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if clients {
		cfg.ClientAuth, cfg.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		cfg.ClientCAs.AddCert(a.cert)
	}
	return cfg, nil
}

func write(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
