package address_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/internal/address"
)

func TestKinds(t *testing.T) {
	for text, want := range map[string]address.Kind{
		"./game": address.Folder, "game": address.Folder, "/var/lib/game": address.Folder, "sqlite:./game": address.Folder,
		`C:\game`: address.Folder, "memory:": address.Memory,
		"postgres://h/db": address.Postgres, "postgresql://u:p@h:5432/db?schema=x": address.Postgres, "POSTGRES://h/db": address.Postgres,
		"redis://h:6379/0": address.Redis, "rediss://h": address.Redis, "redis+sentinel://a,b/master": address.Redis, "redis+cluster://a:1,b:2": address.Redis,
		"rediss+sentinel://a,b/master": address.Redis, "rediss+cluster://a:1,b:2": address.Redis,
	} {
		if got, err := address.KindOf(text); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "memory:there", "sqlite:", "mysql://h/db", "postgres:h", "redis:h", "host=h user=u password=hunter2"} {
		if got, err := address.KindOf(text); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%q: %v, %v; want an error that says what is expected", text, got, err)
		}
	}
}

func TestKindsSayWhatTheyKeep(t *testing.T) {
	for kind, want := range map[address.Kind]string{
		address.Memory: "memory, durable false, shared false", address.Folder: "a folder, durable true, shared true",
		address.Postgres: "PostgreSQL, durable true, shared true", address.Redis: "Redis, durable false, shared true",
		0: "no engine, durable false, shared true",
	} {
		if got := fmt.Sprintf("%v, durable %v, shared %v", kind, kind.Durable(), kind.Shared()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestPasswordsAreNotShown(t *testing.T) {
	for text, want := range map[string]string{
		"./game": "./game", "memory:": "memory:", "host=h user=u password=hunter2": "***",
		"postgres://h/db":                              "postgres://h/db",
		"postgres://u@h/db":                            "postgres://u@h/db",
		"postgres://u:hunter2@h:5432/db?schema=a":      "postgres://u:***@h:5432/db?schema=a",
		"postgres://u:hunter2@h/db?application_name=a": "postgres://u:***@h/db?application_name=a",
		"postgres://h/db?password=hunter2&schema=a":    "postgres://h/db?password=***&schema=a",
		"postgres://h/db?sslpassword=hunter2":          "postgres://h/db?sslpassword=***",
		"postgres://h/db?%70assword=hunter2":           "postgres://h/db?%70assword=***",
		"redis://:hunter2@h:6379/0":                    "redis://:***@h:6379/0",
		"redis+cluster://u:hunter2@a:1,b:2":            "redis+cluster://u:***@a:1,b:2",
		"redis+sentinel://u:hunter2@a,b/master":        "redis+sentinel://u:***@a,b/master",
		"postgres://u:hunter2@more@h/db":               "postgres://u:***@h/db",
		"postgres://u:hunter2/more@h/db":               "postgres://***@h/db",
		"postgres://u:12/hunter2@h/db":                 "postgres://***@h/db",
		"postgres://u:hunter2%zz@h/db":                 "postgres://***@h/db",
		"redis://u:hunter2@h:port?password=hunter2":    "redis://***@h:port?***",
	} {
		if got := address.Redacted(text); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}

func FuzzPasswordsAreNotShown(f *testing.F) {
	f.Add("hunter2")
	f.Add("a/b@c?d=e")
	f.Add("%41%zz:#")
	f.Fuzz(func(t *testing.T, password string) {
		secret := "<" + password + ">" // nothing else in the address is like it
		for _, text := range []string{"postgres://u:" + secret + "@h/db", "redis://:" + secret + "@h:1,i:2/0?prefix=p"} {
			err := fmt.Errorf("connect %q to %s: password %s is wrong", text, text, secret)
			if got := address.Redacted(text); strings.Contains(got, secret) {
				t.Errorf("%q is shown as %q", text, got)
			}
			if got := address.Hide(err, text).Error(); strings.Contains(got, secret) {
				t.Errorf("%q is still in %q", secret, got)
			}
		}
	})
}

func TestHiddenErrorsAreStillThemselves(t *testing.T) {
	cause := &fieldError{"x"}
	const text = "postgres://u:hun%2Fter@h/db"
	for _, said := range []string{"no " + text, "no hun/ter", "no hun%2Fter"} {
		err := address.Hide(fmt.Errorf("%s: %w", said, cause), text)
		if strings.Contains(err.Error(), "hun") {
			t.Errorf("%v", err)
		}
		if found, ok := errors.AsType[*fieldError](err); !errors.Is(err, cause) || !ok || found != cause {
			t.Errorf("%v lost its cause", err)
		}
	}
	if err := address.Hide(cause, text); !errors.Is(err, cause) || err.Error() != cause.Error() {
		t.Errorf("an error without a password became %v", err)
	}
	if err := address.Hide(nil, text); err != nil {
		t.Errorf("no error became %v", err)
	}
}

type fieldError struct{ field string }

func (e *fieldError) Error() string { return e.field }
