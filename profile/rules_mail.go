package profile

import (
	"errors"
	"fmt"
	"time"
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
)

// recentlyHandled is what is still to be remembered. The list is in the order in which mail
// was dealt with; it is not changed in place.
func recentlyHandled(list []handled, now time.Time) []handled {
	n := 0
	for n < len(list) && now.Sub(list[n].at) > MailMemory {
		n++
	}
	return list[n:]
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
