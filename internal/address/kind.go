package address

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is the engine that an address names.
type Kind uint8

// The kinds.
const (
	Memory   Kind = iota + 1 // "memory:"
	Folder                   // a path, or "sqlite:" and a path
	Postgres                 // "postgres://…" or "postgresql://…"
	Redis                    // "redis://…", "rediss://…", "redis+sentinel://…", "redis+cluster://…"
)

// String is what people call the engine.
func (k Kind) String() string {
	switch k {
	case Memory:
		return "memory"
	case Folder:
		return "a folder"
	case Postgres:
		return "PostgreSQL"
	case Redis:
		return "Redis"
	}
	return "no engine"
}

// Durable tells that what the engine acknowledged survives the loss of power.
func (k Kind) Durable() bool { return k == Folder || k == Postgres }

// Shared tells that several processes may use one store of the engine.
func (k Kind) Shared() bool { return k != Memory }

// Forms are the addresses that there are, for messages.
const Forms = `a folder ("./game" or "sqlite:./game"), "memory:", "postgres://…", "redis://…", "rediss://…", "redis+sentinel://…" or "redis+cluster://…" expected`

// KindOf finds the engine that the address names. Its errors show no password.
func KindOf(address string) (Kind, error) {
	scheme, rest, found := strings.Cut(address, ":")
	if address == "" {
		return 0, errors.New("the address of a store is empty; " + Forms)
	}
	if isWords(address) {
		return 0, errors.New("an address of PostgreSQL is a URL here; " + Forms)
	}
	if !found {
		return Folder, nil
	}
	switch strings.ToLower(scheme) {
	case "memory":
		if rest != "" {
			return 0, fmt.Errorf("memory: takes no path; %s", Forms)
		}
		return Memory, nil
	case "sqlite":
		if rest == "" {
			return 0, fmt.Errorf("sqlite: needs the path of a folder; %s", Forms)
		}
		return Folder, nil
	case "postgres", "postgresql":
		return urlOf(Postgres, rest)
	case "redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster":
		return urlOf(Redis, rest)
	}
	if strings.HasPrefix(rest, "//") {
		return 0, fmt.Errorf("no driver for %q; %s", scheme, Forms)
	}
	return Folder, nil
}

// isWords tells that the text is an address of libpq in its other form, "host=db user=u". As a
// folder it would be made, with the password in its name.
func isWords(address string) bool {
	for _, word := range []string{"host=", "dbname=", "password=", "user="} {
		if !strings.Contains(address, "://") && strings.Contains(" "+address, " "+word) {
			return true
		}
	}
	return false
}

func urlOf(k Kind, rest string) (Kind, error) {
	if !strings.HasPrefix(rest, "//") {
		return 0, fmt.Errorf("%s needs // behind the colon; %s", k, Forms)
	}
	return k, nil
}

// Path is the folder of an address of [Folder].
func Path(address string) string { return strings.TrimPrefix(address, "sqlite:") }
