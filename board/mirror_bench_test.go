package board_test

import (
	"testing"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// BenchmarkMirror is what a save pays for each board that mirrors its set: nothing new, and a
// new score every time.
func BenchmarkMirror(b *testing.B) {
	keys := benchKeys(10_000)
	data := []doc.Value{doc.Must(map[string]any{"stats": map[string]any{"kills": 7}}), doc.Must(map[string]any{"stats": map[string]any{"kills": 8}})}
	for name, states := range map[string][]doc.Value{"same": data[:1], "new": data} {
		b.Run(name, func(b *testing.B) {
			s := benchService(b, board.Config{Rule: store.Last, From: &board.Source{Set: "players", Path: "/stats/kills"}})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				round := i / len(keys)
				s.Mirror("players", board.Profile{
					Key: keys[i%len(keys)], Data: states[round%len(states)], Stamp: store.Stamp{Epoch: 1, Revision: uint64(round + 1)},
				})
			}
		})
	}
}
