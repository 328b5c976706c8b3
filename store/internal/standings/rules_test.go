package standings_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// Places are in the order of the board, and turn back into the scores.
func TestPlaces(t *testing.T) {
	edges := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	for _, order := range []store.Order{store.Descending, store.Ascending} {
		for _, a := range edges {
			if got := standings.ScoreAt(order, standings.PlaceOf(order, a)); got != a {
				t.Errorf("%s %d became %d", order, a, got)
			}
			for _, b := range edges {
				if better := standings.PlaceOf(order, a) < standings.PlaceOf(order, b); better != order.Better(a, b) {
					t.Errorf("%s: the place of %d is before that of %d: %v", order, a, b, better)
				}
			}
		}
	}
	first, last := standings.FirstPosition(), standings.LastPosition()
	lowest := standings.Position{Place: math.MinInt64, Sequence: 1}
	if first.Compare(lowest) >= 0 || lowest.Compare(last) >= 0 || first.Compare(first) != 0 {
		t.Errorf("%s and %s are not the ends", first, last)
	}
}

func TestDecide(t *testing.T) {
	none := standings.Stored{}
	ten := standings.Stored{Exists: true, Score: 10, Stamp: store.Stamp{Epoch: 2, Revision: 5}}
	most := standings.Stored{Exists: true, Score: math.MaxInt64}
	for _, c := range []struct {
		name   string
		rule   store.Rule
		order  store.Order
		old    standings.Stored
		score  int64
		stamp  store.Stamp
		effect store.Effect
		score2 int64
		stamps bool
	}{
		{"best of none", store.Best, store.Descending, none, 3, store.Stamp{}, store.Created, 3, false},
		{"best, better", store.Best, store.Descending, ten, 11, store.Stamp{}, store.Changed, 11, false},
		{"best, worse", store.Best, store.Descending, ten, 9, store.Stamp{}, store.Kept, 10, false},
		{"best, equal", store.Best, store.Descending, ten, 10, store.Stamp{}, store.Kept, 10, false},
		{"best time", store.Best, store.Ascending, ten, 9, store.Stamp{}, store.Changed, 9, false},
		{"last of none", store.Last, store.Descending, none, 3, store.Stamp{}, store.Created, 3, true},
		{"last, newer", store.Last, store.Descending, ten, 3, store.Stamp{Epoch: 3}, store.Changed, 3, true},
		{"last, newer and equal", store.Last, store.Descending, ten, 10, store.Stamp{Epoch: 2, Revision: 6}, store.Kept, 10, true},
		{"last, older", store.Last, store.Descending, ten, 99, store.Stamp{Epoch: 1, Revision: 9}, store.Kept, 10, false},
		{"last, the same", store.Last, store.Descending, ten, 99, ten.Stamp, store.Kept, 10, false},
		{"sum", store.Sum, store.Descending, ten, -3, store.Stamp{}, store.Changed, 7, false},
		{"sum of nothing", store.Sum, store.Descending, ten, 0, store.Stamp{}, store.Kept, 10, false},
		{"sum beyond", store.Sum, store.Descending, most, 1, store.Stamp{}, store.Overflow, math.MaxInt64, false},
	} {
		d := standings.Decide(c.rule, c.order, c.old, store.Submission{Key: "k", Score: c.score, Stamp: c.stamp})
		moves := c.effect == store.Created || c.effect == store.Changed
		if d.Change.Effect != c.effect || d.Change.New != c.score2 || d.Change.Old != c.old.Score || d.Stamps != c.stamps || d.Moves() != moves {
			t.Errorf("%s: %+v", c.name, d)
		}
		if want := map[bool]store.Stamp{true: c.stamp, false: c.old.Stamp}[c.stamps]; d.Stamp != want {
			t.Errorf("%s: the stamp is %+v, want %+v", c.name, d.Stamp, want)
		}
	}
}

// A walk goes on as long as the log covers its version, and no longer.
func TestWalkable(t *testing.T) {
	info := store.BoardInfo{Order: store.Descending, Generation: "g", Count: 4, Sequence: 9}
	log := standings.WalkLog{Number: 1, From: 5, Upto: 7}
	at := func(version uint64) store.Cursor {
		return store.Cursor{Generation: "g", Version: version, Total: 4, Seen: 1, Score: 1, Sequence: 1}
	}
	sealed := info
	sealed.Sealed = true
	for _, c := range []struct {
		name string
		info store.BoardInfo
		idle time.Duration
		from store.Cursor
		keep bool
		word error
	}{
		{"begins", info, 0, store.Cursor{}, true, nil},
		{"begins on a sealed board", sealed, 0, store.Cursor{}, false, nil},
		{"covered", info, 0, at(6), false, nil},
		{"covered, long ago", info, store.WalkFor, at(6), true, nil},
		{"before the log", info, 0, at(4), false, store.ErrCursor},
		{"behind the log", info, 0, at(8), false, store.ErrCursor},
		{"forgotten", info, standings.LogFor + 1, at(6), false, store.ErrCursor},
		{"of the future", info, 0, at(10), false, store.ErrCursor},
		{"of another life", info, 0, store.Cursor{Generation: "h", Version: 6, Total: 4, Seen: 1}, false, store.ErrCursor},
		{"sealed since", sealed, standings.LogFor + 1, at(9), false, nil},
		{"done", info, standings.LogFor + 1, store.Cursor{Generation: "g", Version: 1, Total: 4, Seen: 4}, false, nil},
	} {
		got, keep, err := standings.Walkable(c.info, log, c.idle, c.from)
		if keep != c.keep || !errors.Is(err, c.word) || (c.word == nil) != (err == nil) {
			t.Errorf("%s: %+v, %v, %v", c.name, got, keep, err)
		}
		if c.from == (store.Cursor{}) && got != (store.Cursor{Generation: "g", Version: 9, Total: 4}) {
			t.Errorf("%s at %+v", c.name, got)
		}
	}
}

// A log ends when it has too many rows or its time is over; what it wants are only the
// versions that somebody walks.
func TestWalkLog(t *testing.T) {
	var l standings.WalkLog
	if l.Wants(1) || l.Fresh(0) {
		t.Errorf("no log wants something: %+v", l)
	}
	l.Keep(7, 0)
	if diff := cmp.Diff(standings.WalkLog{Number: 1, From: 7, Upto: 7, Changed: true}, l); diff != "" {
		t.Errorf("a log begins (-want +got):\n%s", diff)
	}
	l.Keep(9, 0)
	if !l.Wants(9) || l.Wants(10) || l.From != 7 {
		t.Errorf("%+v", l)
	}
	for range 3 {
		l.Add(3)
	}
	if !l.Fresh(standings.LogFor) || l.Stale {
		t.Errorf("%+v has ended", l)
	}
	if l.Add(3); l.Fresh(0) || !l.Stale || l.Rows != 0 {
		t.Errorf("%+v has not ended", l)
	}
	l.Keep(12, 0)
	if l.Forget(standings.LogFor); !l.Fresh(0) || l.Number != 2 {
		t.Errorf("%+v is forgotten", l)
	}
	if l.Forget(standings.LogFor + 1); l.Fresh(0) {
		t.Errorf("%+v is not forgotten", l)
	}
}

// Weaving two halves of a sorted list gives the list.
func TestWeave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(positions(), 0, 30, rapid.ID[standings.Position]).Draw(t, "all")
		slices.SortFunc(all, standings.Position.Compare)
		var a, b []standings.WalkRow
		for _, p := range all {
			half := &a
			if rapid.Bool().Draw(t, "second") {
				half = &b
			}
			*half = append(*half, standings.WalkRow{At: p})
		}
		for i, r := range standings.Weave(a, b) {
			if r.At != all[i] {
				t.Fatalf("row %d is at %s, want %s", i, r.At, all[i])
			}
		}
	})
}

// The ranks are those of the documentation of store.RankMode, also from the middle on.
func TestRankAll(t *testing.T) {
	scores := []int64{30, 20, 20, 10}
	for mode, want := range map[store.RankMode][]int64{
		store.Ordinal: {1, 2, 3, 4}, store.Competition: {1, 2, 2, 4}, store.Dense: {1, 2, 2, 3},
	} {
		for offset := range scores {
			page := make([]store.Standing, len(scores)-offset)
			for i := range page {
				page[i].Score = scores[offset+i]
			}
			standings.RankAll(mode, page, want[offset], int64(offset))
			for i, s := range page {
				if s.Rank != want[offset+i] {
					t.Errorf("%s from %d: rank %d of entry %d, want %d", mode, offset, s.Rank, offset+i, want[offset+i])
				}
			}
		}
	}
}

// A judge names what is wrong with a shelf, and at most ProblemsMost problems in all.
func TestFindings(t *testing.T) {
	from, end := standings.FirstPosition(), standings.Position{Place: 50, Sequence: 1}
	good := []standings.Bucket{{From: from, Entries: 3}, {From: standings.Position{Place: 7, Sequence: 2}, Entries: 4}}
	for name, c := range map[string]struct {
		shelf standings.StoredShelf
		says  string
	}{
		"good":     {standings.StoredShelf{From: from, End: end, Entries: 7, Buckets: standings.EncodeBuckets(good)}, ""},
		"garbage":  {standings.StoredShelf{From: from, End: end, Entries: 7, Buckets: []byte{1}}, "cannot be read"},
		"sum":      {standings.StoredShelf{From: from, End: end, Entries: 8, Buckets: standings.EncodeBuckets(good)}, "it says 8 entries"},
		"start":    {standings.StoredShelf{From: standings.Position{Place: 1}, End: end, Entries: 7, Buckets: standings.EncodeBuckets(good)}, "its first bucket"},
		"too long": {standings.StoredShelf{From: from, End: standings.Position{Place: 7}, Entries: 7, Buckets: standings.EncodeBuckets(good)}, "its last bucket"},
	} {
		var f standings.Findings
		f.Judge(c.shelf)
		if said := strings.Join(f.Said(), "\n"); (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: %q, want %q", name, said, c.says)
		}
	}
	var f standings.Findings
	for range standings.ProblemsMost {
		f.Add("one")
	}
	fork := f.Fork()
	fork.Add("more")
	if said := fork.Said(); len(said) != standings.ProblemsMost || said[len(said)-1] != "and 2 more" {
		t.Errorf("%d problems, the last %q", len(said), said[len(said)-1])
	}
}

// Of an engine that may go back in time only the versions with the cursor's tag are walked.
func TestTaggedWalks(t *testing.T) {
	info := store.BoardInfo{Order: store.Descending, Generation: "g", Count: 4, Sequence: 9}
	sealed := info
	sealed.Sealed = true
	log := standings.WalkLog{Tagged: true}
	log.Keep(6, 0)
	log.Tag(6, 11)
	log.Keep(9, 0)
	at := func(version, tag uint64) store.Cursor {
		return store.Cursor{Generation: "g", Version: version, Total: 4, Seen: 1, Tag: tag}
	}
	for _, c := range []struct {
		name string
		info store.BoardInfo
		from store.Cursor
		keep bool
		word error
	}{
		{"begins at a version without a tag", info, store.Cursor{}, true, nil},
		{"begins on a sealed board without a tag", sealed, store.Cursor{}, true, nil},
		{"of this history", info, at(6, 11), false, nil},
		{"of another history", info, at(6, 13), false, store.ErrCursor},
		{"of a release without tags", info, at(6, 0), false, store.ErrCursor},
		{"covered, of no walk", info, at(9, 0), false, store.ErrCursor},
		{"sealed, of another history", sealed, at(9, 13), false, store.ErrCursor},
		{"done, of another history", info, store.Cursor{Generation: "g", Version: 6, Total: 4, Seen: 4, Tag: 13}, false, nil},
	} {
		if _, keep, err := standings.Walkable(c.info, log, 0, c.from); keep != c.keep || !errors.Is(err, c.word) || (c.word == nil) != (err == nil) {
			t.Errorf("%s: %v, %v", c.name, keep, err)
		}
	}
	log.Tag(9, 15)
	if begun, keep, err := standings.Walkable(info, log, 0, store.Cursor{}); keep || err != nil || begun.Tag != 15 {
		t.Errorf("another walk of the version begins at %+v, %v, %v", begun, keep, err)
	}
	if _, keep, err := standings.Walkable(sealed, log, standings.LogFor+1, at(9, 15)); keep || err != nil {
		t.Errorf("a walk of a sealed board goes on with %v, %v", keep, err)
	}
}

// As many versions have tags as may be walked at once; a log that begins knows no earlier one.
func TestWalkedVersions(t *testing.T) {
	var l standings.WalkLog
	l.Keep(1, 0)
	for v := range uint64(store.MaxWalks + 1) {
		if tag := l.Tag(v+1, 2*v+1); tag != 2*v+1 || l.Tag(v+1, 999) != tag {
			t.Fatalf("version %d has the tag %d", v+1, tag)
		}
	}
	if read := standings.ParseWalked(l.Walked.Bytes()); len(read) != store.MaxWalks || !slices.Equal(read, l.Walked) {
		t.Errorf("%d versions are stored as %d", len(l.Walked), len(read))
	}
	if fresh := l.Tag(1, 999); fresh != 999 {
		t.Errorf("the oldest version still has the tag %d", fresh)
	}
	l.End()
	if l.Keep(5, 0); len(l.Walked) != 1 || l.Tag(5, 999) != 9 {
		t.Errorf("a log that begins at version 5 has %+v", l.Walked)
	}
	for _, b := range []string{"x", strings.Repeat("x", 15), strings.Repeat("x", 2*16*store.MaxWalks+16)} {
		if w := standings.ParseWalked([]byte(b)); w != nil {
			t.Errorf("%d bytes are read as %+v", len(b), w)
		}
	}
	if a, b := standings.FreshTag(), standings.FreshTag(); a == b || a%2 == 0 || b%2 == 0 {
		t.Errorf("tags are %d and %d", a, b)
	}
	if a, b := standings.PassingTag(), standings.PassingTag(); a == b || a == 0 || a%2 == 1 || b%2 == 1 {
		t.Errorf("passing tags are %d and %d", a, b)
	}
}
