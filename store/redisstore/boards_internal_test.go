package redisstore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/store"
)

// The order of the bytes is that of the board, and nothing of a score is lost.
func TestPlacesOfScores(t *testing.T) {
	scores := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 53, -1<<53 + 1, -1, 0, 1, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}
	for _, order := range []store.Order{store.Ascending, store.Descending} {
		for i, score := range scores {
			p := positionOf(order, score, 1<<62+uint64(i))
			if got := scoreAt(order, p.place()); got != score || p.sequence() != 1<<62+uint64(i) {
				t.Errorf("%s: %d comes back as %d at %d", order, score, got, p.sequence())
			}
			if i == 0 {
				continue
			}
			before := positionOf(order, scores[i-1], math.MaxInt64)
			if ascends := before < p; ascends != (order == store.Ascending) {
				t.Errorf("%s: %d stands before %d: %v", order, scores[i-1], score, ascends)
			}
		}
		if a, b := positionOf(order, 5, 1), positionOf(order, 5, 2); a >= b {
			t.Errorf("%s: who reached a score first stands behind", order)
		}
	}
}

// What is read of a walk is what stood at its version, wherever the stretches end.
func TestStretchesOfAWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		const version = 50
		var all stretch
		var want []string
		for i := range 40 {
			p := walkRow{at: positionOf(store.Ascending, int64(i), uint64(rng.IntN(100))), entry: store.Entry{Key: fmt.Sprint("key/", i)}}
			stood := false
			for n, since := 0, p.at.sequence(); n < rng.IntN(4); n++ { // it has left, and was shown again
				until := since + 1 + uint64(rng.IntN(20))
				all.moved = append(all.moved, movedRow{walkRow: p, at: until, since: since})
				stood = stood || since <= version && version < until
				since = until + uint64(rng.IntN(20))
				if rng.IntN(2) == 0 { // it stands there now
					all.moved = append(all.moved, movedRow{walkRow: p, at: stillThere, since: since})
					all.members = append(all.members, p)
					stood = stood || since <= version
					break
				}
			}
			if len(all.moved) == 0 || all.moved[len(all.moved)-1].walkRow.at != p.at { // it never left
				all.members = append(all.members, p)
				stood = p.at.sequence() <= version
			}
			if stood {
				want = append(want, p.entry.Key)
			}
		}
		byRow := func(a, b movedRow) int {
			return strings.Compare(string(a.walkRow.at)+bytes64(a.at), string(b.walkRow.at)+bytes64(b.at))
		}
		slices.SortFunc(all.moved, byRow)
		if got := walkAll(t, all, version, 1+rng.IntN(10)); !slices.Equal(want, got) {
			t.Fatalf("the walk shows (-want +got):\n%s", cmp.Diff(want, got))
		}
	})
}

// walkAll reads everything in stretches as board_walk.lua cuts them.
func walkAll(t *rapid.T, all stretch, version uint64, limit int) (keys []string) {
	from, more := "", true
	for steps := 0; more; steps++ {
		if steps > 1000 {
			t.Fatal("the walk does not come to an end")
		}
		s := stretch{version: version, order: store.Ascending, limit: limit}
		for _, m := range all.members {
			if string(m.at) >= from && len(s.members) < limit {
				s.members = append(s.members, m)
			}
		}
		for _, m := range all.moved {
			whole := string(m.walkRow.at) + bytes64(m.at)
			if whole >= from && (len(s.moved) < limit || s.moved[len(s.moved)-1].walkRow.at == m.walkRow.at) {
				s.moved = append(s.moved, m)
			}
		}
		var rows []walkRow
		var end position
		rows, end, more = s.stood()
		for _, r := range rows {
			keys = append(keys, r.entry.Key)
		}
		from = behind(end)[1:]
	}
	return keys
}

// Answers of another shape are errors, whatever they are.
func FuzzBoardShapes(f *testing.F) {
	f.Add("", "", uint8(0))
	f.Add("d", strings.Repeat("\x00", 33)+"k", uint8(6))
	f.Add("a", strings.Repeat("\xff", 32), uint8(8))
	f.Fuzz(func(t *testing.T, word, text string, n uint8) {
		order := orderOf(word)
		if m, err := movedOf(order, text); err == nil && len(text) < 33+len(m.entry.Key) {
			t.Errorf("a row of %d bytes has the key %q", len(text), m.entry.Key)
		}
		if _, err := entryOf(order, "k", text, text); (err == nil) != (len(text) >= positionSize) {
			t.Errorf("a value of %d bytes: %v", len(text), err)
		}
		fields := make([]field, n%10)
		for i := range fields {
			fields[i] = field{text: text, known: true}
		}
		if len(fields) > 0 {
			fields[0].text = word
		}
		if _, err := infoOf(fields); err == nil {
			t.Errorf("a board of %d times %q", len(fields), text)
		}
		b := walkBoard{}
		if err := b.readLog(field{text: text, known: true}, true, 0); (err == nil) != (len(text) == walkLogSize) {
			t.Errorf("a log of %d bytes: %v", len(text), err)
		}
		if _, err := changeOf(store.Best, order, firstByte(text), field{text: text, known: true}, store.Submission{}); err == nil && len(text) < positionSize {
			t.Error("an effect without what was before")
		}
	})
}

func firstByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

// Whatever is wanted of dense ranks is what a plain count over all gives.
func TestDenseSlices(t *testing.T) {
	scores := []int64{9, 9, 7, 5, 5, 5, 1}
	ranks := []int64{1, 1, 2, 3, 3, 3, 4}
	var all []store.Standing
	for i, score := range scores {
		all = append(all, store.Standing{Entry: store.Entry{Key: fmt.Sprint(i), Score: score}, Rank: int64(i) + 1})
	}
	cut := func(from, to int) (want []store.Standing) {
		for i := max(0, from); i < min(to, len(all)); i++ {
			s := all[i]
			s.Rank = ranks[i]
			want = append(want, s)
		}
		return want
	}
	check := func(what string, d *denseSlice, from, to int) {
		t.Helper()
		for _, s := range all {
			if d.add(s) {
				break
			}
		}
		page := d.page(store.BoardInfo{Count: int64(len(all))})
		want := store.Page{Entries: cut(from, to), Total: int64(len(all)), Info: page.Info}
		if len(want.Entries) > 0 {
			want.Offset = int64(max(0, from))
		}
		if diff := cmp.Diff(want, page); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	for i := range len(all) + 1 {
		for n := range 4 {
			check(fmt.Sprintf("page at %d of %d", i, n), &denseSlice{offset: int64(i), limit: int64(n)}, i, i+n)
			if i < len(all) {
				check(fmt.Sprintf("%d around %d", n, i), &denseSlice{key: fmt.Sprint(i), reach: n}, i-n, i+n+1)
			}
		}
	}
	check("around nobody", &denseSlice{key: "nobody", reach: 2}, 0, 0)
}
