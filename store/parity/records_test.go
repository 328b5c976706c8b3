package parity_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/store"
)

// maps is one map of records on every engine.
type maps struct {
	records []named[store.Records]
	folder  string // of the keys of this history
	most    int    // writes of one transaction
	version store.Version
	seen    []store.Version
}

func (m *maps) same(t *rapid.T, what string, call func(r store.Records) string) {
	t.Helper()
	var first string
	for i, e := range m.records {
		got := call(e.part)
		switch {
		case i == 0:
			first = got
		case got != first:
			t.Fatalf("%s\n%s answers: %s\n%s answers: %s", what, m.records[0].name, first, e.name, got)
		}
	}
}

// TestRecordsAnswerAlike plays random histories of transactions of one key on every engine.
func TestRecordsAnswerAlike(t *testing.T) {
	f := allEngines(t)
	playRecords(t, f.single, 1)
}

// TestTransactionsAnswerAlike plays random histories of transactions of several keys on those
// engines that have them.
func TestTransactionsAnswerAlike(t *testing.T) {
	f := allEngines(t)
	if len(f.records) != 5 {
		t.Errorf("%d parts have transactions of several keys, want memory, two of SQLite and two of PostgreSQL", len(f.records))
	}
	playRecords(t, f.records, 4)
}

func playRecords(t *testing.T, records []named[store.Records], most int) {
	t.Helper()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		m := &maps{records: records, folder: fmt.Sprintf("note/h%d/", n), most: most}
		t.Repeat(map[string]func(*rapid.T){"commit": m.commit, "more": m.commit, "get": m.get, "scan": m.scan, "": m.whole})
	})
}

// drawKey draws a key of a family that every engine can scan.
func (m *maps) drawKey(t *rapid.T) string {
	name := rapid.SampledFrom([]string{"a", "b", "c", "a/b", "a/", "A", "~", "!", "a!"}).Draw(t, "name")
	return m.folder + name
}

func (m *maps) commit(t *rapid.T) {
	var txs []store.Tx
	used := make(map[string]bool)
	for range rapid.IntRange(1, 4).Draw(t, "txs") {
		var tx store.Tx
		for range rapid.IntRange(1, m.most).Draw(t, "writes") {
			if w := m.drawWrite(t); !used[w.Key] {
				used[w.Key], tx = true, append(tx, w)
			}
		}
		if len(tx) > 0 {
			txs = append(txs, tx)
		}
	}
	if len(txs) == 0 {
		return
	}
	m.same(t, fmt.Sprintf("commit %v", txs), func(r store.Records) (answer string) {
		for _, err := range r.Commit(t.Context(), txs...) {
			answer += word(err) + "; "
		}
		return answer
	})
}

func (m *maps) drawWrite(t *rapid.T) store.Write {
	w := store.Write{Key: m.drawKey(t), Op: rapid.SampledFrom([]store.Op{store.Put, store.Put, store.Put, store.Delete, store.Check}).Draw(t, "op")}
	known := store.Version(99)
	if len(m.seen) > 0 {
		known = m.seen[max(0, len(m.seen)-1-rapid.IntRange(0, 6).Draw(t, "which"))]
	}
	w.If = rapid.SampledFrom([]store.Condition{store.Any(), store.Absent(), store.Is(known), store.Is(known)}).Draw(t, "if")
	switch w.Op {
	case store.Put:
		m.version += 1<<61 - 1 // over all of the 63 bits
		w.Version = store.VersionFrom(uint64(m.version))
		m.seen = append(m.seen, w.Version)
		w.Value = rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(t, "value")
		if w.Value == nil {
			w.Value = []byte{}
		}
	case store.Check:
		w.If = store.Is(known)
	case store.Delete:
	}
	return w
}

func recordText(r store.Record) string {
	return fmt.Sprintf("%s %q %v %d\n", r.Key, r.Value, r.Value == nil, r.Version)
}

func (m *maps) get(t *rapid.T) {
	keys := rapid.SliceOfNDistinct(rapid.Custom(m.drawKey), 1, 5, rapid.ID[string]).Draw(t, "keys")
	m.same(t, fmt.Sprintf("get %q", keys), func(r store.Records) (answer string) {
		found, err := r.Get(t.Context(), keys...)
		for _, rec := range found {
			answer += recordText(rec)
		}
		return answer + word(err)
	})
}

func (m *maps) scan(t *rapid.T) {
	in := store.Prefix(m.folder + rapid.SampledFrom([]string{"", "a", "a/", "~", "zz"}).Draw(t, "prefix"))
	in.Limit = rapid.IntRange(0, 3).Draw(t, "limit")
	if rapid.Bool().Draw(t, "between") {
		in.From = m.drawKey(t)
	}
	m.scanned(t, in)
}

func (m *maps) whole(t *rapid.T) { m.scanned(t, store.Prefix(m.folder)) }

func (m *maps) scanned(t *rapid.T, in store.Range) {
	m.same(t, fmt.Sprintf("scan %+v", in), func(r store.Records) (answer string) {
		for rec, err := range r.Scan(t.Context(), in) {
			if err != nil {
				return answer + word(err)
			}
			answer += recordText(rec)
		}
		return answer
	})
}
