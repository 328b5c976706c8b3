package server

import (
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
)

// A kept answer serves as long as its page is the same. When it is old, one caller makes the
// next one, and the others are served meanwhile.
func TestAnOldAnswerIsRenewedByOne(t *testing.T) {
	made := time.Date(2026, 8, 11, 0, 0, 0, 0, time.UTC)
	page := store.Page{Entries: make([]store.Standing, 2), Total: 2}
	f := &pageForm{page: page, made: made}
	if !f.fresh(page, made.Add(formFor-1)) {
		t.Error("a young answer of the same page is refused")
	}
	for name, other := range map[string]store.Page{
		"other entries": {Entries: make([]store.Standing, 2), Total: 2},
		"fewer entries": {Entries: page.Entries[:1], Total: 2},
		"another total": {Entries: page.Entries, Total: 3},
		"a seal":        {Entries: page.Entries, Total: 2, Info: store.BoardInfo{Sealed: true}},
		"nothing":       {},
	} {
		if f.fresh(other, made) {
			t.Errorf("%s: the answer of another page serves", name)
		}
	}
	if f.fresh(page, made.Add(formFor)) || !f.fresh(page, made.Add(formFor)) || !f.fresh(page, made.Add(time.Hour)) {
		t.Error("an old answer is to be renewed by one caller, and to serve the others")
	}
	if (*pageForm)(nil).fresh(page, made) {
		t.Error("no answer is fresh")
	}
}
