package profile

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Freed tells what ReleaseHeld has done.
type Freed struct {
	From      *Holder // whose session was ended; nil: nobody held the profile
	Epoch     uint64  // of that session
	Recovered bool    // commits that only its journal had are in the profile now
}

// ReleaseHeld ends the session of another node, as if that node were dead, and frees the
// profile: for an operator who knows that it is, or that its player is stuck. What the session
// has journaled is kept, what it has neither saved nor journaled is lost. If it lives after
// all, it learns within a second that it is lost, and can store nothing any more.
//
// A profile that nobody holds is left alone, without an error. ErrOpen: this node holds it
// itself; release the session. An ErrUnknown means that it may be freed, or may be yet: call
// it again.
func (s *Set) ReleaseHeld(ctx context.Context, key string, src Source) (Freed, error) {
	if err := name.CheckKey("key", key); err != nil {
		return Freed{}, fmt.Errorf("profile: release: %w", err)
	}
	out, err := s.releaseHeld(ctx, key, src)
	if err != nil {
		return out, fmt.Errorf("profile: release %s: %w", key, err)
	}
	return out, nil
}

func (s *Set) releaseHeld(ctx context.Context, key string, src Source) (out Freed, err error) {
	z := &seizure{set: s, key: key, by: s.node.NewToken("release", key), schema: s.opts.Schema}
	var (
		held   reading // the session that is to be ended, as it was first seen
		unsure error   // the outcome of a write is unknown
	)
	for try := 1; ; try++ {
		r, err := s.readAs(ctx, node.ClassLoad, key)
		if err == nil {
			over, refused := s.isOver(key, r, held)
			if refused != nil {
				return out, refused
			}
			if !over {
				held = r
				out.From, out.Epoch = holderOf(r.record), r.record.epoch
				z.acts = s.actRow(key, r.record, "", src, "ended the session of "+out.From.Node)
				out.Recovered, err = s.setFree(ctx, node.ClassLoad, z, r, EvidenceOperator)
				over = err == nil
			}
			if over {
				s.afterFree(z, held)
				return out, nil
			}
		}
		if store.OutcomeOf(err) == store.Unknown && !errors.Is(err, errStartOver) {
			unsure = err
		}
		if hopeless(err) || errors.Is(err, ErrNewerSchema) || try == maxTries {
			return out, errors.Join(unsure, err)
		}
		if slept := clock.Sleep(ctx, s.clk, backoff(try, s.node.Random("release retry", key))); slept != nil {
			return out, errors.Join(unsure, err, slept)
		}
	}
}

// isOver tells from a reading whether there is no session, or not that one any more, or why it
// is left alone.
func (s *Set) isOver(key string, r, held reading) (over bool, err error) {
	if _, err := viewOf(key, r); err != nil {
		return false, err
	}
	t := r.record.session
	if t == nil || !held.missing() && t.token != held.holder() {
		return true, nil
	}
	if _, sess := s.find(t.token); sess != nil {
		return false, ErrOpen
	}
	return false, nil
}

// afterFree tells the old holder, and removes what its session has left behind once it must
// know.
func (s *Set) afterFree(z *seizure, r reading) {
	if r.missing() { // there was nothing to end
		return
	}
	old := r.record.session
	s.stats.releasedHeld.Add(1)
	s.log.WarnContext(s.life(), "an operator has ended a session", "key", z.key, "of", old.node, "epoch", r.record.epoch)
	later := s.clk.Now().Add(takenFor)
	if z.sealed != 0 {
		s.journaler.erase(erasure{key: journalKey(s.name, z.key), token: old.token, is: z.sealed, due: later, end: later.Add(eraseFor)})
	}
	s.journaler.erase(erasure{key: markerPrefix(old.node, s.name) + z.key, marker: true, token: old.token})
	if old.node != s.node.ID() {
		n := s.noteTaken(z.key, z.by, old.token)
		s.tasks.start(func() { s.tellTaken(old.node, n) })
	}
}

// actRow is what the audit log keeps of an act that is no commit.
func (s *Set) actRow(key string, r record, what string, src Source, note string) []store.Write {
	if s.opts.Audit == AuditNone || !s.keepsBeside() {
		return nil
	}
	if src.Kind == "" {
		src.Kind = SourceOperator
	}
	if src.Note != "" {
		note += ": " + src.Note
	}
	e := auditable(Commit{Revision: r.revision, Time: s.node.Now(), Source: Source{Kind: src.Kind, Actor: src.Actor, Note: note}})
	e.Commits = 0
	s.stats.audited.Add(1)
	return []store.Write{s.row(actKey(s.name, key, r.revision, r.epoch)+what, encodeAudit([]AuditEntry{e}))}
}
