package redisstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/storetest"
)

// Names with braces are names as any other, on a cluster, too, where braces choose the slot.
func TestBracesInNames(t *testing.T) {
	e := open(t, enginetest.Cluster(t).URL(enginetest.Prefix(t)), nil)
	r, b, bus := e.Fast(), e.Boards(), e.Bus()
	var records, boards []string
	for _, name := range []string{"{", "}", "{}", "}{", "{}{a}", "{a}", "a{b}c", "a}:info", "{b/a}", "{{a}}", "a"} {
		for _, folder := range []string{"journal/players/", "node/", "note/n1/players/", "journaled/n1/players/", "mark/n1/"} {
			records = append(records, folder+name)
		}
		boards = append(boards, name)
	}
	for i, key := range records {
		must(t, r, put(key, key, store.Version(i+1), store.Absent()))
	}
	for i, rec := range getAll(t, r, records) {
		if rec.Key != records[i] || string(rec.Value) != records[i] || rec.Version != store.Version(i+1) {
			t.Errorf("%s is %+v", records[i], rec)
		}
	}
	for i, name := range boards {
		if _, err := b.Create(t.Context(), name, store.BoardSpec{Order: store.Descending, Generation: name}); err != nil {
			t.Fatal(err)
		}
		batch := store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: name, Score: int64(i)}, {Key: "other", Score: -1}}}
		if _, err := b.Merge(t.Context(), name, batch); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Hide(t.Context(), name, true, "other"); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range boards {
		page, err := b.Page(t.Context(), name, 0, 10, store.Ordinal)
		if err != nil || page.Info.Generation != name || len(page.Entries) != 1 || page.Entries[0].Key != name || page.Entries[0].Score != int64(i) {
			t.Errorf("board %s is %+v, %v", name, page, err)
		}
		if listed, err := b.List(t.Context(), name, "", 1); err != nil || !cmp.Equal(listed, []string{name}) {
			t.Errorf("board %s is listed as %q, %v", name, listed, err)
		}
		storetest.Arrives(t, bus, storetest.Hear(t, bus, name), name, "a message")
	}
}

// getAll reads the records in one call.
func getAll(t *testing.T, r store.Records, keys []string) []store.Record {
	t.Helper()
	all, err := r.Get(t.Context(), keys...)
	if err != nil || len(all) != len(keys) {
		t.Fatalf("%d records of %d, %v", len(all), len(keys), err)
	}
	return all
}
