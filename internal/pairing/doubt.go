package pairing

import (
	"context"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

const (
	// Every is how often a process that is alive looks for doubts, and at the sign.
	Every = 2 * time.Second
	// Patience is how long who doubts waits for an answer: three looks of those who are alive.
	// One that is silent for longer is dead to all others, too.
	Patience = 3 * Every
	// glance is how often who doubts looks for it. One look counts for two of them at most: while
	// the durable part, or all processes of a machine, hang, nobody can answer.
	glance = Every / 8
	// stale is the age at which a doubt is removed by others: who wrote it is gone.
	stale = time.Minute
)

// doubt asks those who are alive whether they see the sign that the fast part lacks here, and
// begins a new life of it when nobody does. It returns without an error when something has
// changed, and the parts have to be looked at again.
func (x *settling) doubt(ctx context.Context, now seen) error {
	x.Logger.WarnContext(ctx, "the fast part lacks the sign of this store: it has lost its memory, or is not the fleet's; asking who is alive",
		"fast", x.given.Place, "expected", now.mark.fastPart(), "since", now.mark.since())
	next, err := x.nextOf(ctx, now.mark)
	if err != nil {
		return err
	}
	d := x.question(false)
	heard, err := d.await(ctx, now)
	switch {
	case err != nil:
		return err
	case heard == changed:
		return nil
	case heard == reply:
		return refused("%s has no sign of this store, and processes are alive that see it in %s, since %s", x.given.fastPart(), d.by, now.mark.since())
	}
	x.Logger.WarnContext(ctx, "nobody alive sees another fast part: this one is the fleet's from now on", "fast", x.given.Place, "before", now.mark.fastPart())
	return d.decide(ctx, x.put(markKey, next, now.markVersion))
}

// question is a doubt under way.
type question struct {
	*settling
	key     string
	version store.Version // of the question; an answer has another
	all     bool
	by      string // who has answered
	blind   string // who is alive and cannot tell
}

func (x *settling) question(all bool) *question {
	v := x.version()
	return &question{settling: x, key: doubtFolder + v.String(), version: v, all: all}
}

// hearing is how a doubt goes.
type hearing uint8

const (
	silence hearing = iota + 1 // nobody has answered
	reply                      // somebody has
	changed                    // the parts are not as they were, look again
)

// await puts the question and waits for an answer, for the sign to come, or for Patience to
// end, which begins when the question is seen to have landed. After silence the question stands,
// and is to be decided. When all that was heard is that somebody lives who cannot tell, it is
// an [store.ErrUnavailable].
func (q *question) await(ctx context.Context, was seen) (hearing, error) {
	heard, err := q.hear(ctx, was)
	if heard != silence || err != nil {
		q.withdraw(ctx)
	}
	return heard, err
}

func (q *question) hear(ctx context.Context, was seen) (hearing, error) {
	var p patience
	for {
		heard, there, err := q.look(ctx, was)
		if err != nil || heard != silence {
			return heard, err
		}
		landed := p.begun()
		switch {
		case there && p.ended(q.Clock.Now()):
			return silence, q.unseen()
		case there:
		case landed:
			return changed, nil // somebody removed it as stale: this process has slept
		default:
			w := store.Write{Key: q.key, Op: store.Put, Value: encode(doubt{Format: format, All: q.all}), If: store.Absent(), Version: q.version}
			err := q.Durable.Commit(ctx, store.Tx{w})[0]
			if err == nil {
				continue
			}
			if store.OutcomeOf(err) == store.NotDone {
				return 0, err
			} // else what became of it is seen at the next look
		}
		if err := clock.Sleep(ctx, q.Clock, glance); err != nil {
			return 0, err
		}
	}
}

// unseen is the error of a question that only those could have answered who do not see their
// fast part.
func (q *question) unseen() error {
	if q.blind == "" {
		return nil
	}
	return fmt.Errorf("%w: %s has no sign of this store, and nobody can tell whether it is the fleet's: processes are alive that do not reach theirs, %s. End them, or wait until they reach it again",
		store.ErrUnavailable, q.given.fastPart(), q.blind)
}

// look looks at the durable part first: an answer is older than what the fast part then says,
// so that its sign, if this is the same fast part, is there.
func (q *question) look(ctx context.Context, was seen) (heard hearing, there bool, err error) {
	recs, err := q.Durable.Get(ctx, markKey, q.key)
	if err != nil {
		return 0, false, err
	}
	sign, version, err := q.readSign(ctx)
	if err != nil {
		return 0, false, err
	}
	switch {
	case recs[0].Version != was.markVersion, !q.all && version != was.signVersion && sign != nil:
		return changed, true, nil
	case recs[1].Missing():
		return silence, false, nil
	case recs[1].Version == q.version:
		return silence, true, nil
	}
	d, err := decodeDoubt(recs[1])
	if err != nil {
		return 0, true, err
	}
	if d.Answer == "" {
		q.blind = d.Blind
		return silence, true, nil
	}
	q.by = d.Answer
	return reply, true, nil
}

// decide ends the question with the write of its outcome, in one transaction: it is refused when
// somebody has answered meanwhile, however long this process or its call slept. One that may
// still come is refused as well, since the question is gone then.
func (q *question) decide(ctx context.Context, w store.Write) error {
	err := q.Durable.Commit(ctx, store.Tx{{Key: q.key, Op: store.Delete, If: store.Is(q.version)}, w})[0]
	if err != nil {
		q.withdraw(ctx)
	}
	return err
}

// withdraw removes the question. When it fails, those who are alive do it later.
func (q *question) withdraw(ctx context.Context) {
	ctx, cancel := clock.WithTimeout(context.WithoutCancel(ctx), q.Clock, time.Second)
	defer cancel()
	_ = q.Durable.Commit(ctx, store.Tx{{Key: q.key, Op: store.Delete}})[0]
}

// surveyed is what who is alive sees.
type surveyed struct {
	seen
	doubts  []store.Record
	fastErr error // why the sign could not be read
	blind   bool  // it could not, and would be that of this life
}

// maxDoubts is how many doubts one look does something about; more follow at the next.
const maxDoubts = 1000

// survey reads the durable part first, doubts before the mark, then the fast part: what it
// answers to a doubt it has seen after that was written.
func (p Parts) survey(ctx context.Context) (s surveyed, err error) {
	for rec, err := range p.Durable.Scan(ctx, store.Prefix(doubtFolder)) {
		if err != nil {
			return s, err
		}
		if d, err := decodeDoubt(rec); err == nil && d.Answer != "" && rec.Age < stale {
			continue // nothing is to be done about it
		}
		if s.doubts = append(s.doubts, rec); len(s.doubts) == maxDoubts {
			break
		}
	}
	recs, err := p.Durable.Get(ctx, markKey)
	if err != nil {
		return s, err
	}
	s.markVersion = recs[0].Version
	if s.mark, err = decodeMark(recs[0]); err != nil {
		return s, err
	}
	fast, cancel := clock.WithTimeout(ctx, p.Clock, Every) // that it hangs is not to keep anybody from saying so
	defer cancel()
	s.sign, s.signVersion, s.fastErr = p.readSign(fast)
	return s, nil
}

// answer answers the doubts that this process can, and removes those whose writers are gone. A
// conflict tells that one was withdrawn, answered, or decided.
func (p Parts) answer(ctx context.Context, s surveyed, place string) error {
	var txs []store.Tx
	for _, rec := range s.doubts {
		d, err := decodeDoubt(rec)
		switch {
		case rec.Age >= stale:
			txs = append(txs, store.Tx{{Key: rec.Key, Op: store.Delete, If: store.Is(rec.Version)}})
		case err != nil || d.Answer != "":
		case d.All || s.mark != nil && s.sign != nil && s.sign.ID == s.mark.ID:
			d.Answer = place
			txs = append(txs, store.Tx{p.put(rec.Key, d, rec.Version)})
		case s.blind && d.Blind == "":
			d.Blind = place
			txs = append(txs, store.Tx{p.put(rec.Key, d, rec.Version)})
		}
	}
	if len(txs) == 0 {
		return nil
	}
	for _, err := range p.Durable.Commit(ctx, txs...) {
		if err != nil {
			return fmt.Errorf("pairing: answer a doubt: %w", err)
		}
	}
	return nil
}
