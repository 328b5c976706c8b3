package redisstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	with := func(change func(*address)) address {
		a := address{topology: single, hosts: []string{"localhost:6379"}, prefix: "shoal", clientName: "shoal"}
		change(&a)
		return a
	}
	for text, want := range map[string]address{
		"redis://localhost":               with(func(*address) {}),
		"redis://localhost:6379/":         with(func(*address) {}),
		"redis://localhost/3?prefix=dev!": with(func(a *address) { a.database, a.prefix = 3, "dev!" }),
		"rediss://:s3cret@[::1]:7000":     with(func(a *address) { a.tls, a.hosts, a.server.password = true, []string{"[::1]:7000"}, "s3cret" }),
		"redis://[::1]":                   with(func(a *address) { a.hosts = []string{"[::1]:6379"} }),
		"redis://me:a%40b%2F%3F@localhost?client_name=game-1": with(func(a *address) {
			a.server, a.clientName = credentials{"me", "a@b/?"}, "game-1"
		}),
		"rediss://localhost?cacert=/etc/ca.pem&cert=/c.pem&key=/c.key&sni=redis.example": with(func(a *address) {
			a.tls, a.security = true, security{authorities: "/etc/ca.pem", cert: "/c.pem", key: "/c.key", name: "redis.example"}
		}),
		"rediss+cluster://a:1?skip_verify=true&sni=x": with(func(a *address) {
			a.topology, a.tls, a.hosts, a.security = cluster, true, []string{"a:1"}, security{name: "x", blind: true}
		}),
		"redis+cluster://a:1,b:2,c": with(func(a *address) { a.topology, a.hosts = cluster, []string{"a:1", "b:2", "c:6379"} }),
		"rediss+sentinel://u:p@a,b:2/my master/4?sentinel_user=su&sentinel_password=sp": with(func(a *address) {
			a.topology, a.tls, a.hosts, a.master, a.database = sentinel, true, []string{"a:26379", "b:2"}, "my master", 4
			a.server, a.sentinels = credentials{"u", "p"}, credentials{"su", "sp"}
		}),
	} {
		got, err := parseAddress(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(address{}, credentials{}, security{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestBadAddresses(t *testing.T) {
	for text, problem := range map[string]string{
		"":                                           "redis://host:port expected",
		"localhost:6379":                             "redis://host:port expected",
		"http://localhost":                           `got "http"`,
		"redis+file://localhost":                     `got "redis+file"`,
		"redis+://localhost":                         `got "redis+"`,
		"redis://":                                   `host:port expected, got ""`,
		"redis://a:b:c":                              `host:port expected, got "a:b:c"`,
		"redis://a:0":                                `host:port expected, got "a:0"`,
		"redis://a:65536":                            `host:port expected`,
		"redis://a:x":                                `host:port expected`,
		"redis://a,b":                                "one host expected",
		"redis+cluster://a,,b":                       `host:port expected, got ""`,
		"redis+cluster://a/1":                        "no databases",
		"redis+sentinel://a":                         "name of the master",
		"redis://a/-1":                               "number of a database",
		"redis://a/b":                                "number of a database",
		"redis+sentinel://a/m/x":                     "number of a database",
		"redis://a?prefix=":                          "prefix: 1 to 64",
		"redis://a?prefix=a{b}":                      "prefix: 1 to 64",
		"redis://a?prefix=a{":                        "prefix: 1 to 64",
		"redis://a?prefix=a}":                        "prefix: 1 to 64",
		"redis://a?prefix=a:r":                       "without spaces, colons",
		"redis://a?prefix=a b":                       "prefix: 1 to 64",
		"redis://a?prefix=a&prefix=b":                "comes twice",
		"redis://a?schema=x":                         `unknown parameter "schema"`,
		"redis://a?sentinel_user=x":                  `unknown parameter "sentinel_user"`,
		"redis://a?client_name=a b":                  "client_name",
		"redis://a#x":                                "a URL expected",
		"redis://u:hunter2%zz@a":                     "a URL expected",
		"redis://:hunter2/x@a":                       "a password as %XX",
		"redis://u:hunter2?x@a":                      "a password as %XX",
		"redis://u:hunter2#x@a:1":                    "a password as %XX",
		"redis://u:x/hunter2@a":                      "a password as %XX",
		"redis://u:1/hunter2@a":                      "a password as %XX",
		"redis://u:1?hunter2@a":                      "a password as %XX",
		"redis+sentinel://u:1/hunter2/x@a,b/m":       "a password as %XX",
		"redis://u:hunter2@a?prefix=a%zz":            "cannot be read",
		"redis://a?cacert=/ca.pem":                   "begins with rediss expected",
		"redis+cluster://a?skip_verify=true":         "begins with rediss expected",
		"rediss://a?cacert=":                         "cacert: the path",
		"rediss://a?sni=":                            "sni: a name",
		"rediss://a?cert=/c.pem":                     "cert and key: both",
		"rediss://a?key=/c.key":                      "cert and key: both",
		"rediss://a?skip_verify=maybe":               `got "maybe"`,
		"rediss://a?skip_verify=true&cacert=/ca.pem": "skip_verify: it looks at no authority",
		"redis+cluster://" + strings.Repeat("a,", maxHosts) + "a": "at most 256 hosts",
	} {
		_, err := parseAddress(text)
		if !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), problem) {
			t.Errorf("%.60s: %v, want %s", text, err, problem)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestPlaceHasNoSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"redis://u:hunter2@a/1?prefix=x":                             "a:6379/1, prefix x",
		"redis+cluster://u:hunter2@a,b":                              "a:6379,b:6379 (cluster), prefix shoal",
		"redis+sentinel://u:hunter2@a,b/m?sentinel_password=hunter2": "a:26379,b:26379/m/0, prefix shoal",
	} {
		a, err := parseAddress(text)
		if err != nil || a.place() != want {
			t.Errorf("%s: place %q, %v, want %q", text, a.place(), err, want)
		}
	}
}
