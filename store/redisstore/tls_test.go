package redisstore_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// parameters are those of an address, in turns of name and value.
func parameters(pairs ...string) url.Values {
	v := make(url.Values)
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

// refused opens an address that must be refused so, by an error that says all these texts.
func refused(t *testing.T, address string, want error, says ...string) {
	t.Helper()
	refusedWithin(t, address, storetest.Patience, want, says...)
}

// refusedWithin is refused with a bound for the making of a connection.
func refusedWithin(t *testing.T, address string, patience time.Duration, want error, says ...string) {
	t.Helper()
	e, err := redisstore.Open(t.Context(), strings.Replace(address, "://", "://u:hunter2@", 1), &redisstore.Options{DialTimeout: patience, AnswerTimeout: patience})
	if err == nil {
		_ = e.Close(context.WithoutCancel(t.Context()))
	}
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", address, err, want)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v\nwant it to say %q", address, err, text)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows the password: %v", err)
	}
}

// Every part writes and reads.
func serves(t *testing.T, e *redisstore.Engine) {
	t.Helper()
	r, b := e.Fast(), e.Bus()
	must(t, r, put(journal, "v", 1, store.Absent()), put(beat, "v", 1, store.Absent()))
	if got := get(t, r, journal); got.Version != 1 {
		t.Errorf("it has %+v", got)
	}
	storetest.Arrives(t, b, storetest.Hear(t, b, "topic"), "topic", "a message")
	if _, err := e.Boards().Create(t.Context(), "Kills", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		t.Error(err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	a := enginetest.Authority(t)
	other := enginetest.Authority(t)
	server := enginetest.OwnRedis(t, &engines.RedisOptions{TLS: &engines.TLS{Authority: a, Hosts: []string{"redis.test"}}})
	serves(t, open(t, server.TLSURL("p", parameters("cacert", a.File, "sni", "redis.test")), nil))
	serves(t, open(t, server.TLSURL("q", parameters("skip_verify", "true")), nil))

	refused(t, server.TLSURL("p", parameters("sni", "redis.test")), store.ErrUnavailable, server.TLSAddr(), "cacert=FILE")
	refused(t, server.TLSURL("p", parameters("cacert", other.File, "sni", "redis.test")), store.ErrUnavailable, server.TLSAddr(), "cacert=FILE", "Shoal test authority")
	refused(t, server.TLSURL("p", parameters("cacert", a.File)), store.ErrUnavailable, server.TLSAddr(), "is for redis.test and not for 127.0.0.1", "sni=NAME")
	refused(t, strings.Replace(server.TLSURL("p", nil), "rediss:", "redis:", 1), store.ErrUnavailable, server.TLSAddr(), "begins with rediss expected")
	refusedWithin(t, strings.Replace(server.URL("p"), "redis:", "rediss:", 1), time.Second, store.ErrUnavailable, server.Addr(), "does not speak TLS on this port")
	for name, text := range map[string]string{"gone.pem": "", "none.pem": "hello", "half.pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		file := filepath.Join(t.TempDir(), name)
		if text != "" {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		refused(t, server.TLSURL("p", parameters("cacert", file)), redisstore.ErrAddress, server.TLSAddr(), "cacert", file)
		refused(t, server.TLSURL("p", parameters("cert", file, "key", file)), redisstore.ErrAddress, server.TLSAddr(), file)
	}
}

func TestTLSOfAServerThatHasExpired(t *testing.T) {
	t.Parallel()
	a := enginetest.Authority(t)
	server := enginetest.OwnRedis(t, &engines.RedisOptions{TLS: &engines.TLS{Authority: a, Good: -time.Hour}})
	refused(t, server.TLSURL("p", parameters("cacert", a.File)), store.ErrUnavailable, server.TLSAddr(), "renew it on the server")
}

// The server asks for certificates of its clients.
func TestTLSOfClients(t *testing.T) {
	t.Parallel()
	a := enginetest.Authority(t)
	server := enginetest.OwnRedis(t, &engines.RedisOptions{TLS: &engines.TLS{Authority: a, Clients: true}})
	own, foreign := enginetest.Certificate(t, a, "own"), enginetest.Certificate(t, enginetest.Authority(t), "foreign")
	serves(t, open(t, server.TLSURL("p", parameters("cacert", a.File, "cert", own.Cert, "key", own.Key)), nil))
	refused(t, server.TLSURL("p", parameters("cacert", a.File)), store.ErrUnavailable, server.TLSAddr(), "cert=FILE and key=FILE")
	refused(t, server.TLSURL("p", parameters("cacert", a.File, "cert", foreign.Cert, "key", foreign.Key)), store.ErrUnavailable, server.TLSAddr(), "does not take our certificate")
	refused(t, server.TLSURL("p", parameters("cacert", a.File, "cert", own.Cert, "key", foreign.Key)), redisstore.ErrAddress, server.TLSAddr(), own.Cert, foreign.Key)
	old, err := a.Issue("old", -time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, server.TLSURL("p", parameters("cacert", a.File, "cert", old.Cert, "key", old.Key)), redisstore.ErrAddress, server.TLSAddr(), old.Cert, "has expired")
}

func TestTLSOfSentinels(t *testing.T) {
	t.Parallel()
	a := enginetest.Authority(t)
	s := enginetest.Sentinel(t, &engines.RedisOptions{TLS: &engines.TLS{Authority: a}})
	e := open(t, s.TLSURL("p", parameters("cacert", a.File)), nil)
	serves(t, e)
	if err := s.FailOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	again(t, "write after the fail-over", func() error {
		return commit(t.Context(), e.Fast(), put("note/n1/players/u", "v", 1, store.Any()))
	})
	refused(t, s.TLSURL("p", nil), store.ErrUnavailable, "cacert=FILE")
}

func TestTLSOfACluster(t *testing.T) {
	t.Parallel()
	a := enginetest.Authority(t)
	c := enginetest.OwnCluster(t, &engines.RedisOptions{TLS: &engines.TLS{Authority: a, Clients: true}})
	own := enginetest.Certificate(t, a, "own")
	serves(t, open(t, c.TLSURL("p", parameters("cacert", a.File, "cert", own.Cert, "key", own.Key)), nil))
	refused(t, c.TLSURL("p", parameters("cert", own.Cert, "key", own.Key)), store.ErrUnavailable, "cacert=FILE")
}

// Every connection of an engine speaks TLS as any other.
func TestConformanceByTLS(t *testing.T) {
	a := enginetest.Authority(t)
	own := enginetest.Certificate(t, a, "own")
	server := enginetest.OwnRedis(t, &engines.RedisOptions{TLS: &engines.TLS{Authority: a, Clients: true}})
	with := parameters("cacert", a.File, "cert", own.Cert, "key", own.Key)
	suites(t, func(prefix string) string { return server.TLSURL(prefix, with) })
}
