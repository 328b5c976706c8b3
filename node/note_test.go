package node_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

var note = node.Note{Kind: node.NoteAsk, Set: "players", Key: "u_42", Token: "tok", Node: "b-1", For: "old", Accepted: true}

func TestNoteRoundTrip(t *testing.T) {
	rec := store.Record{Key: node.NoteKey("a-1", "players", "u_42"), Value: note.Encode(), Version: 7}
	got, err := node.DecodeNote(rec)
	want := note
	want.Version = 7
	if err != nil || got != want {
		t.Fatalf("%v, %v; diff %s", got, err, cmp.Diff(want, got))
	}
}

func TestNoteRefusesWhatIsNone(t *testing.T) {
	key := node.NoteKey("a-1", "players", "u_42")
	for value, want := range map[string]string{
		``:   "is not a note",
		`[]`: "is not a note",
		`{}`: "format 0 is unknown",
		`{"format":2,"kind":"ask","set":"players","key":"u_42","node":"b"}`: "format 2 is unknown",
		`{"format":1,"kind":"ask","set":"players","node":"b"}`:              "kind, set, key and node expected",
		`{"format":1,"kind":"ask","set":"players","key":"u_43","node":"b"}`: "is about players/u_43",
	} {
		_, err := node.DecodeNote(store.Record{Key: key, Value: []byte(value)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v, want it to name the key and say %q", value, err, want)
		}
	}
}

func FuzzDecodeNote(f *testing.F) {
	f.Add(note.Encode())
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		n, err := node.DecodeNote(store.Record{Key: "note/a/players/u_42", Value: value, Version: 3})
		if err != nil {
			return
		}
		again, err := node.DecodeNote(store.Record{Key: "note/a/players/u_42", Value: n.Encode(), Version: 3})
		if err != nil || again != n {
			t.Fatalf("%v became %v, %v", n, again, err)
		}
	})
}
