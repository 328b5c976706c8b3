package faultstore

import (
	"fmt"
	"strings"
	"time"
)

// Part names the parts of a store. Parts combine with |.
type Part uint8

// The parts. A store with one record map has Durable only.
const (
	Durable Part = 1 << iota
	Fast
	Boards
	Bus
)

// All is every part.
const All = Durable | Fast | Boards | Bus

// String is the parts, joined with "+".
func (p Part) String() string {
	var names []string
	for i, name := range []string{"durable", "fast", "boards", "bus"} {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}

// Call is one call of a part, or one transaction of a Commit.
type Call struct {
	N     uint64   // 1, 2, 3, … in the order in which the calls of this process come
	Part  Part     // one part
	Op    string   // "get", "scan", "commit", "now", "create", "merge", "page", …, "publish", "subscribe", "deliver"
	Keys  []string // the keys of the records, the board, or the topic
	Write bool     // it changes something, so that its outcome can be unknown
}

// shownKeys is how many keys of a call are printed.
const shownKeys = 4

// String is the call in one line: "#12 fast commit note/a".
func (c Call) String() string {
	keys := c.Keys
	more := ""
	if len(keys) > shownKeys {
		keys, more = keys[:shownKeys], fmt.Sprintf(" and %d more", len(keys)-shownKeys)
	}
	return strings.TrimRight(fmt.Sprintf("#%d %s %s %s", c.N, c.Part, c.Op, strings.Join(keys, " ")), " ") + more
}

// Kind is what happens to a call.
type Kind uint8

// The kinds.
const (
	// Pass hands the call to the driver and its answer back.
	Pass Kind = iota
	// FailBefore answers store.ErrUnavailable; the driver never sees the call.
	FailBefore
	// FailAfter hands the call to the driver, and loses the answer.
	FailAfter
	// Late answers like FailAfter at once; the driver sees the call later (see Fault.After).
	// A message is published late and answered nil.
	Late
	// Hang answers when the context ends; the driver never sees the call.
	Hang
	// HangApplied hands the call to the driver, and then answers when the context ends.
	HangApplied
	// Crash ends the process at this call, which the driver never sees.
	Crash
	// CrashAfter hands the call to the driver, and ends the process before the answer.
	CrashAfter
	// Lose answers nil and loses the message. To anything but a message it is FailBefore.
	Lose
	// Twice sends the message twice. To anything but a message it is Pass.
	Twice
)

// String is the kind in words.
func (k Kind) String() string {
	switch k {
	case Pass:
		return "pass"
	case FailBefore:
		return "fail before"
	case FailAfter:
		return "fail after"
	case Late:
		return "late"
	case Hang:
		return "hang"
	case HangApplied:
		return "hang applied"
	case Crash:
		return "crash"
	case CrashAfter:
		return "crash after"
	case Lose:
		return "lose"
	case Twice:
		return "twice"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Fault is what happens to one call. The zero Fault is none.
type Fault struct {
	Kind Kind
	// Delay is the time on the way to the driver. When the context ends meanwhile the
	// driver does not see the call, and the caller cannot know.
	Delay time.Duration
	// Back is the time of the answer on its way to the caller.
	Back time.Duration
	// After is when a Late call lands, counted from its answer. Default 0: it is held until
	// [Faults.Land].
	After time.Duration
}

// String is the fault in words, with its times.
func (f Fault) String() string {
	text := f.Kind.String()
	for _, d := range []struct {
		name string
		time time.Duration
	}{{"delay", f.Delay}, {"back", f.Back}, {"after", f.After}} {
		if d.time > 0 {
			text += fmt.Sprintf(" %s=%s", d.name, d.time)
		}
	}
	return text
}

// forMessage is the fault as a message meets it, and as every other call does.
func (f Fault) forMessage(message bool) Fault {
	if !message {
		switch f.Kind {
		case Lose:
			f.Kind = FailBefore
		case Twice:
			f.Kind = Pass
		case Pass, FailBefore, FailAfter, Late, Hang, HangApplied, Crash, CrashAfter:
		}
	}
	return f
}
