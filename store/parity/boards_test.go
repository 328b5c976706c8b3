package parity_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/store"
)

func is(err, target error) bool { return errors.Is(err, target) }

// stage is one board on every engine, and how far each walk of it is there.
type stage struct {
	boards []named[store.Boards]
	name   string
	walks  [][]store.Cursor // by walk, by engine
}

// same makes the same call on all engines and compares the answers.
func (s *stage) same(t *rapid.T, what string, call func(b store.Boards) (answer string, err error)) {
	t.Helper()
	var first string
	for i, e := range s.boards {
		answer, err := call(e.part)
		got := word(err) + "\n" + answer
		switch {
		case i == 0:
			first = got
		case got != first:
			t.Fatalf("%s\n%s answers: %s\n%s answers: %s\n(%v)", what, s.boards[0].name, first, e.name, got, err)
		}
	}
}

// TestBoardsAnswerAlike plays random histories of boards on all engines.
func TestBoardsAnswerAlike(t *testing.T) {
	f := allEngines(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		s := &stage{boards: f.boards, name: fmt.Sprintf("board/%d", n)}
		order := rapid.SampledFrom([]store.Order{store.Descending, store.Ascending}).Draw(t, "order")
		s.create(t, order)
		t.Repeat(map[string]func(*rapid.T){
			"merge": s.merge, "more": s.merge, "remove": s.remove, "erase": s.erase, "hide": s.hide, "walk": s.walk,
			"page": s.page, "look": s.look, "check": s.check, "end": func(t *rapid.T) { s.end(t, order) },
			"": s.whole,
		})
	})
}

func (s *stage) create(t *rapid.T, order store.Order) {
	spec := store.BoardSpec{Order: order, Generation: rapid.SampledFrom([]string{"g1", "g2"}).Draw(t, "generation")}
	s.same(t, fmt.Sprintf("create %v", spec), func(b store.Boards) (string, error) {
		info, err := b.Create(t.Context(), s.name, spec)
		return infoText(info), err
	})
}

func drawKeys(t *rapid.T, most int) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "A", "~", "!"}), 1, most, rapid.ID[string]).Draw(t, "keys")
}

func (s *stage) merge(t *rapid.T) {
	score := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64 - 1, math.MaxInt64}))
	batch := store.Batch{Rule: rapid.SampledFrom([]store.Rule{store.Best, store.Last, store.Sum}).Draw(t, "rule")}
	if batch.Rule == store.Sum {
		batch.Source = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "source")
		batch.N = rapid.OneOf(rapid.Uint64Range(1, 12), rapid.Just[uint64](math.MaxInt64)).Draw(t, "n")
	}
	for _, key := range drawKeys(t, 5) {
		e := store.Submission{Key: key, Score: score.Draw(t, "score")}
		if batch.Rule == store.Last {
			e.Stamp = store.Stamp{Epoch: rapid.Uint64Range(0, 2).Draw(t, "epoch"), Revision: rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Just[uint64](math.MaxInt64)).Draw(t, "revision")}
		}
		if rapid.Bool().Draw(t, "with metadata") {
			e.Meta = rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "meta")
		}
		batch.Entries = append(batch.Entries, e)
	}
	s.same(t, fmt.Sprintf("merge %+v", batch), func(b store.Boards) (string, error) {
		changes, err := b.Merge(t.Context(), s.name, batch)
		return fmt.Sprint(changes), err
	})
}

func (s *stage) remove(t *rapid.T) {
	keys := drawKeys(t, 3)
	s.same(t, fmt.Sprintf("remove %q", keys), func(b store.Boards) (string, error) {
		n, err := b.Remove(t.Context(), s.name, keys...)
		return fmt.Sprint(n), err
	})
}

func (s *stage) erase(t *rapid.T) {
	keys := drawKeys(t, 2)
	sealed := false
	s.same(t, fmt.Sprintf("erase %q", keys), func(b store.Boards) (string, error) {
		n, err := b.Erase(t.Context(), s.name, keys...)
		info, _ := b.Info(t.Context(), s.name)
		sealed = info.Sealed
		return fmt.Sprint(n), err
	})
	if sealed {
		s.walks = nil // they may have ended, or not
	}
}

func (s *stage) hide(t *rapid.T) {
	hidden, keys := rapid.IntRange(0, 2).Draw(t, "hide") > 0, drawKeys(t, 3)
	s.same(t, fmt.Sprintf("hide %v %q", hidden, keys), func(b store.Boards) (string, error) {
		n, err := b.Hide(t.Context(), s.name, hidden, keys...)
		return fmt.Sprint(n), err
	})
}

// walk begins a walk, or goes on with one.
func (s *stage) walk(t *rapid.T) {
	size, at := rapid.IntRange(1, 4).Draw(t, "size"), rapid.IntRange(0, 4).Draw(t, "walk")
	if at >= len(s.walks) {
		at = len(s.walks)
		s.walks = append(s.walks, make([]store.Cursor, len(s.boards)))
	}
	engine := -1
	s.same(t, fmt.Sprintf("walk %d by %d", at, size), func(b store.Boards) (string, error) {
		engine++
		page, next, err := b.Walk(t.Context(), s.name, s.walks[at][engine], size)
		s.walks[at][engine] = next
		return fmt.Sprintf("%s seen %d of %d done %v", pageText(page), next.Seen, next.Total, next.Done()), err
	})
}

func (s *stage) page(t *rapid.T) {
	offset, limit := rapid.OneOf(rapid.Int64Range(0, 9), rapid.Just[int64](math.MaxInt64)).Draw(t, "offset"), rapid.IntRange(0, 12).Draw(t, "limit")
	mode := rapid.SampledFrom([]store.RankMode{store.Ordinal, store.Competition, store.Dense}).Draw(t, "mode")
	s.same(t, fmt.Sprintf("page at %d of %d, %v", offset, limit, mode), func(b store.Boards) (string, error) {
		page, err := b.Page(t.Context(), s.name, offset, limit, mode)
		return pageText(page), err
	})
}

// look makes the reads about one key.
func (s *stage) look(t *rapid.T) {
	key, n := drawKeys(t, 1)[0], rapid.IntRange(0, 4).Draw(t, "reach")
	mode := rapid.SampledFrom([]store.RankMode{store.Ordinal, store.Competition, store.Dense}).Draw(t, "mode")
	s.same(t, fmt.Sprintf("standing of %s, %v", key, mode), func(b store.Boards) (string, error) {
		one, ok, err := b.Standing(t.Context(), s.name, key, mode)
		return fmt.Sprintf("%v %s", ok, standingText(one, orderOf(one.Sequence))), err
	})
	s.same(t, fmt.Sprintf("%d around %s, %v", n, key, mode), func(b store.Boards) (string, error) {
		page, err := b.Around(t.Context(), s.name, key, n, mode)
		return pageText(page), err
	})
	keys := drawKeys(t, 4)
	s.same(t, fmt.Sprintf("scores of %q", keys), func(b store.Boards) (string, error) {
		found, err := b.Scores(t.Context(), s.name, keys...)
		text := ""
		for _, key := range slices.Sorted(slices.Values(keys)) {
			e, has := found[key]
			text += fmt.Sprintf("%s %v %d %q %v, ", key, has, e.Score, e.Meta, e.Meta == nil)
		}
		return fmt.Sprint(len(found), text), err
	})
	s.same(t, "hidden after "+key, func(b store.Boards) (string, error) {
		page, err := b.Hidden(t.Context(), s.name, key, n)
		return hiddenText(page), err
	})
}

func (s *stage) check(t *rapid.T) {
	repair := rapid.Bool().Draw(t, "repair")
	s.same(t, fmt.Sprintf("check, repair %v", repair), func(b store.Boards) (string, error) {
		c, err := b.Check(t.Context(), s.name, repair)
		return fmt.Sprint(c.Entries, c.Problems, c.Repaired), err
	})
}

// end seals the board now and then, or drops it and makes it anew.
func (s *stage) end(t *rapid.T, order store.Order) {
	switch rapid.IntRange(0, 11).Draw(t, "really") {
	case 0:
		s.same(t, "seal", func(b store.Boards) (string, error) {
			info, err := b.Seal(t.Context(), s.name)
			return infoText(info), err
		})
	case 1:
		s.walks = nil
		s.same(t, "drop", func(b store.Boards) (string, error) { return "", b.Drop(t.Context(), s.name) })
		s.merge(t)
		s.look(t)
		s.create(t, order)
	case 2:
		s.create(t, rapid.SampledFrom([]store.Order{store.Descending, store.Ascending}).Draw(t, "order"))
	}
}

// whole compares all there is.
func (s *stage) whole(t *rapid.T) {
	s.same(t, "info", func(b store.Boards) (string, error) {
		info, err := b.Info(t.Context(), s.name)
		return infoText(info), err
	})
	s.same(t, "the whole board", func(b store.Boards) (string, error) {
		page, err := b.Page(t.Context(), s.name, 0, store.MaxPage, store.Ordinal)
		return pageText(page), err
	})
	s.same(t, "the hidden keys", func(b store.Boards) (string, error) {
		page, err := b.Hidden(t.Context(), s.name, "", store.MaxPage)
		return hiddenText(page), err
	})
	s.same(t, "the list", func(b store.Boards) (string, error) {
		names, err := b.List(t.Context(), s.name, "", store.MaxPage)
		return strings.Join(names, " "), err
	})
}

func infoText(i store.BoardInfo) string {
	return fmt.Sprintf("%v %s count %d hidden %d sealed %v", i.Order, i.Generation, i.Count, i.Hidden, i.Sealed)
}

func pageText(p store.Page) string {
	numbers := make([]uint64, len(p.Entries))
	for i, s := range p.Entries {
		numbers[i] = s.Sequence
	}
	o := orderOf(numbers...)
	text := fmt.Sprintf("offset %d total %d (%s)", p.Offset, p.Total, infoText(p.Info))
	for _, s := range p.Entries {
		text += "\n" + standingText(s, o)
	}
	return text
}

func standingText(s store.Standing, o order) string {
	return fmt.Sprintf("%d. %s %d %q %v %s", s.Rank, s.Key, s.Score, s.Meta, s.Meta == nil, o.of(s.Sequence))
}

func hiddenText(page []store.HiddenEntry) (text string) {
	numbers := make([]uint64, len(page))
	for i, h := range page {
		numbers[i] = h.Sequence
	}
	o := orderOf(numbers...)
	for _, h := range page {
		text += fmt.Sprintf("%s %v %d %q %s\n", h.Key, h.Scored, h.Score, h.Meta, o.of(h.Sequence))
	}
	return text
}
