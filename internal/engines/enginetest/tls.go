package enginetest

import (
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines"
)

// Authority is a private authority, whose files go with the test.
func Authority(t testing.TB) *engines.Authority {
	t.Helper()
	a, err := engines.NewAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Certificate is a certificate that the authority has issued, good for an hour.
func Certificate(t testing.TB, a *engines.Authority, name string, hosts ...string) engines.Certificate {
	t.Helper()
	c, err := a.Issue(name, time.Hour, hosts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
