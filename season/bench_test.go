package season_test

import (
	"log/slog"
	"testing"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store/memstore"
)

// An event of a player whose profile has 2 KB, the session's own work included.
func BenchmarkRecord(b *testing.B) {
	st, err := memstore.New(nil).Store()
	if err != nil {
		b.Fatal(err)
	}
	n, err := node.Start(b.Context(), st, &node.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = n.Close(b.Context()) })
	seasons, err := season.NewStill(n, "reef", season.Reef(), season.Deps{})
	if err != nil {
		b.Fatal(err)
	}
	ps := newProfiles()
	ps.put("ada", profileOf2KB(b), n.Now())
	for name, event := range map[string]season.Event{"catch": {Name: "catch"}, "coins": {Name: "coins", Amount: 3}} {
		b.Run(name, func(b *testing.B) {
			ada := ps.load("ada")
			b.ReportAllocs()
			for b.Loop() {
				if err := seasons.Record(ada, event); err != nil {
					b.Fatal(err)
				}
				ada.mu.commits = ada.mu.commits[:0]
			}
		})
	}
}
