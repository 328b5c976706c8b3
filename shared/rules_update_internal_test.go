package shared

import (
	"fmt"
	"testing"

	"github.com/shoalworks/shoal/doc"
)

func TestFateOf(t *testing.T) {
	write := sent{base: 10, from: 5, version: 11, id: "me"}
	at := func(revision uint64, ids ...string) record {
		r := record{revision: revision}
		for _, id := range ids {
			r.marks = append(r.marks, mark{id: id, revision: revision})
		}
		return r
	}
	for name, c := range map[string]struct {
		now  reading
		want fate
	}{
		"it is there":                  {reading{version: 11, record: at(6, "me")}, fateDone},
		"others came after it":         {reading{version: 20, record: at(8, "me", "other")}, fateDone},
		"nothing has happened":         {reading{version: 10, record: at(5)}, fateOpen},
		"others came before it":        {reading{version: 20, record: at(6, "other")}, fateNot},
		"as many as are remembered":    {reading{version: 20, record: at(5 + maxAnonymous)}, fateNot},
		"more than are remembered":     {reading{version: 20, record: at(6 + maxAnonymous)}, fateUnknown},
		"the store went back":          {reading{version: 20, record: at(5)}, fateUnknown},
		"the store has lost it":        {reading{}, fateUnknown},
		"somebody put something there": {reading{version: 20, problem: ErrForeign}, fateUnknown},
	} {
		if got := fateOf(write, c.now); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := fateOf(sent{version: 11, id: "me"}, reading{}); got != fateOpen {
		t.Errorf("of a creation: %d, want open", got)
	}
}

func TestMarksAreBounded(t *testing.T) {
	var r record
	for n := range uint64(1000) {
		r.revision = n + 1
		r.marks = r.remembering(mark{id: fmt.Sprint(n), revision: r.revision, own: n%3 != 0})
	}
	named, own := 0, 0
	for _, m := range r.marks {
		if m.own {
			own++
		} else {
			named++
		}
	}
	if named != maxNamed || own > maxAnonymous || own < maxAnonymous/2 {
		t.Errorf("%d named and %d others are remembered", named, own)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"by":{"actor":"a","note":"n"},"commits":[{"digest":"d","id":"x","own":true,"revision":3}],"created":"2026-08-11T12:00:00.000Z","data":{"n":5},"deleted":"2026-08-11T12:00:00.000Z","format":1,"revision":3,"z":[1.0]}`))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decodeRecord(text)
		if err != nil {
			return
		}
		once := r.encode()
		again, err := decodeRecord(once)
		if err != nil {
			t.Fatalf("own encoding refused: %v\n%s", err, once)
		}
		if twice := again.encode(); string(twice) != string(once) || !doc.Value.Equal(again.data, r.data) {
			t.Fatalf("encodings differ\n%s\n%s", once, twice)
		}
	})
}
