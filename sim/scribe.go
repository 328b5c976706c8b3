package sim

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal/store"
)

// scribe writes down what happens at the store, in words. It is a ledger as well.
type scribe struct {
	*Ledger
	out   *strings.Builder
	now   func() time.Duration
	quiet bool
	names []named // servers by id

	mu     sync.Mutex
	lines  []string          // of this moment
	at     time.Duration     // which moment
	tokens map[string]string // of loads, in the order of their appearance
	recs   map[string]*recordForm
}

type named struct{ id, name string }

// say writes a line. Lines of one moment are put in order: goroutines that run at one moment
// have none.
func (s *scribe) say(p *Process, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sayLocked(p, format, args...)
}

func (s *scribe) sayLocked(p *Process, format string, args ...any) {
	if s.quiet {
		return
	}
	if now := s.now(); now != s.at {
		s.flushLocked()
		s.at = now
	}
	name := "-"
	if p != nil {
		name = p.Name
	}
	s.lines = append(s.lines, fmt.Sprintf("    %7.2f  %-2s %s\n", s.at.Seconds(), name, fmt.Sprintf(format, args...)))
}

// flush puts out the lines of the moment.
func (s *scribe) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushLocked()
}

func (s *scribe) flushLocked() {
	sort.Strings(s.lines)
	for _, line := range s.lines {
		s.out.WriteString(line)
	}
	s.lines = nil
}

// plain puts names into a text in the place of ids.
func (s *scribe) plain(text string) string {
	for _, n := range s.names {
		text = strings.ReplaceAll(text, n.id, n.name)
	}
	return text
}

// token is the short name of a load: its server, and the how-manieth it is.
func (s *scribe) token(node, token string) string {
	if s.tokens[token] == "" {
		s.tokens[token] = fmt.Sprintf("%s#%d", s.plain(node), len(s.tokens)+1)
	}
	return s.tokens[token]
}

// Wrote implements Watcher.
func (s *scribe) Wrote(p *Process, tx store.Tx, made uint64) {
	s.Ledger.Wrote(p, tx, made)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range tx {
		s.writeLocked(p, w)
	}
}

func (s *scribe) writeLocked(p *Process, w store.Write) {
	s.seasonLocked(p, w)
	key := w.Key[strings.LastIndexByte(w.Key, '/')+1:]
	switch {
	case strings.HasPrefix(w.Key, recordPrefix):
		s.recordLocked(p, key, w.Value)
	case strings.HasPrefix(w.Key, journalPrefix):
		switch j := parseJournal(w.Value); {
		case j == nil:
			s.sayLocked(p, "removes the journal of %s", key)
		case j.SealedBy != "":
			s.sayLocked(p, "seals the journal of %s: revisions %d to %d are kept", key, j.Base+1, j.Rev)
		default:
			s.sayLocked(p, "writes the journal of %s: revisions %d to %d", key, j.Base+1, j.Rev)
		}
	case strings.HasPrefix(w.Key, receiptPrefix) && w.Op == store.Put:
		s.sayLocked(p, "stores receipt %s", key)
	case strings.HasPrefix(w.Key, mailPrefix):
		owner, _, _ := strings.Cut(w.Key[len(mailPrefix):], "/")
		switch w.Op {
		case store.Put:
			s.sayLocked(p, "puts mail %s into the box of %s", key, owner)
		case store.Delete:
			s.sayLocked(p, "takes mail %s out of the box of %s", key, owner)
		case store.Check:
		}
	case strings.HasPrefix(w.Key, notePrefix):
		holder, _, _ := strings.Cut(w.Key[len(notePrefix):], "/")
		if w.Op == store.Delete {
			if about, mail := strings.CutSuffix(w.Key, "/mail"); mail { // see node.Note
				key = "the mail of " + about[strings.LastIndexByte(about, '/')+1:]
			}
			s.sayLocked(p, "removes the note for %s about %s", s.plain(holder), key)
			return
		}
		s.sayLocked(p, "leaves a note for %s: %s", s.plain(holder), s.noteLocked(w.Value))
	}
}

// noteLocked is a note or a message in words.
func (s *scribe) noteLocked(value []byte) string {
	var n struct {
		Kind, Key, Token, Node, For string
		Accepted                    bool
	}
	if json.Unmarshal(value, &n) != nil {
		return string(value)
	}
	who := s.token(n.Node, n.Token)
	about := s.tokens[n.For]
	switch n.Kind {
	case "ask":
		if n.Accepted {
			return fmt.Sprintf("the ask of %s is being worked at", who)
		}
		return fmt.Sprintf("%s asks %s for %s", who, about, n.Key)
	case "granted":
		return fmt.Sprintf("%s is granted to %s", n.Key, s.tokens[n.Token])
	case "taken":
		return fmt.Sprintf("%s has taken %s from %s", who, n.Key, about)
	}
	return n.Kind + " " + n.Key
}

// recordLocked tells what a write to a record is.
func (s *scribe) recordLocked(p *Process, key string, value []byte) {
	next, err := parseRecord(value)
	if err != nil {
		s.sayLocked(p, "stores what is no record")
		return
	}
	if s.recs == nil {
		s.recs = make(map[string]*recordForm)
	}
	before := s.recs[key]
	s.recs[key] = next
	holder := "nobody"
	if next.Session != nil {
		holder = s.token(next.Session.Node, next.Session.Token)
		if !next.Session.Beating {
			holder += " (not beating)"
		}
	}
	s.sayLocked(p, "stores %s: epoch %d, revision %d, %d steps, held by %s: %s",
		key, next.Epoch, next.Revision, stepsOf(next.data), holder, s.meaning(before, next))
}

func (s *scribe) meaning(before, next *recordForm) string {
	switch {
	case before == nil:
		return "created"
	case string(before.Ask) != string(next.Ask) && next.token() == before.token():
		return "an ask"
	case next.token() == before.token():
		return "saved"
	case next.Session == nil:
		return "freed"
	case before.Session == nil:
		return "claimed"
	case next.TookFrom != nil && next.TookFrom.Token == before.token():
		return "taken over from " + s.tokens[before.token()] + ", by " + next.TookFrom.Evidence
	}
	return "granted"
}

// Conflicted implements Watcher.
func (s *scribe) Conflicted(p *Process, tx store.Tx) {
	s.Ledger.Conflicted(p, tx)
	for _, w := range tx {
		key := w.Key[strings.LastIndexByte(w.Key, '/')+1:]
		switch {
		case strings.HasPrefix(w.Key, reefPrefix) && key == "result":
			s.say(p, "is refused: %s has a result", strings.TrimSuffix(w.Key[len(reefPrefix):], "/result"))
		case strings.HasPrefix(w.Key, recordPrefix):
			s.say(p, "is refused: %s has another version", key)
		case strings.HasPrefix(w.Key, journalPrefix):
			s.say(p, "is refused: the journal of %s has another version", key)
		case strings.HasPrefix(w.Key, notePrefix):
			s.say(p, "leaves a newer note about %s where it is", key)
		}
	}
}

// Saw implements Watcher.
func (s *scribe) Saw(p *Process, recs []store.Record, sent time.Duration) {
	s.Ledger.Saw(p, recs, sent)
	for _, rec := range recs {
		holder, ok := s.server(rec.Key)
		switch {
		case !ok || holder == p.Name:
		case rec.Missing():
			s.say(p, "looks at the beat of %s: there is none", holder)
		default:
			s.say(p, "looks at the beat of %s: %.1f s old", holder, rec.Age.Seconds())
		}
	}
}

// server is whose beat a key is.
func (s *scribe) server(key string) (string, bool) {
	for _, n := range s.names {
		if key == beatPrefix+n.id {
			return n.name, true
		}
	}
	return "", false
}

// Heard implements Watcher.
func (s *scribe) Heard(p *Process, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sayLocked(p, "hears: %s", s.noteLocked(payload))
}
