package redisstore_test

import (
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// The names of a family are lost, and not its values (the keys of a slot move one by one, and the
// server that had the rest may die): each record is listed again from its next write on, which
// for a beat is a second later. A node that is never listed again would be nobody's to clean up.
func TestFamilyLosesItsNames(t *testing.T) {
	server := enginetest.Redis(t)
	prefix := enginetest.Prefix(t)
	r := open(t, server.URL(prefix), nil).Fast()
	for key, order := range map[string]string{
		"node/n1":              prefix + ":{" + prefix + ".beats}:node/order",
		"note/n1/players/u1":   prefix + ":{" + prefix + ".notes}:note/order",
		"journaled/players/u1": prefix + ":{" + prefix + ".estates}:journaled/order",
	} {
		must(t, r, put(key, "first", 1, store.Absent()))
		if n := ask(t, server, "DEL", order); n != int64(1) {
			t.Fatalf("%s: %v keys of names were lost", key, n)
		}
		must(t, r, put(key, "second", 2, store.Is(1)))
		var found []string
		for rec, err := range r.Scan(t.Context(), store.Prefix(key)) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, string(rec.Value))
		}
		if len(found) != 1 || found[0] != "second" {
			t.Errorf("%s: after the next write the scan finds %q", key, found)
		}
	}
}
