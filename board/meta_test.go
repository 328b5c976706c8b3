package board_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

func entry(key string, score int64, meta string) store.Submission {
	return store.Submission{Key: key, Score: score, Meta: []byte(meta)}
}

// meta is what is stored of a key: its score and metadata.
func (r *rig) meta(name, key string) string {
	r.t.Helper()
	got, err := r.store.Boards.Scores(r.t.Context(), name, key)
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", got[key].Score, got[key].Meta)
}

// What waits keeps the metadata of the score that wins, whether they meet in the queue or at
// the store.
func TestMetadataBelongsToTheScoreThatWins(t *testing.T) {
	for _, c := range []struct {
		what    string
		cfg     board.Config
		entries []store.Submission
		want    string
	}{
		{"best, better later", board.Config{}, []store.Submission{entry("u1", 5, "a"), entry("u1", 7, "b")}, "7 b"},
		{"best, worse later", board.Config{}, []store.Submission{entry("u1", 7, "a"), entry("u1", 5, "b")}, "7 a"},
		{"best, as good later", board.Config{}, []store.Submission{entry("u1", 7, "a"), entry("u1", 7, "b")}, "7 a"},
		{"best, better later without", board.Config{}, []store.Submission{entry("u1", 5, "a"), entry("u1", 7, "")}, "7 "},
		{"smaller is better", board.Config{Order: store.Ascending}, []store.Submission{entry("u1", 5, "a"), entry("u1", 7, "b")}, "5 a"},
		{"last", board.Config{Rule: store.Last}, []store.Submission{entry("u1", 5, "a"), entry("u1", 3, "b")}, "3 b"},
		{
			"last, the newer stamp first",
			board.Config{Rule: store.Last},
			[]store.Submission{{Key: "u1", Score: 5, Meta: []byte("a"), Stamp: store.Stamp{Epoch: 2}}, {Key: "u1", Score: 3, Meta: []byte("b"), Stamp: store.Stamp{Epoch: 1}}},
			"5 a",
		},
		{"sum, the newest", board.Config{Rule: store.Sum}, []store.Submission{entry("u1", 5, "a"), entry("u1", 7, "b")}, "12 b"},
		{"sum, the newest without", board.Config{Rule: store.Sum}, []store.Submission{entry("u1", 5, "a"), entry("u1", 7, "")}, "12 "},
		{"sum, nothing added", board.Config{Rule: store.Sum}, []store.Submission{entry("u1", 5, "a"), entry("u1", 0, "b")}, "5 a"},
	} {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", c.what, together), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := start(t, &board.Options{Boards: boards{"K": c.cfg}})
					for _, e := range c.entries {
						if err := r.SubmitEntry("K", e); err != nil {
							t.Fatal(err)
						}
						if !together {
							r.flush()
						}
					}
					r.flush()
					want(t, "stored", r.meta("K", "u1"), c.want)
				})
			})
		}
	}
}

// A value that comes back keeps its metadata, or takes that of the newer one that wins.
func TestMetadataOfAFailedWrite(t *testing.T) {
	for newer, wanted := range map[int64]string{3: "5 first", 9: "9 second"} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, &board.Options{Boards: boards{"K": {}}})
			r.store.failNext("merge", notDone)
			if err := r.SubmitEntry("K", entry("u1", 5, "first")); err != nil {
				t.Fatal(err)
			}
			r.flushFails()
			if err := r.SubmitEntry("K", entry("u1", newer, "second")); err != nil {
				t.Fatal(err)
			}
			r.flush()
			want(t, "stored", r.meta("K", "u1"), wanted)
		})
	}
}

func TestMetadataIsBoundedAndTheServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"K": {}, "L": {Rule: store.Last}}})
		e := store.Submission{Key: "u1", Score: 1, Meta: make([]byte, store.MaxMeta)}
		if err := r.SubmitEntry("K", e); err != nil {
			t.Fatal(err)
		}
		e.Meta[0] = 'x' // the caller's to change
		wantRefused(t, r.SubmitEntry("K", store.Submission{Key: "u2", Meta: make([]byte, store.MaxMeta+1)}), "meta", store.ErrTooLarge)
		wantRefused(t, r.SubmitEntry("Nope", store.Submission{Key: "u2", Meta: make([]byte, store.MaxMeta+1)}), "board", board.ErrUnknownBoard)
		wantRefused(t, r.SubmitEntry("K", store.Submission{Key: "u1", Stamp: store.Stamp{Epoch: 1}}), "stamp", board.ErrRule)
		wantRefused(t, r.SubmitEntry("L", store.Submission{Key: "u1", Stamp: store.Stamp{Epoch: 1 << 63}}), "stamp", board.ErrLimit)
		r.flush()
		want(t, "stored", r.meta("K", "u1"), "1 "+string(make([]byte, store.MaxMeta)))
		want(t, "refused", r.Stats().Total.Refused, 4)
	})
}

// An entry without metadata costs no more than a Submit.
func TestSubmitEntryWithoutMetadataDoesNotAllocate(t *testing.T) {
	r := start(t, &board.Options{FlushEvery: -1, Boards: boards{"K": {}}})
	r.submit("K", "u1", 0)
	score := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		score++
		_ = r.SubmitEntry("K", store.Submission{Key: "u1", Score: score})
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
