package board

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/shoalworks/shoal/store"
)

// This file says what the durable records hold of moderation, and what follows from them,
// without I/O.
//
// The records are the truth and the boards follow: a key is hidden on a board if it is
// banned, or if it was hidden there by hand. So a ban and a hide of the same key never undo
// each other.

const (
	banFolder   = "ban/"            // <key>: banForm
	handFolder  = "boardhide/"      // <key>: handForm
	markFolder  = "boardmark/"      // <kind>/<key>: markForm
	auditFolder = "boardaudit/"     // <time, the newest first>: AuditEntry
	formatNow   = 1                 // of each of these
	mostHides   = 4 * store.MaxPage // boards that one key is hidden on by hand
)

// banForm is the record of a ban. One that was lifted stays for a while, so that a write that
// comes late finds the key taken.
type banForm struct {
	Format int       `json:"format"`
	ID     string    `json:"id"`
	At     time.Time `json:"at"` // fleet time
	Actor  string    `json:"actor,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Lifted bool      `json:"lifted,omitempty"`
	Erased bool      `json:"erased,omitempty"` // the person was erased; who and why are gone
}

// handForm is what was hidden by hand of one key, by board.
type handForm struct {
	Format int                 `json:"format"`
	Boards map[string]handHide `json:"boards"`
}

// handHide is the last word about a key on one board. One that says shown stays for a while.
type handHide struct {
	Hidden     bool      `json:"hidden"`
	Generation string    `json:"generation,omitempty"` // of the board; made anew it begins without hides
	At         time.Time `json:"at"`
}

// markForm marks a key whose moderation has changed of late, or is not carried out yet. It is
// written together with the change, and somebody carries it out once more before it goes.
type markForm struct {
	Done bool `json:"done"` // the boards have followed once
}

// markKind is what a mark is about: on which boards the key is looked after.
type markKind string

const (
	markBan  markKind = "ban"  // all
	markHand markKind = "hide" // those of the key's handForm
)

func banKey(key string) string  { return banFolder + key }
func handKey(key string) string { return handFolder + key }

func (k markKind) folder() string              { return markFolder + string(k) + "/" }
func (k markKind) of(key string) string        { return k.folder() + key }
func (k markKind) marked(record string) string { return strings.TrimPrefix(record, k.folder()) }

// intent is what the records say of a key.
type intent struct {
	ban         banForm
	hand        handForm
	banVersion  store.Version // 0: no record
	handVersion store.Version
}

// readIntent reads the two records of a key.
func readIntent(ban, hand store.Record) (intent, error) {
	in := intent{banVersion: ban.Version, handVersion: hand.Version}
	if !ban.Missing() {
		if err := readForm(ban, &in.ban, &in.ban.Format); err != nil {
			return in, err
		}
	}
	if !hand.Missing() {
		if err := readForm(hand, &in.hand, &in.hand.Format); err != nil {
			return in, err
		}
	}
	return in, nil
}

// readForm reads a record of this package. One of a later release is not guessed at.
func readForm(rec store.Record, into any, format *int) error {
	if err := json.Unmarshal(rec.Value, into); err != nil {
		return fmt.Errorf("%s: %w", rec.Key, err)
	}
	if *format != formatNow {
		return fmt.Errorf("%s: format %d expected, got %d", rec.Key, formatNow, *format)
	}
	return nil
}

// form is the bytes of a record.
func form(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("board: %T cannot be written: %v", v, err)) // it is made of words, numbers and times
	}
	return text
}

// banned tells whether the key is hidden on every board.
func (in intent) banned() bool { return in.banVersion != 0 && !in.ban.Lifted }

// hidden tells whether the key is hidden on a board of that generation.
func (in intent) hidden(board, generation string) bool {
	h := in.hand.Boards[board]
	return in.banned() || h.Hidden && h.Generation == generation
}

// depends tells whether the board's generation decides.
func (in intent) depends(board string) bool { return !in.banned() && in.hand.Boards[board].Hidden }

// same tells whether nothing was written between two readings.
func (in intent) same(other intent) bool {
	return in.banVersion == other.banVersion && in.handVersion == other.handVersion
}

// with is the form after a word about a board. It is false when there are too many.
func (f handForm) with(board string, h handHide) (handForm, bool) {
	out := handForm{Format: formatNow, Boards: maps.Clone(f.Boards)}
	if out.Boards == nil {
		out.Boards = make(map[string]handHide, 1)
	}
	out.Boards[board] = h
	return out, len(out.Boards) <= mostHides
}

// settled is the form without the words that hide nothing; empty tells that none is left.
func (f handForm) settled() (out handForm, empty bool) {
	out = handForm{Format: formatNow, Boards: make(map[string]handHide)}
	for board, h := range f.Boards {
		if h.Hidden {
			out.Boards[board] = h
		}
	}
	return out, len(out.Boards) == 0
}

const (
	// markedFor is how long a mark stays unmoved before the boards have followed once more
	// and it goes: longer than any write is under way.
	markedFor = 10 * time.Minute
	// lookEvery is how often a service with something to write looks at the marks, and how
	// long one that moderates is left alone with its work.
	lookEvery = time.Minute
	// trustFor is how long the list of bans can be kept current by the marks alone: half of
	// what they stay.
	trustFor = markedFor / 2
	// wholeEvery is how often the list is read as a whole.
	wholeEvery = time.Hour
)

// sight is since when a mark was seen unmoved, by the local clock.
type sight struct {
	version store.Version
	since   time.Duration
	done    bool
}

// due tells whether the boards are to follow a mark now, and whether it goes then.
func (v sight) due(now time.Duration) (follow, last bool) {
	age := now - v.since
	return age >= markedFor || !v.done && age >= lookEvery, age >= markedFor
}
