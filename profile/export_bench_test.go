package profile_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shoalworks/shoal/exchange"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// fileSet is a set on the SQLite store.
func fileSet(b *testing.B) (*profile.Set, *store.Store) {
	b.Helper()
	engine, err := sqlitestore.Open(b.Context(), b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	st, err := engine.Store()
	if err != nil {
		b.Fatal(err)
	}
	n, err := node.Start(b.Context(), st, &node.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	set, err := profile.New(n, "players", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if _, err := n.Close(context.Background()); err != nil {
			b.Error(err)
		}
		_ = st.Close(context.Background())
	})
	return set, st
}

// benchRecord is the stored form of a free profile of 2 KB.
func benchRecord(i int) []byte {
	return fmt.Appendf(nil, `{"created":"2026-08-11T12:00:00.000Z","data":%s,"epoch":%d,"format":1,"revision":%d,"schema":1,"session":null,"updated":"2026-08-11T12:00:01.000Z"}`,
		document(2<<10), i%9+1, i)
}

// plantMany stores n profiles.
func plantMany(b *testing.B, st *store.Store, n int) {
	b.Helper()
	var txs []store.Tx
	for i := range n {
		txs = append(txs, store.Tx{{Key: profileKey(fmt.Sprintf("u_%06d", i)), Op: store.Put, Value: benchRecord(i), Version: store.Version(i + 1)}})
		if len(txs) == store.MaxCommit || i == n-1 {
			for _, err := range st.Durable().Commit(b.Context(), txs...) {
				if err != nil {
					b.Fatal(err)
				}
			}
			txs = nil
		}
	}
}

// BenchmarkExport exports 50,000 profiles of 2 KB from the SQLite store to a file, in each round.
func BenchmarkExport(b *testing.B) {
	const profiles = 50_000
	set, st := fileSet(b)
	plantMany(b, st, profiles)
	name := filepath.Join(b.TempDir(), "export")
	used := cpu(b)
	b.ResetTimer()
	for range b.N {
		file, err := os.Create(name)
		if err != nil {
			b.Fatal(err)
		}
		report, err := set.Export(b.Context(), file, nil)
		if err != nil || report.Profiles != profiles {
			b.Fatalf("%+v, %v", report, err)
		}
		if err := file.Close(); err != nil {
			b.Fatal(err)
		}
	}
	perProfile(b, b.N*profiles, cpu(b)-used)
}

// BenchmarkImport imports 50,000 profiles of 2 KB from memory into an empty SQLite store, in
// each round.
func BenchmarkImport(b *testing.B) {
	const profiles = 50_000
	var text bytes.Buffer
	w, err := exchange.NewWriter(&text, exchange.Header{Set: "players"})
	if err != nil {
		b.Fatal(err)
	}
	for i := range profiles {
		if err := w.Profile(fmt.Sprintf("u_%06d", i), benchRecord(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	var used time.Duration
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		set, _ := fileSet(b)
		began := cpu(b)
		b.StartTimer()
		report, err := set.Import(b.Context(), bytes.NewReader(text.Bytes()), nil)
		if err != nil || report.Written != profiles {
			b.Fatalf("%+v, %v", report, err)
		}
		used += cpu(b) - began
	}
	perProfile(b, b.N*profiles, used)
}

// perProfile reports profiles a second, and what one takes of a processor: that number a busy
// machine does not change much.
func perProfile(b *testing.B, profiles int, used time.Duration) {
	b.Helper()
	b.ReportMetric(float64(profiles)/b.Elapsed().Seconds(), "profiles/s")
	b.ReportMetric(float64(used.Nanoseconds())/1000/float64(profiles), "cpu-µs/profile")
}
