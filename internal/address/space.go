package address

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Space is where in its engine a store is that the address names: what must be the same in all
// addresses of one store, however its servers are reached. Two addresses of different spaces
// never mean the same store; two of one space may.
func Space(address string) string {
	kind, err := KindOf(address)
	if err != nil {
		return ""
	}
	switch kind {
	case Memory, Folder:
		return kind.String()
	case Postgres:
		return fmt.Sprintf("%s, schema %s", kind, parameter(address, "schema", "shoal"))
	case Redis:
		return fmt.Sprintf("%s, database %d, prefix %s", kind, database(address), parameter(address, "prefix", "shoal"))
	}
	return ""
}

// The ways in which messages go through PostgreSQL; the two do not hear each other.
const (
	BusListen = "listen" // LISTEN and NOTIFY
	BusPoll   = "poll"   // a table that is polled: pooler=transaction
)

// Bus is how the messages of an engine go, where it has more than one way; else "".
func Bus(address string) string {
	if kind, err := KindOf(address); err != nil || kind != Postgres {
		return ""
	}
	if parameter(address, "pooler", "none") == "transaction" {
		return BusPoll
	}
	return BusListen
}

// tail is what comes behind the hosts of an address: net/url takes one host only.
func tail(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[i:]
	}
	return ""
}

// parameter is the first value of a parameter of an address, as the drivers read it.
func parameter(address, name, missing string) string {
	_, raw, _ := strings.Cut(tail(address), "?")
	values, _ := url.ParseQuery(raw) // what cannot be read the driver refuses
	if !values.Has(name) {
		return missing
	}
	return values.Get(name)
}

// database is the number of the database of an address of [Redis].
func database(address string) int {
	path, _, _ := strings.Cut(tail(address), "?")
	path = strings.Trim(path, "/")
	if scheme, _, _ := strings.Cut(address, "://"); strings.HasSuffix(strings.ToLower(scheme), "+sentinel") {
		_, path, _ = strings.Cut(path, "/")
	}
	n, _ := strconv.Atoi(path) // what is none the driver refuses
	return n
}
