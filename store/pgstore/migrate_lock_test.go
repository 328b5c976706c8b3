package pgstore_test

import (
	"context"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// A process of this release starts beside a fleet of the one before, while a backup reads the
// boards. Its migration has to wait for the backup, and the fleet's boards do not wait for it.
func TestMigrationHoldsNobodyUp(t *testing.T) {
	pg, schema := enginetest.Postgres(t), enginetest.Schema(t)
	open(t, pg.URL(schema), nil)
	admin, backup, fleet := connect(t), connect(t), connect(t)
	for _, sql := range []string{"ALTER TABLE " + schema + ".boards DROP COLUMN walked", "DELETE FROM " + schema + ".migrations WHERE version = 3"} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := backup.Exec(t.Context(), "BEGIN; LOCK TABLE "+schema+".boards IN ACCESS SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	var later *pgstore.Engine
	go func() {
		var err error
		later, err = pgstore.Open(t.Context(), pg.URL(schema), nil)
		opened <- err
	}()
	until(t, "the migration waits", func() bool {
		return number(t, admin, "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '"+schema+".boards'::regclass") > 0
	})
	bounded, cancel := context.WithTimeout(t.Context(), storetest.Patience)
	defer cancel()
	if _, err := fleet.Exec(bounded, "SELECT count(*) FROM "+schema+".boards"); err != nil {
		t.Errorf("the fleet's boards wait for a migration that waits for a backup: %v", err)
	}
	if _, err := backup.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Fatalf("Open after the backup: %v", err)
	}
	defer func() { _ = later.Close(context.WithoutCancel(t.Context())) }()
	if _, err := later.Boards().Create(t.Context(), "top", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		t.Error(err)
	}
	if _, _, err := later.Boards().Walk(t.Context(), "top", store.Cursor{}, 1); err != nil {
		t.Error(err)
	}
}
