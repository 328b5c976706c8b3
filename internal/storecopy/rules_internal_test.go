package storecopy

import (
	"slices"
	"testing"

	"github.com/shoalworks/shoal/store"
)

// Every case of a key, by what the two stores and the ledger say.
func TestJudge(t *testing.T) {
	const none, a, b = store.Version(0), store.Version(7), store.Version(8)
	never, ours, landed, oursLoose := known{}, known{ours: true, settled: true}, known{settled: true}, known{ours: true}
	for _, c := range []struct {
		what           string
		source, target store.Version
		held           bool
		k              known
		want           verdict
	}{
		{"new", a, none, false, never, put},
		{"new and held", a, none, true, never, leave},
		{"copied", a, a, false, ours, keep},
		{"copied by other means", a, a, false, never, adopt},
		{"changed since", b, a, false, ours, put},
		{"changed since, the copy may not have landed", b, a, false, oursLoose, put},
		{"changed since, and held", b, a, true, ours, leave},
		{"another's", a, b, false, never, conflict},
		{"copied, then another's", a, b, false, landed, conflict},
		{"copied, then removed", a, none, false, landed, removed},
		{"the copy did not land", a, none, false, never, put},
		{"removed from the source", none, a, false, ours, gone},
		{"removed from the source, then another's", none, b, false, landed, foreign},
		{"never there", none, b, false, never, foreign},
	} {
		if got := judge(c.source, c.target, c.held, c.k); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}

func TestJudgeBoard(t *testing.T) {
	source := store.BoardInfo{Generation: "g", Sequence: 10}
	there := store.BoardInfo{Generation: "g", Sequence: 4}
	mark := boardMark{Generation: "g", Source: 10, Target: 4, Done: true}
	with := func(change func(s, t *store.BoardInfo, m *boardMark)) (store.BoardInfo, *store.BoardInfo, *boardMark) {
		s, t, m := source, there, mark
		change(&s, &t, &m)
		return s, &t, &m
	}
	for _, c := range []struct {
		what   string
		change func(s, t *store.BoardInfo, m *boardMark)
		want   boardVerdict
	}{
		{"copied", func(_, _ *store.BoardInfo, _ *boardMark) {}, boardSame},
		{"the source went on", func(s, _ *store.BoardInfo, _ *boardMark) { s.Sequence++ }, boardCopy},
		{"the source was sealed", func(s, _ *store.BoardInfo, _ *boardMark) { s.Sealed = true }, boardCopy},
		{"the source was made anew", func(s, _ *store.BoardInfo, _ *boardMark) { s.Generation = "h" }, boardCopy},
		{"the target was written", func(_, t *store.BoardInfo, _ *boardMark) { t.Sequence++ }, boardConflict},
		{"the target was sealed", func(_, t *store.BoardInfo, _ *boardMark) { t.Sealed = true }, boardConflict},
		{"the target was made anew", func(_, t *store.BoardInfo, _ *boardMark) { t.Generation = "h" }, boardConflict},
		{"both went on", func(s, t *store.BoardInfo, _ *boardMark) { s.Sequence++; t.Sequence++ }, boardConflict},
		{"cut in the middle", func(_, t *store.BoardInfo, m *boardMark) { m.Done = false; t.Sequence = 2 }, boardCopy},
	} {
		if got := judgeBoard(with(c.change)); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
	if got := judgeBoard(source, nil, &mark); got != boardRemoved {
		t.Errorf("dropped from the target: %d", got)
	}
	if got := judgeBoard(source, nil, nil); got != boardCopy {
		t.Errorf("new: %d", got)
	}
	if got := judgeBoard(source, &there, nil); got != boardCompare {
		t.Errorf("unknown: %d", got)
	}
}

func TestHolders(t *testing.T) {
	for value, want := range map[string]string{
		`{"format":1,"data":{}}`: "", `{"format":1,"session":null}`: "", `not JSON`: "",
		`{"format":1,"session":{"token":"x","node":"eu-1"}}`: "eu-1",
		`{"format":9,"session":[1]}`:                         "a node that it does not name",
	} {
		if got := holderOf("profile/players/u", []byte(value)); got != want {
			t.Errorf("%s is held by %q, want %q", value, got, want)
		}
	}
	if got := holderOf("shared/guilds/g", []byte(`{"session":{"node":"x"}}`)); got != "" {
		t.Errorf("a shared document is held by %q", got)
	}
}

// Hidden entries are woven into the walk where their scores and sequences put them.
func TestHiddenEntriesAreWovenIn(t *testing.T) {
	at := func(key string, score int64, sequence uint64) store.Entry {
		return store.Entry{Key: key, Score: score, Sequence: sequence}
	}
	h := &hidden{keys: map[string]bool{"x": true, "y": true, "z": true}, entries: []store.Entry{at("z", 1, 9), at("y", 5, 3), at("x", 9, 1)}}
	h.sorted(store.Descending)
	page := func(entries ...store.Entry) (out []store.Standing) {
		for _, e := range entries {
			out = append(out, store.Standing{Entry: e})
		}
		return out
	}
	var got []string
	for i, p := range [][]store.Standing{page(at("a", 5, 2), at("b", 5, 4)), page(at("x", 4, 8), at("c", 3, 5))} {
		for _, e := range h.woven(store.Descending, p, i == 1) {
			got = append(got, e.Key)
		}
	}
	if want := []string{"x", "a", "y", "b", "c", "z"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
