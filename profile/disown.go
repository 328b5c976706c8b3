package profile

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// orphan is a disowned token being got rid of (rule H7).
type orphan struct {
	disowned
	key   string
	note  node.Note // left for this node about the token; removed in the end
	due   time.Time
	busy  bool
	named bool // the record was seen to name the token
	fails int
	seize seizure
}

// maxOrphans bounds what is remembered. What is not remembered is found when somebody asks
// for it.
const maxOrphans = 4096

// disown remembers a token of this node that must not have a session, until the record is
// certainly without it. A note about it is removed then.
func (s *Set) disown(key string, d disowned, n node.Note) {
	s.mu.Lock()
	o := s.mu.disowned[d.token]
	switch {
	case o == nil && len(s.mu.disowned) >= maxOrphans:
		s.mu.Unlock()
		s.log.WarnContext(s.life(), "too many tokens to get rid of: waiting to be asked for it", "key", key)
		return
	case o == nil:
		o = &orphan{disowned: d, key: key, seize: seizure{set: s, key: key, by: d.token, schema: s.opts.Schema}}
		s.mu.disowned[d.token] = o
	default:
		o.claims = append(o.claims, d.claims...)
		o.asked = append(o.asked, d.asked...)
	}
	o.until = latest(o.until, d.until)
	if n.Version != 0 {
		o.note = n          // there is one key for them: the newest has replaced the others
		o.due = time.Time{} // somebody waits for it
	}
	s.mu.Unlock()
	s.plan.wake()
}

// freeOrphans looks after the disowned tokens that are due, and tells when the next is.
func (s *Set) freeOrphans(ctx context.Context, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var next time.Time
	for _, o := range s.mu.disowned {
		switch {
		case o.busy:
		case o.due.After(now):
			next = earlier(next, o.due)
		default:
			o.busy = true
			s.tasks.start(func() { s.freeOrphan(ctx, o) })
		}
	}
	return next
}

// orphanLook is how often a look that can wait looks for budget.
const orphanLook = 500 * time.Millisecond

// putOff has it looked at later, when there is budget, or when somebody asks for it.
func (s *Set) putOff(o *orphan) {
	s.mu.Lock()
	o.busy = false
	if o.note.Version == 0 {
		o.due = s.clk.Now().Add(orphanLook)
	}
	s.mu.Unlock()
	s.plan.wake()
}

// turnTo waits until nobody else is at the token; false when ctx has ended before.
func (s *Set) turnTo(ctx context.Context, o *orphan) bool {
	for {
		s.mu.Lock()
		free := !o.busy
		o.busy = true
		s.mu.Unlock()
		if free {
			return true
		}
		if clock.Sleep(ctx, s.clk, 20*time.Millisecond) != nil {
			return false
		}
	}
}

// freeOrphan looks once, and frees the record if it names the token.
func (s *Set) freeOrphan(ctx context.Context, o *orphan) {
	s.mu.Lock()
	d := o.disowned
	s.mu.Unlock()
	class := s.urgency(o)
	if class == node.ClassBackground && !s.node.Spare(class) {
		s.putOff(o)
		return
	}
	r, err := s.readAs(ctx, class, o.key)
	step := disownKeep
	if err == nil {
		step = disownStepOf(d, r, s.clk.Now())
	}
	if step == disownFree {
		if err = s.freeRecord(ctx, o, r); err == nil {
			step = disownForget
		}
	}
	s.mu.Lock()
	o.busy, o.named = false, step == disownFree
	n := o.note
	if len(o.claims) > len(d.claims) || len(o.asked) > len(d.asked) { // more came while it was looked at
		step = disownKeep
	}
	if step == disownForget {
		delete(s.mu.disowned, o.token)
	} else {
		o.fails++
		o.due = s.clk.Now().Add(backoff(o.fails, s.node.Random("disown retry", o.token)))
	}
	s.mu.Unlock()
	if err != nil && !errors.Is(err, errStartOver) {
		s.log.WarnContext(ctx, "record not freed yet", "key", o.key, "err", err)
	}
	if step == disownForget {
		s.removeNote(n)
	}
	s.plan.wake()
}

// freeRecord frees the record that names the token, by the steps of a takeover: the journal
// is sealed and replayed first. An unknown outcome is an error: the next look tells.
func (s *Set) freeRecord(ctx context.Context, o *orphan, r reading) error {
	recovered, err := s.setFree(ctx, node.ClassSave, &o.seize, r, node.EvidenceOrphan)
	if err != nil {
		return err
	}
	s.stats.freed.Add(1)
	s.log.WarnContext(ctx, "freed a record that named a token without a session", "key", o.key, "recovered", recovered)
	return nil
}

// setFree seals and replays the journal of a session that nobody has, and frees its record.
func (s *Set) setFree(ctx context.Context, c node.Class, z *seizure, r reading, evidence node.Evidence) (recovered bool, err error) {
	rec, recovered, err := z.seal(ctx, r, nil)
	if err != nil {
		return false, err
	}
	if err := s.node.Pass(ctx, c, node.KindWrite); err != nil {
		return false, err
	}
	free, v := freed(rec, evidence, s.node.Now()), s.node.NewVersion("free", z.key)
	rows := slices.Concat(z.beside, z.acts)
	err = s.put(z.key, free, r.version, v, rows...)
	if unstorable(err) && len(rows) > 0 { // what goes beside it is no reason not to
		err = s.put(z.key, free, r.version, v)
	}
	if store.OutcomeOf(err) == store.Unknown {
		if seen, unread := s.readAs(ctx, c, z.key); unread == nil && seen.version == v {
			err = nil
		}
	}
	if err == nil {
		s.tellRecord(z.key, free)
	}
	return recovered, err
}
