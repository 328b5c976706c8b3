package engines

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// Authority signs certificates, as that of a company does for its own servers: no system knows
// it.
type Authority struct {
	// File has its certificate in PEM, for whoever is to know it.
	File string

	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

// Certificate is a certificate and its key, each in a file in PEM.
type Certificate struct{ Cert, Key string }

// NewAuthority makes an authority whose files are in the folder, which is there.
func NewAuthority(folder string) (*Authority, error) {
	a := &Authority{folder: folder, File: filepath.Join(folder, "authority.pem")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("engines: authority: %w", err)
	}
	template := certificate("Shoal test authority", time.Hour)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("engines: authority: %w", err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("engines: authority: %w", err)
	}
	a.key = key
	return a, writePEM(a.File, "CERTIFICATE", der)
}

// Issue makes a certificate for a client or a server of the given name, which also names the
// files. It is good for the hosts (names or IP addresses), and for so long; a negative time
// makes one that has expired so long ago.
func (a *Authority) Issue(name string, good time.Duration, hosts ...string) (Certificate, error) {
	c := Certificate{Cert: filepath.Join(a.folder, name+".pem"), Key: filepath.Join(a.folder, name+".key")}
	template := certificate(name, good)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, fmt.Errorf("engines: issue %s: %w", name, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return c, fmt.Errorf("engines: issue %s: %w", name, err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return c, fmt.Errorf("engines: issue %s: %w", name, err)
	}
	return c, errors.Join(writePEM(c.Cert, "CERTIFICATE", der), writePEM(c.Key, "PRIVATE KEY", secret))
}

// certificate is what all certificates have.
func certificate(name string, good time.Duration) *x509.Certificate {
	now := clock.System().Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(int64(chance()) + 1),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-24 * time.Hour), NotAfter: now.Add(good),
	}
}

func writePEM(file, kind string, der []byte) error {
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("engines: %w", err)
	}
	return nil
}
