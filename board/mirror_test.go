package board_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

func profileOf(key string, data any, epoch, revision uint64) board.Profile {
	return board.Profile{Key: key, Data: doc.Must(data), Stamp: store.Stamp{Epoch: epoch, Revision: revision}}
}

func kills(v doc.Value) (int64, bool) {
	at, ok := v.Member("kills")
	n, isInt := at.AsInt()
	return n, ok && isInt
}

func TestSourcesAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nil)
		for name, cfg := range map[string]board.Config{
			"a sum":            {Rule: store.Sum, From: board.FromProfile("players", kills)},
			"no set":           {From: &board.Source{Path: "/kills"}},
			"neither":          {From: &board.Source{Set: "players"}},
			"both":             {From: &board.Source{Set: "players", Path: "/kills", Score: kills}},
			"no pointer":       {From: &board.Source{Set: "players", Path: "kills"}},
			"no meta pointer":  {From: &board.Source{Set: "players", Path: "/kills", MetaPath: "m"}},
			"two metas":        {From: &board.Source{Set: "players", Path: "/kills", MetaPath: "/m", Meta: func(doc.Value) []byte { return nil }}},
			"a score for none": {From: &board.Source{Set: "players", Score: kills, Missing: ptr(0)}},
		} {
			t.Log(name)
			wantRefused(t, r.Define("Kills", cfg), "From", store.ErrInvalid)
		}
	})
}

func TestASourceAgainIsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nil)
		from := board.FromProfile("players", kills)
		for range 2 {
			if err := r.Define("F", board.Config{From: from}); err != nil {
				t.Fatal(err)
			}
			if err := r.Define("P", board.Config{From: &board.Source{Set: "players", Path: "/kills", Missing: ptr(3)}}); err != nil {
				t.Fatal(err)
			}
		}
		wantRefused(t, r.Define("F", board.Config{From: board.FromProfile("players", kills)}), "config", board.ErrDefined)
		wantRefused(t, r.Define("P", board.Config{From: &board.Source{Set: "players", Path: "/kills", Missing: ptr(4)}}), "config", board.ErrDefined)
		wantRefused(t, r.Define("P", board.Config{}), "config", board.ErrDefined)
	})
}

// A mirror's write carries the state that it was made of.
func TestAMirrorsWritesAreStamped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{
			"Last": {Rule: store.Last, From: board.FromProfile("players", kills)},
			"Best": {From: &board.Source{Set: "players", Path: "/kills"}},
			"Else": {Rule: store.Last, From: board.FromProfile("guilds", kills)},
			"Free": {},
		}})
		r.Mirror("players", profileOf("ann", map[string]any{"kills": 5}, 3, 70))
		r.Mirror("players", profileOf("bob", map[string]any{}, 3, 70))
		r.flush()
		got := make(map[string]store.Batch)
		for _, c := range r.store.did("merge") {
			got[c.Board] = c.Batch
		}
		want(t, "the writes", got, map[string]store.Batch{
			"Last": {Rule: store.Last, Entries: []store.Submission{{Key: "ann", Score: 5, Stamp: store.Stamp{Epoch: 3, Revision: 70}}}},
			"Best": {Rule: store.Best, Entries: []store.Submission{{Key: "ann", Score: 5}}},
		})
	})
}

// What goes with a score is bounded, and replaced with it.
func TestAMirrorsMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		class := func(v doc.Value) []byte {
			at, _ := v.Member("class")
			s, _ := at.AsString()
			return []byte(s)
		}
		r := start(t, &board.Options{Boards: boards{
			"Path": {Rule: store.Last, From: &board.Source{Set: "players", Path: "/kills", MetaPath: "/class"}},
			"Func": {Rule: store.Last, From: &board.Source{Set: "players", Score: kills, Meta: class}},
			"Best": {From: &board.Source{Set: "players", Score: kills, Meta: class}},
		}})
		revision := uint64(0)
		tell := func(n int, class any) []string {
			revision++
			r.Mirror("players", profileOf("ann", map[string]any{"kills": n, "class": class}, 1, revision))
			r.flush()
			var out []string
			for _, name := range []string{"Path", "Func", "Best"} {
				e, err := r.Scores(t.Context(), name, "ann")
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, string(e["ann"].Meta))
			}
			return out
		}
		long := strings.Repeat("m", store.MaxMeta)
		want(t, "the first", tell(5, "mage"), []string{`"mage"`, "mage", "mage"})
		want(t, "another with the same score", tell(5, "cook"), []string{`"mage"`, "mage", "mage"})
		want(t, "with another score", tell(6, long), []string{"", long, long}) // two quotes too many
		want(t, "too long", tell(7, long+"m"), []string{"", "", ""})
		want(t, "none", tell(8, nil), []string{"", "", ""})
	})
}

// Each session tells its first state; later ones only what is new.
func TestAMirrorTellsWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{
			"Last": {Rule: store.Last, From: board.FromProfile("players", kills)},
			"Best": {From: board.FromProfile("players", kills)},
		}})
		for _, step := range []struct {
			kills           int
			epoch, revision uint64
			last, best      uint64 // submits so far
		}{
			{5, 1, 1, 1, 1},
			{5, 1, 2, 1, 1}, // as it was
			{4, 1, 3, 2, 1}, // worse
			{9, 1, 2, 2, 2}, // an older state, told late: only the best may want it
			{9, 1, 4, 3, 2},
			{9, 2, 4, 4, 3}, // another session
			{9, 2, 5, 4, 3},
		} {
			r.Mirror("players", profileOf("ann", map[string]any{"kills": step.kills}, step.epoch, step.revision))
			stats := r.Stats().Boards
			want(t, "submits of last and best", []uint64{stats["Last"].Submitted, stats["Best"].Submitted}, []uint64{step.last, step.best})
		}
	})
}

// A function that panics, and a value that is no score, are refused; the other boards go on.
func TestAMirrorWithoutAScore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{
			"A": {From: board.FromProfile("players", func(doc.Value) (int64, bool) { panic("oh") })},
			"B": {Max: ptr(3), From: board.FromProfile("players", kills)},
			"C": {From: board.FromProfile("players", kills)},
		}})
		r.Mirror("players", profileOf("ann", map[string]any{"kills": 4}, 1, 1))
		stats := r.Stats().Boards
		want(t, "refused", []uint64{stats["A"].Refused, stats["B"].Refused, stats["C"].Submitted}, []uint64{1, 1, 1})
		for _, name := range []string{"A", "B", "D"} {
			if e, ok, err := r.Mirrored(name, profileOf("ann", map[string]any{"kills": 4}, 1, 1)); err == nil || ok {
				t.Errorf("%s: %+v %v, an error expected", name, e, ok)
			}
		}
		wantRefused(t, r.Submit("C", "ann", 1), "From", board.ErrRule)
	})
}
