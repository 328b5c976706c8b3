package node

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/shoalworks/shoal/store"
)

// noteFormat is the version of a note's form.
const noteFormat = 1

// NoteKind is what a note says.
type NoteKind string

// The kinds of notes. Granted and handled only travel on the bus.
const (
	NoteAsk     NoteKind = "ask"     // somebody asks for a profile that the node holds
	NoteMail    NoteKind = "mail"    // there is mail for a profile that the node holds
	NoteTaken   NoteKind = "taken"   // the session has been taken over
	NoteGranted NoteKind = "granted" // the profile asked for is yours
	NoteHandled NoteKind = "handled" // mail of yours was dealt with
)

// Note is a message to a node about one profile: left in the fast store, or sent on the bus.
type Note struct {
	Kind  NoteKind
	Set   string // the set of the profile
	Key   string // the profile's key
	Token string // of the sender's load (ask, taken, granted)
	Node  string // the sender
	For   string // the session token that the note is about; one for another session is void
	// Accepted is written by the holder, once, before a final save that has to wait.
	Accepted bool

	Version store.Version // as read from the store; 0 for a message or a note not yet written
	Age     time.Duration // as read from the store; 0 for a message
}

// noteForm is the stored form. Unknown members are ignored, so that a later release may add
// some; another format is not.
type noteForm struct {
	Format   int      `json:"format"`
	Kind     NoteKind `json:"kind"`
	Set      string   `json:"set"`
	Key      string   `json:"key"`
	Token    string   `json:"token,omitempty"`
	Node     string   `json:"node"`
	For      string   `json:"for,omitempty"`
	Accepted bool     `json:"accepted,omitempty"`
}

// NoteKey is where a note about set/key waits for holder: asks and what comes of them.
func NoteKey(holder, set, key string) string {
	return notePrefix(holder) + set + "/" + key
}

// mailMark ends the key of a note about mail: it must not take the place of an ask. A
// profile's key has no slash.
const mailMark = "/mail"

// StoreKey is where the note waits for holder.
func (n Note) StoreKey(holder string) string {
	k := NoteKey(holder, n.Set, n.Key)
	if n.Kind == NoteMail {
		k += mailMark
	}
	return k
}

const noteFolder = "note/"

func notePrefix(holder string) string { return noteFolder + holder + "/" }

// Encode is the stored form of the note, JSON.
func (n Note) Encode() []byte {
	b, err := json.Marshal(noteForm{noteFormat, n.Kind, n.Set, n.Key, n.Token, n.Node, n.For, n.Accepted})
	if err != nil {
		panic("node: a note of strings does not encode: " + err.Error())
	}
	return b
}

// DecodeNote reads a note from its record. The record's key must be the note's own.
func DecodeNote(r store.Record) (Note, error) {
	n, err := decodeNote(r.Value)
	if err != nil {
		return Note{}, fmt.Errorf("node: note %s: %w", r.Key, err)
	}
	if _, at, _ := strings.Cut(strings.TrimPrefix(r.Key, noteFolder), "/"); n.StoreKey("") != notePrefix("")+at {
		return Note{}, fmt.Errorf("node: note %s: is about %s/%s, kind %s", r.Key, n.Set, n.Key, n.Kind)
	}
	n.Version, n.Age = r.Version, r.Age
	return n, nil
}

func decodeNote(value []byte) (Note, error) {
	var f noteForm
	if err := json.Unmarshal(value, &f); err != nil {
		return Note{}, fmt.Errorf("is not a note: %w", err)
	}
	switch {
	case f.Format != noteFormat:
		return Note{}, fmt.Errorf("format %d is unknown, %d expected", f.Format, noteFormat)
	case f.Kind == "" || f.Set == "" || f.Key == "" || f.Node == "":
		return Note{}, fmt.Errorf("kind, set, key and node expected, got %q", value)
	}
	return Note{Kind: f.Kind, Set: f.Set, Key: f.Key, Token: f.Token, Node: f.Node, For: f.For, Accepted: f.Accepted}, nil
}
