package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// nameOf is whom our certificate names now.
func nameOf(t *testing.T, c *tls.Config) string {
	t.Helper()
	own, err := c.GetClientCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return own.Leaf.Subject.CommonName
}

// A certificate that is renewed is shown from then on; one of which only half is there is not.
func TestOurCertificateIsRenewed(t *testing.T) {
	a := enginetest.Authority(t)
	first, second := enginetest.Certificate(t, a, "first"), enginetest.Certificate(t, a, "second")
	s := security{cert: first.Cert, key: first.Key}
	c, err := s.config(nil, clock.System().Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ from, to, want string }{
		{first.Cert, first.Cert, "first"},
		{second.Cert, first.Cert, "first"},
		{second.Key, first.Key, "second"},
		{first.Key, first.Key + ".away", "second"},
	} {
		if err := os.Rename(step.from, step.to); err != nil {
			t.Fatal(err)
		}
		if got := nameOf(t, c); got != step.want {
			t.Errorf("after %s our certificate names %s, want %s", step.from, got, step.want)
		}
	}
	if err := os.Rename(first.Key+".away", first.Key); err != nil {
		t.Fatal(err)
	}
	if _, err := s.config(nil, clock.System().Now().Add(2*time.Hour)); err == nil || !strings.Contains(err.Error(), "has expired") {
		t.Errorf("a certificate that has expired: %v", err)
	}
}

// What the address says takes the place of what the options have, which stay as they are.
func TestTLSOfAddressAndOptions(t *testing.T) {
	base := &tls.Config{ServerName: "base", MinVersion: tls.VersionTLS13}
	s := security{name: "other", blind: true}
	c, err := s.config(base, clock.System().Now())
	if err != nil || c.ServerName != "other" || !c.InsecureSkipVerify || c.MinVersion != tls.VersionTLS13 || base.ServerName != "base" || base.InsecureSkipVerify {
		t.Errorf("it is %+v of %+v, %v", c, base, err)
	}
	s = security{}
	if c, err = s.config(nil, clock.System().Now()); err != nil || c.MinVersion != tls.VersionTLS12 || c.RootCAs != nil || c.InsecureSkipVerify {
		t.Errorf("by default it is %+v, %v", c, err)
	}
}

func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("x: %w", tls.RecordHeaderError{Msg: "odd"}), speaksNone},
		{context.DeadlineExceeded, "perhaps " + speaksNone},
		{io.EOF, "perhaps " + speaksNone},
		{syscall.ECONNRESET, "perhaps " + speaksNone},
		{errors.New("else"), ""},
	} {
		if got := adviceOf(c.err, "host"); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
	told := &greetError{host: "h:1", name: "h", err: io.EOF}
	plain, safe := address{}, address{tls: true}
	if err := safe.advise(told); strings.Count(err.Error(), "perhaps") != 1 {
		t.Errorf("advice comes twice: %v", err)
	}
	if err := plain.advise(errors.New("else")); err.Error() != "else" {
		t.Errorf("advice about nothing: %v", err)
	}
}
