package profile

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// Any history of commits, snapshots of saves and appends: the effects of each append turn every
// state that the record may hold, from its base on, into the state that it leads to.
func TestTracksCoverEveryStateThatTheRecordMayHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := doc.Must(map[string]any{"list": []any{0, 1, 2}, "map": map[string]any{}, "n": 0})
		revision, tr := uint64(5), newTracks(now, 5)
		snapshots := map[uint64]doc.Value{5: now}
		base := uint64(5)
		t.Repeat(map[string]func(*rapid.T){
			"commit": func(t *rapid.T) {
				ops := []doc.Op{
					doc.Increment("/n", 1),
					doc.Set(fmt.Sprintf("/map/k%d", rapid.IntRange(0, 3).Draw(t, "key")), doc.Int(int64(revision))),
					doc.AppendTo("/list", doc.Int(int64(revision))),
					doc.Set("/list", doc.List(doc.Int(7), doc.Int(8))),
					doc.Unset("/map/k1"),
					doc.Set("/n", doc.Int(0)), // changed and changed back
				}
				next, err := doc.Apply(now, ops[rapid.IntRange(0, len(ops)-1).Draw(t, "op")])
				if err != nil {
					return // nothing to unset
				}
				now = next
				revision++
			},
			"snapshot": func(*rapid.T) {
				tr.cut(now, revision)
				snapshots[revision] = now
			},
			"save lands": func(t *rapid.T) {
				var newer []uint64
				for r := base; r <= revision; r++ {
					if _, ok := snapshots[r]; ok {
						newer = append(newer, r)
					}
				}
				base = rapid.SampledFrom(newer).Draw(t, "which")
				tr.settle(base)
			},
			"append": func(t *rapid.T) {
				tr.follow(now)
				if !tr.cover(base) {
					t.Fatalf("what came after %d is forgotten", base)
				}
				effects := tr.effects(now, revision)
				for r, state := range snapshots {
					if r < base {
						continue
					}
					got, err := effects.Apply(state)
					if err != nil || !got.Equal(now) {
						t.Fatalf("on revision %d the effects of %d make %v, not %v: %v", r, revision, got, now, err)
					}
				}
			},
		})
	})
}

// Before a claim only what came before it is journaled.
func TestTracksLeaveOutWhatComesAfterACut(t *testing.T) {
	states := []doc.Value{coins(0), coins(1), coins(2), coins(3)}
	tr := newTracks(states[0], 10)
	tr.cut(states[1], 11) // revision 12 has a claim
	tr.cut(states[3], 13) // the snapshot of a save that carries it
	got, err := tr.effects(states[1], 11).Apply(states[0])
	if err != nil || !got.Equal(states[1]) {
		t.Errorf("%v, %v", got, err)
	}
	tr.settle(13)
	if tr.cover(11) || !tr.cover(13) || tr.effects(states[3], 13).Len() != 0 {
		t.Errorf("after the save: %+v", tr)
	}
}
