package board_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// benchBoard is a service with a board of so many entries, written and read once.
func benchBoard(b *testing.B, n int, cfg board.Config) (*board.Service, []string) {
	b.Helper()
	s := benchService(b, cfg)
	keys := benchKeys(n)
	for i, key := range keys {
		if err := s.Submit("Kills", key, int64(i/3)); err != nil { // ties
			b.Fatal(err)
		}
	}
	if err := s.FlushNow(b.Context()); err != nil {
		b.Fatal(err)
	}
	return s, keys
}

// BenchmarkTopByMode is the cached page in each rank mode: at most 100 ns, no allocation.
func BenchmarkTopByMode(b *testing.B) {
	s, _ := benchBoard(b, 1000, board.Config{CacheFor: time.Hour})
	for _, mode := range rankModes() {
		b.Run(mode.String(), func(b *testing.B) {
			v, ctx := s.By(mode), b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if p, err := v.Top(ctx, "Kills", 50); err != nil || len(p.Entries) != 50 {
					b.Fatal(len(p.Entries), err)
				}
			}
		})
	}
}

// BenchmarkCard is a card from the cached page, of the last on it and of one who is not.
func BenchmarkCard(b *testing.B) {
	s, keys := benchBoard(b, 1000, board.Config{CacheFor: time.Hour})
	for what, key := range map[string]string{"on the page": keys[len(keys)-99], "below it": keys[0]} {
		b.Run(what, func(b *testing.B) {
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if c, err := s.Card(ctx, "Kills", key, 50); err != nil || !c.OK {
					b.Fatal(c, err)
				}
			}
		})
	}
}

// BenchmarkExpiredPage is a hundred readers who come at the same time to a page that has
// expired: one read of the store for all.
func BenchmarkExpiredPage(b *testing.B) {
	e := memstore.New(nil)
	counted := &countedPages{Boards: e.Boards()}
	c := newHandClock()
	s, err := board.NewOn(board.Host{ID: "n", Boards: counted, Clock: c, Now: time.Now, Logger: discard()},
		&board.Options{FlushEvery: -1, CallTimeout: -1, CacheFor: time.Second, Boards: boards{"Kills": {}}})
	if err != nil {
		b.Fatal(err)
	}
	for i, key := range benchKeys(1000) {
		if err := s.Submit("Kills", key, int64(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.FlushNow(b.Context()); err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		c.pass(time.Second)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if p, err := s.Top(ctx, "Kills", 50); err != nil || len(p.Entries) != 50 {
					b.Error(len(p.Entries), err)
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(counted.reads())/float64(b.N), "reads/op")
	if _, err := s.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStandingBeside is an exact rank through the service, and beside it the call of the
// store that it makes.
func BenchmarkStandingBeside(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchStanding(b, memstore.New(nil).Boards()) })
	b.Run("sqlite", func(b *testing.B) {
		e, err := sqlitestore.Open(b.Context(), b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		benchStanding(b, e.Boards())
		if err := e.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
}

func benchStanding(b *testing.B, of store.Boards) {
	b.Helper()
	s, err := board.NewOn(board.Host{ID: "n", Boards: of, Now: time.Now, Logger: discard()},
		&board.Options{FlushEvery: -1, Boards: boards{"Kills": {}}})
	if err != nil {
		b.Fatal(err)
	}
	keys := benchKeys(10_000)
	for i, key := range keys {
		if err := s.Submit("Kills", key, int64(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.FlushNow(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Run("store", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, ok, err := of.Standing(b.Context(), "Kills", keys[i%len(keys)], store.Ordinal); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
	b.Run("service", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, ok, err := s.Standing(b.Context(), "Kills", keys[i%len(keys)]); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
	if _, err := s.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkNamesKnown is the names of a page that are all remembered.
func BenchmarkNamesKnown(b *testing.B) {
	a := newAccounts()
	s, err := board.NewOn(board.Host{ID: "n", Boards: memstore.New(nil).Boards(), Now: time.Now, Logger: discard()},
		&board.Options{Names: &board.NameOptions{Resolve: a.resolve}})
	if err != nil {
		b.Fatal(err)
	}
	p := store.Page{}
	for i := range 50 {
		p.Entries = append(p.Entries, store.Standing{Entry: store.Entry{Key: fmt.Sprintf("u%d", i)}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if rows, err := s.Named(b.Context(), p); err != nil || rows[49].User != "u49" {
			b.Fatal(rows, err)
		}
	}
	if _, err := s.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}
