package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shoalworks/shoal/store"
)

// MaxAudit is how many entries of the audit log are kept. The log may be longer for a while:
// old entries are removed by whoever writes, now and then.
const MaxAudit = 10_000

const (
	trimEvery   = 64    // after so many entries a service removes old ones
	maxTrimmed  = 1_000 // so many of them at a time
	maxActor    = 128   // bytes
	maxReason   = 1_000 // bytes
	auditTries  = 3
	defaultPage = 100
)

// Moderator is who moderates, and why.
type Moderator struct {
	Actor  string // 1 to 128 bytes
	Reason string // at most 1,000 bytes; may be empty
}

// Action is what an [AuditEntry] tells of.
type Action string

// The actions.
const (
	ActionHide   Action = "hide"
	ActionShow   Action = "show"
	ActionRemove Action = "remove"
	ActionBan    Action = "ban"
	ActionUnban  Action = "unban"
	ActionSeal   Action = "seal"
	ActionDrop   Action = "drop"
)

// AuditEntry is what somebody set out to do. It is stored before it is done: an action that
// failed, or was cut off, has its entry too.
type AuditEntry struct {
	ID     string    `json:"id"` // the smaller, the newer; a cursor of [Service.Audit]
	At     time.Time `json:"at"` // fleet time
	Actor  string    `json:"actor"`
	Action Action    `json:"action"`
	Board  string    `json:"board,omitempty"` // empty: every board
	Keys   []string  `json:"keys,omitempty"`
	Reason string    `json:"reason,omitempty"`
	// Entries are what Keys had on the board when they were to be removed, but for hidden
	// ones.
	Entries []AuditedEntry `json:"entries,omitempty"`
	// Erased is how many of the keys belonged to people who were erased since. They are no
	// longer in Keys and Entries, and Reason is gone.
	Erased int `json:"erased,omitempty"`
}

// AuditedEntry is an entry as it was.
type AuditedEntry struct {
	Key      string `json:"key"`
	Score    int64  `json:"score"`
	Sequence uint64 `json:"sequence"`
	Meta     []byte `json:"meta,omitempty"`
}

// auditForm is a stored entry.
type auditForm struct {
	Format int `json:"format"`
	AuditEntry
}

// Audit is the audit log of moderation, the newest entry first: at most limit (1 to
// store.MaxPage; 0: 100) of those before the entry with the id before, or from the newest on
// when it is empty. next is the before of the next page, empty when there is none.
func (s *Service) Audit(ctx context.Context, before string, limit int) (page []AuditEntry, next string, err error) {
	if err := s.moderates(""); err != nil {
		return nil, "", err
	}
	if limit, err = pageLimit("", limit); err != nil {
		return nil, "", err
	}
	r, err := behind(auditFolder, before)
	if err != nil {
		return nil, "", err
	}
	r.Limit = limit + 1
	for rec, err := range s.host.records.Scan(ctx, r) {
		if err != nil {
			return nil, "", fmt.Errorf("board: audit: %w", err)
		}
		e, err := readAudit(rec)
		if err != nil {
			return nil, "", fmt.Errorf("board: audit: %w", err)
		}
		if len(page) == limit {
			return page, page[limit-1].ID, nil
		}
		page = append(page, e)
	}
	return page, "", nil
}

func readAudit(rec store.Record) (AuditEntry, error) {
	var f auditForm
	err := readForm(rec, &f, &f.Format)
	return f.AuditEntry, err
}

// check refuses a moderator without a name, and words without end.
func (by Moderator) check(board string) error {
	for _, c := range []struct {
		field, text string
		least, most int
	}{{"actor", by.Actor, 1, maxActor}, {"reason", by.Reason, 0, maxReason}} {
		if len(c.text) < c.least || len(c.text) > c.most || !utf8.ValidString(c.text) {
			return &RefusedError{Board: board, Field: c.field, Problem: fmt.Sprintf("%d to %d bytes of text expected, got %d bytes", c.least, c.most, len(c.text)), Reason: ErrName}
		}
	}
	return nil
}

// audit stores what is about to be done; without it nothing is done.
func (s *Service) audit(ctx context.Context, by Moderator, e AuditEntry) (id string, err error) {
	e.At = s.host.now().UTC()
	e.Actor, e.Reason = strings.Clone(by.Actor), by.Reason
	e.ID = fmt.Sprintf("%016x%08x", ^uint64(e.At.UnixNano()), uint32(s.host.random("audit id", e.Board)))
	write := store.Write{
		Key: auditFolder + e.ID, Op: store.Put, Value: form(auditForm{formatNow, e}),
		Version: s.version("audit", e.ID),
	}
	for range auditTries { // the same write each time: it does not matter which one lands
		if err = s.commit(ctx, store.Tx{write})[0]; err == nil || store.OutcomeOf(err) == store.NotDone {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("audit: %w", err)
	}
	if s.moderation.audited.Add(1)%trimEvery == 1 {
		s.trimAudit(ctx)
	}
	return e.ID, nil
}

// trimAudit removes the oldest entries beyond MaxAudit, best effort.
func (s *Service) trimAudit(ctx context.Context) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	var old []store.Tx
	n := 0
	for rec, err := range s.host.records.Scan(ctx, store.Prefix(auditFolder)) {
		if err != nil {
			return // the next time
		}
		if n++; n > s.moderation.keepAudit {
			old = append(old, store.Tx{{Key: rec.Key, Op: store.Delete, If: store.Is(rec.Version)}})
		}
		if len(old) == maxTrimmed {
			break
		}
	}
	if len(old) == 0 {
		return
	}
	if err := errors.Join(s.commit(ctx, old...)...); err != nil {
		s.host.logger.DebugContext(ctx, "old entries of the audit log stay for now", "err", err)
	}
}

// eraseAudit takes a key out of what the audit log has about the boards that are mine.
func (s *Service) eraseAudit(ctx context.Context, key string, mine func(board string) bool) (err error) {
	for range auditTries { // entries of several keys may be rewritten by several erasures
		var again bool
		if again, err = s.eraseAudited(ctx, key, mine); err == nil && !again {
			return nil
		}
	}
	return fmt.Errorf("audit log: %w", errors.Join(err, store.ErrUnavailable))
}

// eraseAudited is one pass of eraseAudit; again tells that an entry was being changed.
func (s *Service) eraseAudited(ctx context.Context, key string, mine func(board string) bool) (again bool, err error) {
	for rec, err := range s.host.records.Scan(ctx, store.Prefix(auditFolder)) {
		if err != nil {
			return again, err
		}
		var f auditForm
		if !strings.Contains(string(rec.Value), key) || json.Unmarshal(rec.Value, &f) != nil || !mine(f.Board) || !f.erase(key) {
			continue // one that cannot be read is not written over
		}
		write := store.Write{Key: rec.Key, Op: store.Put, Value: form(f), If: store.Is(rec.Version), Version: s.version("audit done", rec.Key)}
		again = s.commit(ctx, store.Tx{write})[0] != nil || again
	}
	return again, nil
}

// erase takes a key out of the entry, and the reason, which may name the person. It is false
// when the key is not in it.
func (e *AuditEntry) erase(key string) bool {
	var keys []string
	for _, k := range e.Keys {
		if k != key {
			keys = append(keys, k)
		}
	}
	if len(keys) == len(e.Keys) {
		return false
	}
	var entries []AuditedEntry
	for _, had := range e.Entries {
		if had.Key != key {
			entries = append(entries, had)
		}
	}
	e.Erased += len(e.Keys) - len(keys)
	e.Keys, e.Entries, e.Reason = keys, entries, ""
	return true
}
