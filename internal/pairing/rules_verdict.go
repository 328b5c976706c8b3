package pairing

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrRefused tells that the fast part that was given is not the fleet's. The text says what
// was expected, what was given, and what to do.
var ErrRefused = errors.New("the parts given are not those of the fleet")

// verdict is what becomes of an opening.
type verdict uint8

const (
	refuse  verdict = iota + 1
	fine            // both parts say the same
	create          // nobody has opened this store before
	restore         // the fast part has lost its memory: the sign is written again
	ask             // it has, or it is the wrong one: those who are alive know
)

// judge decides whether the parts that were given belong together: m is the mark of the durable
// part, nil when there is none, s the sign of the fast part. The error is that of refuse.
func judge(m *Mark, s *Sign, g Given) (verdict, error) {
	switch {
	case m == nil && s == nil:
		return create, nil
	case m == nil:
		return refuse, refused("%s belongs to another store, and this one has never been opened with it", g.fastPart())
	case m.Apart && !g.Apart:
		return refuse, refused("the fleet keeps beats, journals and boards in a fast part of its own, %s, since %s; none was given (--fast, SHOAL_FAST)", m.fastPart(), m.since())
	case !m.Apart && g.Apart:
		return refuse, refused("the fleet has one engine for all parts, since %s; %s was given as the fast part", m.since(), g.Place)
	case m.Space != g.Space:
		return refuse, refused("the fast part of the fleet is %s, since %s; %s was given, which is %s", m.fastPart(), m.since(), g.Place, g.Space)
	case m.Bus != g.Bus:
		return refuse, refused("%s since %s; %s", busOf(m.Bus, "the fleet has"), m.since(), busOf(g.Bus, "this address has"))
	case s != nil && s.ID == m.ID:
		return fine, nil
	case s != nil && !slices.Contains(m.Before, s.ID):
		return refuse, refused("%s belongs to another store: its sign is %s, and %s was expected since %s", g.fastPart(), s.ID, m.ID, m.since())
	case g.Apart:
		return ask, nil
	}
	return restore, nil
}

// advice ends every refusal.
const advice = "Processes of one fleet that differ in this do not see each other's beats or messages, and take over sessions that are alive. " +
	"Give the addresses that the fleet has; to change them, end the whole fleet and run shoal store pair with the new ones"

func refused(text string, args ...any) error {
	return fmt.Errorf("%w: %s. %s", ErrRefused, fmt.Sprintf(text, args...), advice)
}

func (m *Mark) since() string { return m.Since.UTC().Format(time.RFC3339) }

func (m *Mark) fastPart() string { return fmt.Sprintf("%s (%s)", m.Place, m.Space) }

func (g Given) fastPart() string {
	if !g.Apart {
		return "the live part of this engine"
	}
	return "the fast part " + g.Place
}

// busOf says in words of addresses how messages go.
func busOf(bus, who string) string {
	switch bus {
	case "poll":
		return who + " pooler=transaction, with which messages are polled for"
	case "listen":
		return who + " no pooler=transaction, and messages go by LISTEN and NOTIFY"
	}
	return who + " a bus of another engine"
}

// maxBefore is how many earlier ids a mark keeps. A fast part that comes back with an older one
// is taken for that of another store.
const maxBefore = 16

// next is the mark of the next life, as g has it.
func (m *Mark) next(id string, g Given, now time.Time) *Mark {
	out := &Mark{Format: format, ID: id, Apart: g.Apart, Space: g.Space, Place: g.Place, Bus: g.Bus, Since: now.UTC().Truncate(time.Second)}
	if m == nil {
		return out
	}
	out.Before = m.Before
	if id != m.ID {
		out.Before = append([]string{m.ID}, m.Before...)
	}
	out.Before = out.Before[:min(len(out.Before), maxBefore)]
	return out
}
