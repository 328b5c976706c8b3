package storetest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/store"
)

// boardsCase is one promise of store.Boards.
type boardsCase struct {
	name string
	run  func(t *testing.T, h Harness[store.Boards])
}

// boardsTopics are the cases by topic.
func boardsTopics() []topic[boardsCase] {
	return []topic[boardsCase]{
		{"rule", ruleCases()},
		{"entry", entryCases()},
		{"order", orderCases()},
		{"around", aroundCases()},
		{"rank", rankCases()},
		{"life", lifeCases()},
		{"list", listCases()},
		{"hide", hideCases()},
		{"walk", walkCases()},
		{"check", boardCheckCases()},
		{"seal", sealCases()},
		{"erase", eraseCases()},
		{"random", randomCases()},
		{"large", largeCases()},
		{"race", boardRaceCases()},
		{"context", boardContextCases()},
		{"close", boardsCloseCases()},
	}
}

// Boards is the specification of a driver of store.Boards. fresh makes a new, empty store
// for one case.
func Boards(t *testing.T, fresh func(t *testing.T) Harness[store.Boards]) {
	for _, topic := range boardsTopics() {
		t.Run(topic.name, func(t *testing.T) {
			for _, c := range topic.cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, fresh(t)) })
			}
		})
	}
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// twin is a board of the driver and a ModelBoard that has seen the same history.
type twin struct {
	boards store.Boards
	name   string
	model  *ModelBoard
	info   store.BoardInfo // the latest
}

// newTwin creates the board, which must not exist.
func newTwin(t tester, b store.Boards, name string, order store.Order) *twin {
	t.Helper()
	spec := store.BoardSpec{Order: order, Generation: "generation/of/" + name[:min(len(name), 40)]}
	info, err := b.Create(t.Context(), name, spec)
	if err != nil {
		t.Fatalf("Create %s: %v", name, err)
	}
	if diff := cmp.Diff(store.BoardInfo{Order: order, Generation: spec.Generation, Sequence: info.Sequence}, info); diff != "" {
		t.Fatalf("a new board (-want +got):\n%s", diff)
	}
	return &twin{boards: b, name: name, model: NewModelBoard(order), info: info}
}

// merge applies the batch to both and compares the answers.
func (w *twin) merge(t tester, batch store.Batch) []store.Change {
	t.Helper()
	wanted, wantErr := w.model.Merge(batch)
	changes, err := w.boards.Merge(t.Context(), w.name, batch)
	wantWord(t, "Merge", err, wantErr)
	if !slices.Equal(wanted, changes) {
		t.Fatalf("changes of %s %+v (-want +got):\n%s", batch.Rule, batch, cmp.Diff(wanted, changes))
	}
	return changes
}

// best, last and sum are merges under one rule.
func (w *twin) best(t tester, entries ...store.Submission) []store.Change {
	t.Helper()
	return w.merge(t, store.Batch{Rule: store.Best, Entries: entries})
}

func (w *twin) last(t tester, entries ...store.Submission) []store.Change {
	t.Helper()
	return w.merge(t, store.Batch{Rule: store.Last, Entries: entries})
}

func (w *twin) sum(t tester, source string, n uint64, entries ...store.Submission) []store.Change {
	t.Helper()
	return w.merge(t, store.Batch{Rule: store.Sum, Source: source, N: n, Entries: entries})
}

// remove removes from both and compares the answers.
func (w *twin) remove(t tester, keys ...string) {
	t.Helper()
	wanted, wantErr := w.model.Remove(keys...)
	n, err := w.boards.Remove(t.Context(), w.name, keys...)
	wantWord(t, "Remove", err, wantErr)
	if n != wanted {
		t.Fatalf("Remove %q = %d, want %d", keys, n, wanted)
	}
}

// erase erases from both and compares the answers.
func (w *twin) erase(t tester, keys ...string) {
	t.Helper()
	wanted := w.model.Erase(keys...)
	n, err := w.boards.Erase(t.Context(), w.name, keys...)
	wantWord(t, "Erase", err, nil)
	if n != wanted {
		t.Fatalf("Erase %q = %d, want %d", keys, n, wanted)
	}
}

// compare reads the whole board in pages and compares it with the model, and the sequence
// with what it was at the last look.
func (w *twin) compare(t tester) []store.Standing {
	t.Helper()
	all, info := wholeBoard(t, w.boards, w.name, store.MaxPage)
	wanted := w.model.Standings()
	if !slices.EqualFunc(wanted, all, alike) {
		t.Fatalf("standings of %s (-want +got):\n%s", w.name, cmp.Diff(wanted, all, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(store.Entry{}, "Sequence")))
	}
	if want, got := bySequence(wanted), bySequence(all); !slices.Equal(want, got) {
		t.Fatalf("keys of %s in the order of their sequence (-want +got):\n%s", w.name, cmp.Diff(want, got))
	}
	was, model := w.info, w.model.Info()
	wantInfo := store.BoardInfo{Order: model.Order, Generation: was.Generation, Count: model.Count, Hidden: model.Hidden, Sequence: info.Sequence, Sealed: model.Sealed}
	if info != wantInfo {
		t.Fatalf("Info of %s = %+v, want %+v", w.name, info, wantInfo)
	}
	for _, s := range all {
		if s.Sequence == 0 || s.Sequence > info.Sequence {
			t.Fatalf("%s has sequence %d, the board has given %d", s.Key, s.Sequence, info.Sequence)
		}
	}
	if info.Sequence < was.Sequence {
		t.Fatalf("the sequence of %s went from %d to %d", w.name, was.Sequence, info.Sequence)
	}
	w.info = info
	return all
}

// alike compares standings but for the numbers of their sequences.
func alike(a, b store.Standing) bool {
	return a.Key == b.Key && a.Score == b.Score && a.Rank == b.Rank && bytes.Equal(a.Meta, b.Meta) && (a.Meta == nil) == (b.Meta == nil)
}

// bySequence is the keys in the order in which their scores were reached.
func bySequence(all []store.Standing) []string {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b store.Standing) int {
		if a.Sequence < b.Sequence {
			return -1
		}
		return 1
	})
	keys := make([]string, len(all))
	for i, s := range all {
		keys[i] = s.Key
	}
	return keys
}

// wholeBoard reads a board that does not change from the first page to the last, and checks that
// the pages are of one state.
func wholeBoard(t tester, b store.Boards, name string, size int) ([]store.Standing, store.BoardInfo) {
	t.Helper()
	var (
		all  []store.Standing
		info store.BoardInfo
	)
	for offset := int64(0); ; offset += int64(size) {
		page, err := b.Page(t.Context(), name, offset, size, store.Ordinal)
		if err != nil {
			t.Fatalf("Page %s: %v", name, err)
		}
		if offset == 0 {
			info = page.Info
		}
		if len(page.Entries) > 0 && page.Offset != offset || len(page.Entries) == 0 && page.Offset != 0 {
			t.Fatalf("page at %d of %s says that it is at %d with %d entries", offset, name, page.Offset, len(page.Entries))
		}
		if page.Info != info || page.Total != info.Count {
			t.Fatalf("page at %d of %s says %+v and total %d, the first one %+v", offset, name, page.Info, page.Total, info)
		}
		all = append(all, page.Entries...)
		if len(page.Entries) < size {
			break
		}
	}
	if int64(len(all)) != info.Count {
		t.Fatalf("the pages of %s hold %d entries, Count is %d", name, len(all), info.Count)
	}
	return all, info
}

// entry is a submission without a stamp.
func entry(key string, score int64) store.Submission {
	return store.Submission{Key: key, Score: score}
}

// stamped is a submission under store.Last.
func stamped(key string, score int64, epoch, revision uint64) store.Submission {
	return store.Submission{Key: key, Score: score, Stamp: store.Stamp{Epoch: epoch, Revision: revision}}
}

// wantWord is want for any tester.
func wantWord(t tester, what string, err, word error) {
	t.Helper()
	if problem := outside(err); problem != "" {
		t.Errorf("%s: %s", what, problem)
	}
	if !isWord(err, word) {
		t.Fatalf("%s = %v, want %v", what, err, word)
	}
}

// keysOf is the keys in the order of the standings, joined.
func keysOf(all []store.Standing) string {
	keys := make([]string, len(all))
	for i, s := range all {
		keys[i] = s.Key
	}
	return strings.Join(keys, " ")
}

// wantOrder fails unless the board's keys are in the order of the words of keys.
func (w *twin) wantOrder(t tester, keys string) {
	t.Helper()
	if got := keysOf(w.compare(t)); got != keys {
		t.Fatalf("order %q, want %q", got, keys)
	}
}
