package profile

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store/memstore"
)

// benchSession is a session of a profile of 2 KB whose journal is open, and whose places have all
// been touched once. Nothing is journaled or saved by itself.
func benchSession(b *testing.B) *Session {
	b.Helper()
	st, err := memstore.New(nil).Store()
	if err != nil {
		b.Fatal(err)
	}
	n, err := node.Start(b.Context(), st, &node.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = n.Close(context.Background()) })
	template := doc.Must(map[string]any{"coins": 0, "bag": map[string]any{}, "note": strings.Repeat("x", 2000)})
	set, err := New(n, "players", &Options{Template: template, JournalEvery: time.Hour, Autosave: 24 * time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	s, err := set.Load(b.Context(), "u", nil)
	if err != nil {
		b.Fatal(err)
	}
	k := new(desk)
	for i := range 2 {
		benchChange(b, s, 0)
		benchAppend(b, s, k)
		if i == 0 {
			if err := s.Save(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	for slot := range 16 {
		benchChange(b, s, slot)
	}
	benchAppend(b, s, k)
	return s
}

// benchChange is what a player does: two values.
func benchChange(b *testing.B, s *Session, slot int) {
	b.Helper()
	_, err := s.Transact(Source{}, doc.Increment("/coins", 1), doc.Set(benchSlots[slot], doc.Int(int64(slot))))
	if err != nil {
		b.Fatal(err)
	}
}

var benchSlots = func() (out [16]doc.Path) {
	for i := range out {
		out[i] = doc.P("bag", fmt.Sprintf("slot%d", i))
	}
	return out
}()

// benchAppend is an append of all that the session has changed, without the store.
func benchAppend(b *testing.B, s *Session, k *desk) {
	b.Helper()
	d, ok := s.draft(k)
	if !ok || !d.encode(k) || len(s.set.txsOf([]*draft{d})) == 0 {
		b.Fatal("nothing to append")
	}
	if d.marker != 0 {
		s.markedBy(d.marker, nil)
	}
	s.appended(d, nil)
}

// BenchmarkPlayer is a change of two values, and the append that follows it, as they are in a
// game whose players change once a second.
func BenchmarkPlayer(b *testing.B) {
	b.Run("change", func(b *testing.B) {
		s, random := benchSession(b), rand.New(rand.NewPCG(1, 1))
		b.ReportAllocs()
		for b.Loop() {
			benchChange(b, s, random.IntN(len(benchSlots)))
		}
	})
	b.Run("change and append", func(b *testing.B) {
		s, k, random := benchSession(b), new(desk), rand.New(rand.NewPCG(1, 1))
		b.ReportAllocs()
		for b.Loop() {
			benchChange(b, s, random.IntN(len(benchSlots)))
			benchAppend(b, s, k)
		}
	})
}
