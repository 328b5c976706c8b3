package profile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
)

// fullAudit is a queue without room for more, through a revision.
func fullAudit(t *testing.T) (q auditQueue, through uint64) {
	t.Helper()
	for range 20000 {
		through++
		before := len(q.list)
		q.add(large(through))
		if len(q.list) == before {
			return q, through
		}
	}
	t.Fatal("it never fills up")
	return q, 0
}

// large is an entry of much text.
func large(revision uint64) AuditEntry {
	return auditable(Commit{
		Revision: revision, ID: fmt.Sprint(revision), Source: Source{Note: strings.Repeat("n", 500)},
		Edits: []doc.Edit{{Kind: doc.EditSet, Path: doc.P("a"), Value: doc.MustString(strings.Repeat("x", 8<<10))}},
	})
}

// What is put together with the last entry while a save is under way is not forgotten with it
// when that save has landed: the save holds a part of it only.
func TestWhatJoinsAnEntryThatIsBeingStoredStays(t *testing.T) {
	q, through := fullAudit(t)
	sent := q.upTo(through)
	if last := sent[len(sent)-1]; last.Through != through {
		t.Fatalf("sent through %d of %d", last.Through, through)
	}
	for range 5 {
		through++
		q.add(large(through))
	}
	q.stored(through - 5)
	rest := q.upTo(through)
	if len(rest) != 1 || rest[0].Revision != through-4 || rest[0].Through != through || rest[0].Commits != 5 {
		t.Errorf("left to be stored: %+v", rest)
	}
	if q.stored(through); q.bytes != 0 || q.list != nil {
		t.Errorf("%d bytes left", q.bytes)
	}
}

// An entry that stands for many commits does not stand for those that can never be stored.
func TestAnEntryOfManyIsCutBack(t *testing.T) {
	q, through := fullAudit(t)
	q.add(large(through + 1))
	q.retract(through)
	if last := q.list[len(q.list)-1]; last.Through != through-1 {
		t.Errorf("it stands for %d to %d, and nothing from %d on is stored", last.Revision, last.Through, through)
	}
}
