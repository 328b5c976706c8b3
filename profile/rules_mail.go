package profile

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/store"
)

// This file holds the rules of what a profile remembers of its mail (PROTOCOL.md B5): pure,
// without I/O, clock or chance.

const (
	// MailMemory is how long a profile remembers the ids of the mail that it has dealt with:
	// one that arrives again within it has no effect.
	MailMemory = 24 * time.Hour
	// maxHandled bounds the ids that are remembered. While so many came within MailMemory,
	// more mail waits in its box: an id is never forgotten early.
	maxHandled = 4096
	// maxReasons is for how many of them a profile remembers why they were refused.
	maxReasons = 64
	// refusedLongAgo stands for a reason that is forgotten.
	refusedLongAgo = "refused"
)

// recentlyHandled is what is still to be remembered. The list is in the order in which mail
// was dealt with; it is not changed in place. What is older may be forgotten only when the
// whole box has been looked through since: a row that came late would have its effect again.
func recentlyHandled(list []handled, now time.Time) []handled {
	n := 0
	for n < len(list) && now.Sub(list[n].at) > MailMemory {
		n++
	}
	return list[n:]
}

// withHandled is the list with one more. Of the reasons only the newest maxReasons are kept:
// they are other people's words, and part of every record that is written.
func withHandled(list []handled, h handled) []handled {
	out := append(slices.Clip(list), h)
	reasons := 0
	for i := len(out) - 1; i >= 0 && h.refused != ""; i-- {
		if out[i].refused == "" {
			continue
		}
		if reasons++; reasons > maxReasons {
			out[i].refused = refusedLongAgo
		}
	}
	return out
}

// handledMail finds the mail with this id among those that were dealt with.
func handledMail(list []handled, id string) (handled, bool) {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].id == id {
			return list[i], true
		}
	}
	return handled{}, false
}

// errHandled tells that the mail was dealt with before.
var errHandled = errors.New("profile: the mail was dealt with before")

// mayHandle refuses mail that was dealt with before, and more than can be remembered.
func mayHandle(list []handled, id string) error {
	if _, ok := handledMail(list, id); ok {
		return errHandled
	}
	if len(list) >= maxHandled {
		return fmt.Errorf("%d mails within %v: %w", maxHandled, MailMemory, ErrBusy)
	}
	return nil
}

// sendStep is what a sender does next, from what it has read of the box and the profile.
type sendStep uint8

const (
	sendPut       sendStep = iota + 1 // nothing is known of it: put it into the box
	sendDelivered                     // it is in the box
	sendHandled                       // it was dealt with
	sendTaken                         // other mail has the id
	sendOpaque                        // what has the id is not understood
	sendNowhere                       // there is no such profile
)

// sendStepOf decides. A row that is not there proves nothing about a put whose answer was
// lost; but to put it again is safe as long as the profile remembers the id.
func sendStepOf(row mailReading, r reading, l letter) sendStep {
	switch {
	case row.version != 0 && row.problem != nil:
		return sendOpaque
	case row.version != 0 && row.letter.digest != l.digest:
		return sendTaken
	case row.version != 0:
		return sendDelivered
	}
	if _, ok := handledMail(r.record.handled, l.mail.ID); ok {
		return sendHandled
	}
	if !l.mail.AllowMissing && r.problem == nil && (r.missing() || !r.record.erased.IsZero()) {
		return sendNowhere
	}
	return sendPut
}

// boxStep is what a holder does with a row of its box.
type boxStep uint8

const (
	boxHandle boxStep = iota + 1 // deal with it
	boxRemove                    // it was dealt with, and that is stored: remove the row
	boxLeave                     // it is being dealt with
	boxOpaque                    // it is not understood: leave it where it is
	boxFull                      // no more can be remembered now: leave it
)

// boxStepOf decides. stored is what the stored record remembers, all what the session does.
func boxStepOf(row mailReading, stored, all []handled) boxStep {
	id := row.id
	if _, ok := handledMail(stored, id); ok {
		return boxRemove
	}
	if _, ok := handledMail(all, id); ok {
		return boxLeave
	}
	switch {
	case row.problem != nil:
		return boxOpaque
	case len(all) >= maxHandled:
		return boxFull
	}
	return boxHandle
}

const (
	// MaxMailAttempts is how often one session tries to deal with one mail. Then it leaves it
	// in the box for the next session: mail is never dropped.
	MaxMailAttempts = 8

	firstMailBackoff = time.Second
	lastMailBackoff  = time.Minute
)

// mailBackoff is how long mail rests after so many failed attempts.
func mailBackoff(fails int) time.Duration {
	if fails > 6 {
		return lastMailBackoff
	}
	return min(lastMailBackoff, firstMailBackoff<<(fails-1))
}

// mailReading is what one successful read showed of a row of a box.
type mailReading struct {
	id      string        // by its key
	version store.Version // 0: missing
	letter  letter
	problem error // why it could not be read
}

func mailReadingOf(id string, r store.Record) mailReading {
	out := mailReading{id: id, version: r.Version}
	if !r.Missing() {
		out.letter, out.problem = decodeLetter(r.Value)
		if out.problem == nil && out.letter.mail.ID != id {
			out.problem = fmt.Errorf("id: %q expected, got %q", id, out.letter.mail.ID)
		}
	}
	return out
}
