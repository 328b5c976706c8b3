package shoal_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store/memstore"
)

// What a game waits for when something happens: an event of a player with a profile of 2 KB,
// through the whole of a session, by itself and while somebody watches the block.
func BenchmarkSeasonRecord(b *testing.B) {
	st, err := memstore.New(nil).Store()
	if err != nil {
		b.Fatal(err)
	}
	o := &shoal.Options{
		Sets:    map[string]*profile.Options{"players": {Autosave: time.Hour}},
		Seasons: map[string]shoal.Season{"reef": {Set: "players", Rules: season.Reef()}},
	}
	o.Node.Logger = slog.New(slog.DiscardHandler)
	n, err := shoal.Start(b.Context(), st, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_, _ = n.Close(context.Background())
		_ = st.Close(context.Background())
	})
	s, err := n.Set("players").Load(b.Context(), "ada", nil)
	if err != nil {
		b.Fatal(err)
	}
	items := map[string]any{}
	for i := range 32 {
		items[fmt.Sprintf("item-%06d", i)] = map[string]any{"count": i, "name": "Bronze Sword", "rare": i%7 == 0}
	}
	if _, err := s.Transact(profile.Source{}, doc.Set("/items", doc.Must(items))); err != nil {
		b.Fatal(err)
	}
	reef := n.Season("reef")
	for _, watched := range []int{0, 1, season.MaxWatches} {
		for name, event := range map[string]season.Event{"catch": {Name: "catch"}, "coins": {Name: "coins", Amount: 3}} {
			b.Run(fmt.Sprintf("%s/watches=%d", name, watched), func(b *testing.B) {
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				for range watched {
					w, err := reef.Watch(s)
					if err != nil {
						b.Fatal(err)
					}
					defer w.Close()
					if watched == 1 {
						go func() {
							for {
								if _, err := w.Next(ctx); err != nil {
									return
								}
							}
						}()
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := reef.Record(s, event); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
