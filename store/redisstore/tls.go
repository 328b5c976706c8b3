package redisstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// config is how we speak TLS: as base says, or the system, and as the address says, which
// decides. The files are read; what is wrong with them is an error that names the parameter.
func (s *security) config(base *tls.Config, now time.Time) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if base != nil {
		c = base.Clone()
	}
	if s.blind {
		c.InsecureSkipVerify = true
	}
	if s.name != "" {
		c.ServerName = s.name
	}
	if s.authorities != "" {
		pool, err := authoritiesOf(s.authorities)
		if err != nil {
			return nil, fmt.Errorf("cacert: %w", err)
		}
		c.RootCAs = pool
	}
	if s.cert != "" {
		own, err := s.own(now)
		if err != nil {
			return nil, err
		}
		c.Certificates, c.GetClientCertificate = nil, own
	}
	return c, nil
}

func authoritiesOf(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: a certificate in PEM (-----BEGIN CERTIFICATE-----) expected", file)
	}
	return pool, nil
}

// own gives our certificate. Its files are read anew for each connection, so that one that is
// renewed needs no restart; what cannot be read then is what it was before.
func (s *security) own(now time.Time) (func(*tls.CertificateRequestInfo) (*tls.Certificate, error), error) {
	for name, file := range map[string]string{"cert": s.cert, "key": s.key} {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if block, _ := pem.Decode(text); block == nil {
			return nil, fmt.Errorf("%s: %s: PEM (-----BEGIN …-----) expected", name, file)
		}
	}
	first, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		return nil, fmt.Errorf("cert %s with key %s: %w", s.cert, s.key, err)
	}
	if end := first.Leaf.NotAfter; now.After(end) {
		return nil, fmt.Errorf("cert: %s has expired at %s", s.cert, end.UTC().Format(time.RFC3339))
	}
	var last atomic.Pointer[tls.Certificate]
	last.Store(&first)
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if c, err := tls.LoadX509KeyPair(s.cert, s.key); err == nil {
			last.Store(&c)
		}
		return last.Load(), nil
	}, nil
}

// greet begins TLS on a connection to host:port. The host is what the server's certificate has
// to be for, unless the config says another name.
func greet(ctx context.Context, c net.Conn, hostPort string, patience time.Duration, t *tls.Config) (net.Conn, error) {
	if t.ServerName == "" {
		t = t.Clone()
		t.ServerName, _, _ = net.SplitHostPort(hostPort) // it has been dialled
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	safe := tls.Client(c, t)
	if err := safe.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, &greetError{host: hostPort, name: t.ServerName, err: err}
	}
	return safe, nil
}

// greetError is that TLS did not come about.
type greetError struct {
	host, name string
	err        error
}

// Error says what to change, where that is known.
func (e *greetError) Error() string {
	text := fmt.Sprintf("TLS with %s: %v", e.host, e.err)
	if advice := adviceOf(e.err, e.name); advice != "" {
		text += "; " + advice
	}
	return text
}

// Unwrap is the failure.
func (e *greetError) Unwrap() error { return e.err }

// advise adds to a failure to open what to change, where TLS, or that there is none, may be why.
func (a *address) advise(err error) error {
	advice := ""
	if _, known := errors.AsType[*greetError](err); !known {
		advice = a.adviceAfter(err)
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, advice)
}
