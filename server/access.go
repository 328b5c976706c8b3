package server

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// minKey is the length in bytes below which an API key is refused as guessable.
const minKey = 16

// access decides who may call. With a key every call has to show it. Without one the daemon
// is in development mode: it listens on loopback only, and keeps browsers from acting for
// pages of other origins.
type access struct {
	digest  keyDigest
	keyed   bool
	metrics keyDigest // opens /metrics only; the API key's when there is no other
}

type keyDigest [sha256.Size]byte

func newAccess(key, metricsKey string) (access, error) {
	var errs []error
	for _, k := range []struct{ field, key string }{{"APIKey", key}, {"MetricsKey", metricsKey}} {
		if k.key != "" && len(k.key) < minKey {
			errs = append(errs, fmt.Errorf("server: %s: at least %d bytes expected, got %d", k.field, minKey, len(k.key)))
		}
	}
	if key == "" && metricsKey != "" {
		errs = append(errs, errors.New("server: MetricsKey: needs an APIKey; without one nothing asks for a key"))
	}
	if err := errors.Join(errs...); err != nil || key == "" {
		return access{}, err
	}
	return access{digest: sha256.Sum256([]byte(key)), keyed: true, metrics: sha256.Sum256([]byte(cmp.Or(metricsKey, key)))}, nil
}

// admit answers nil when the request may go on.
func (a access) admit(r *http.Request) error {
	switch authorization := r.Header.Get("Authorization"); {
	case !a.keyed:
		return checkLocal(r)
	case r.URL.Path == metricsPath:
		return checkBearer(authorization, a.digest, a.metrics)
	default:
		return checkBearer(authorization, a.digest)
	}
}

// checkBearer compares digests, in constant time: neither the length nor a matching beginning
// of a key shows in how long the refusal takes.
func checkBearer(authorization string, keys ...keyDigest) error {
	scheme, key, _ := strings.Cut(authorization, " ")
	digest := sha256.Sum256([]byte(strings.TrimSpace(key)))
	same := 0
	for _, k := range keys {
		same |= subtle.ConstantTimeCompare(digest[:], k[:])
	}
	switch {
	case authorization == "":
		return refuse(unauthenticated, "", "this daemon asks for an API key")
	case !strings.EqualFold(scheme, "Bearer"):
		return refuse(unauthenticated, "", "the Authorization header is not of the form \"Bearer <key>\"")
	case same == 0:
		return refuse(unauthenticated, "", "the API key is not the daemon's")
	}
	return nil
}

// checkLocal keeps development mode to this machine's own programs. A page of another origin
// that makes its visitor's browser call us shows itself by Origin or Sec-Fetch-Site; one that
// has its own name resolve to 127.0.0.1 shows itself by Host.
func checkLocal(r *http.Request) error {
	if !loopbackHost(r.Host) {
		return refuse(foreignOrigin, "", "without an API key the daemon answers to localhost only, not to the host %q", r.Host)
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return refuse(foreignOrigin, "", "without an API key the daemon does not answer to pages of another origin (Sec-Fetch-Site: %s)", site)
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return refuse(foreignOrigin, "", "without an API key the daemon does not answer to pages of another origin (%q)", origin)
		}
	}
	return nil
}

// loopbackHost tells whether a Host header names this machine: localhost, or a loopback
// address, with or without a port.
func loopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// checkListener refuses to listen where strangers can reach a daemon without a key.
func (a access) checkListener(addr net.Addr) error {
	if a.keyed || localAddr(addr) {
		return nil
	}
	return fmt.Errorf("server: listen on %s: %w: configure an API key, or listen on 127.0.0.1", addr, ErrOpenListener)
}

// localAddr tells whether only this machine can reach addr.
func localAddr(addr net.Addr) bool {
	switch a := addr.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}
