package pgstore_test

import (
	"strings"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
)

// The server has no connection left for beats, whose own is made late and made anew every hour:
// they go on those that there are. A node that cannot beat is dead to all others.
func TestBeatsOnAServerThatIsFull(t *testing.T) {
	pg := enginetest.OwnPostgres(t, nil)
	for _, sql := range []string{
		"CREATE ROLE crowded LOGIN CONNECTION LIMIT 1",
		"GRANT CREATE ON DATABASE shoal TO crowded",
	} {
		if err := pg.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	e := open(t, strings.Replace(pg.URL("shoal"), "shoal@", "crowded@", 1), &pgstore.Options{Connections: 1})
	for v := range store.Version(3) {
		if err := one(t, e.Fast(), putOf("node/a", "beat", v+1, store.Condition{})); err != nil {
			t.Fatalf("a beat: %v", err)
		}
		if recs, err := e.Fast().Get(t.Context(), "node/a"); err != nil || recs[0].Version != v+1 {
			t.Fatalf("%+v, %v", recs, err)
		}
	}
}
