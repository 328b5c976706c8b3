package server

import (
	"unicode/utf8"

	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/profile"
)

// Limits in bytes of what a caller may add to a commit.
const (
	maxNote   = 1024
	maxActor  = 128
	maxID     = 128
	maxRefuse = 1024
)

// sourceReceipt is the kind of changes that a receipt brings, unless the caller says otherwise.
const sourceReceipt profile.SourceKind = "receipt"

// words are what a request says about where its change comes from.
type words struct{ kind, actor, note, id string }

// sourceOf is the source of a change, of the given kind unless the request names another.
func sourceOf(kind profile.SourceKind, w words) (profile.Source, error) {
	for _, t := range []struct {
		field, value string
		most         int
	}{{"note", w.note, maxNote}, {"actor", w.actor, maxActor}, {"id", w.id, maxID}} {
		if err := checkText(t.field, t.value, t.most); err != nil {
			return profile.Source{}, err
		}
	}
	if w.kind != "" {
		kind = profile.SourceKind(w.kind)
		if err := name.CheckName("kind", w.kind); err != nil {
			return profile.Source{}, err
		}
	}
	switch kind {
	case profile.SourceSeason, profile.SourceSystem, profile.SourceMail:
		return profile.Source{}, refuse(badField, "kind", "%q is the library's own", kind)
	}
	return profile.Source{Kind: kind, Actor: w.actor, Note: w.note, ID: w.id}, nil
}

// checkText refuses a text that is too long or no UTF-8.
func checkText(field, text string, most int) error {
	if len(text) > most || !utf8.ValidString(text) {
		return refuse(badField, field, "UTF-8 of at most %d bytes is expected, got %d", most, len(text))
	}
	return nil
}
