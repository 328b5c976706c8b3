package redisstore

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
)

func frameOf(version uint64, seconds, micros uint32, value string) string {
	b := binary.BigEndian.AppendUint64(nil, version)
	b = binary.BigEndian.AppendUint32(b, seconds)
	return string(binary.BigEndian.AppendUint32(b, micros)) + value
}

func TestFrames(t *testing.T) {
	now := momentOf(1_800_000_000, 250_000)
	for name, c := range map[string]struct {
		frame string
		age   time.Duration
	}{
		"of now":                        {frameOf(7, 1_800_000_000, 250_000, "v"), 0},
		"of a second and a quarter ago": {frameOf(7, 1_799_999_999, 0, "v"), 1250 * time.Millisecond},
		"of a clock that was set back":  {frameOf(7, 1_800_000_005, 0, "v"), 0},
		"of the last second of 32 bits": {frameOf(7, 1<<32-1, 999_999, "v"), 0},
		"of a microsecond ago":          {frameOf(7, 1_800_000_000, 249_999, "v"), time.Microsecond},
		"of the largest version":        {frameOf(1<<63-1, 1_800_000_000, 250_000, "v"), 0},
	} {
		rec, err := decodeFrame("k", c.frame, now)
		if err != nil || rec.Age != c.age || rec.Key != "k" || string(rec.Value) != "v" || versionBytes(rec.Version) != c.frame[:8] {
			t.Errorf("a frame %s is %+v, %v", name, rec, err)
		}
	}
	if rec, err := decodeFrame("k", frameOf(1, 2, 3, ""), now); err != nil || rec.Value == nil || len(rec.Value) != 0 {
		t.Errorf("an empty value is %+v, %v", rec, err)
	}
	for name, frame := range map[string]string{
		"nothing": "", "a short one": strings.Repeat("x", frameHead-1),
		"version 0": frameOf(0, 1, 1, "v"), "a version of 64 bits": frameOf(1<<63, 1, 1, "v"),
	} {
		if rec, err := decodeFrame("k", frame, now); !errors.Is(err, errFrame) {
			t.Errorf("%s is taken for %+v", name, rec)
		}
	}
	if at := now.utc(); at != time.Date(2027, 1, 15, 8, 0, 0, 250_000_000, time.UTC) {
		t.Errorf("the moment is %v", at)
	}
}

func TestWindows(t *testing.T) {
	for name, c := range map[string]struct {
		rng  store.Range
		want string // from, to; empty when it is refused
	}{
		"a family":               {store.Prefix("note/"), "[ +"},
		"a holder":               {store.Prefix("note/n1/"), "[n1/ (n10"},
		"from inside to its end": {store.Range{From: "note/n1/x", To: "note0"}, "[n1/x +"},
		"nothing of it":          {store.Range{From: "note/b", To: "note/a"}, "[b (a"},
		"beats":                  {store.Prefix("node/"), "[ +"},
		"everything":             {store.Range{}, ""},
		"open at its end":        {store.Range{From: "note/a"}, ""},
		"open at its start":      {store.Range{To: "note/a"}, ""},
		"two families":           {store.Range{From: "node/a", To: "note/a"}, ""},
		"beyond it":              {store.Range{From: "note/a", To: "note1"}, ""},
		"before it":              {store.Range{From: "note", To: "note/b"}, ""},
		"what is in no family":   {store.Prefix("journal/"), ""},
		"a folder without slash": {store.Prefix("note"), ""},
	} {
		w, ok := windowOf(c.rng)
		got := ""
		if ok {
			got = w.from + " " + w.to
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What nothing may hold up has a lane of its own, and one clock.
func TestFamilies(t *testing.T) {
	for key, want := range map[string]string{
		"node/a": "beats", "mark/a/0": "beats", "note/a/players/u1": "notes", "journaled/a/players/u1": "estates",
		"journal/players/u1": "", "node/": "", "nodes/a": "", "x": "",
	} {
		f, name, ok := familyOf(key)
		if f.tag != want || ok != (want != "") || ok && f.folder+name != key || isBeat(key) != (want == "beats") {
			t.Errorf("%s is %s of family %+v (%v)", key, name, f, ok)
		}
	}
	k := keys{prefix: "p"}
	tags := map[string]string{}
	for _, f := range families() {
		values, order := k.family(f)
		tag := tagOf(t, values)
		if other, known := tags[f.tag]; tag != tagOf(t, order) || known && other != tag {
			t.Errorf("family %+v has keys %s and %s, those of its tag %s", f, values, order, other)
		}
		tags[f.tag] = tag
	}
}

// tagOf is the part of a key that decides its slot.
func tagOf(t *testing.T, key string) string {
	t.Helper()
	_, rest, open := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !open || !closed || tag == "" {
		t.Fatalf("%s has no hash tag", key)
	}
	return tag
}

// A board may be called anything: its keys stay in one slot.
func TestBoardKeysShareASlot(t *testing.T) {
	k := keys{prefix: "p"}
	for _, board := range []string{"best", "{", "}", "{}", "a}b", "a{b}c", "}{"} {
		if a, b := tagOf(t, k.board(board, "order")), tagOf(t, k.board(board, "entries")); a != b {
			t.Errorf("board %s has keys in the slots of %q and %q", board, a, b)
		}
	}
}
