package address_test

import (
	"testing"

	"github.com/shoalworks/shoal/internal/address"
)

// Addresses of one store have one space, however its servers are reached.
func TestSpaces(t *testing.T) {
	for text, want := range map[string]string{
		"./game": "a folder", "sqlite:./game": "a folder", "memory:": "memory", "": "", "mysql://h": "",
		"postgres://h/db": "PostgreSQL, schema shoal",
		"postgresql://u:p@h1:1,h2:2/db?sslmode=disable&schema=reef": "PostgreSQL, schema reef",
		"redis://h":                                                   "Redis, database 0, prefix shoal",
		"redis://h:6379/":                                             "Redis, database 0, prefix shoal",
		"rediss://u:p@h/0?prefix=shoal":                               "Redis, database 0, prefix shoal",
		"redis://h/03?prefix=reef%3Aa":                                "Redis, database 3, prefix reef:a",
		"redis://:a%2Fb@h/3":                                          "Redis, database 3, prefix shoal",
		"redis+sentinel://a,b:1/master":                               "Redis, database 0, prefix shoal",
		"rediss+sentinel://u:p@a,b:1/master/2?prefix=x":               "Redis, database 2, prefix x",
		"redis+cluster://a:1,b:2?prefix=x&client_name=y":              "Redis, database 0, prefix x",
		"REDIS://h/4":                                                 "Redis, database 4, prefix shoal",
		"redis://[::1]:6379/1?client_name=/2":                         "Redis, database 1, prefix shoal",
		"postgres://u:p@h/db?application_name=schema%3Dx&schema=reef": "PostgreSQL, schema reef",
	} {
		if got := address.Space(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestWaysOfMessages(t *testing.T) {
	for text, want := range map[string]string{
		"./game": "", "memory:": "", "redis://h?pooler=transaction": "", "mysql://h": "",
		"postgres://h/db": address.BusListen, "postgres://h/db?pooler=none&schema=x": address.BusListen,
		"postgres://h/db?schema=x&pooler=transaction": address.BusPoll, "POSTGRES://h1:1,h2:2/db?pooler=transaction": address.BusPoll,
	} {
		if got := address.Bus(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
