package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// How players behave.
const (
	leastStay, mostStay   = 2 * time.Second, 10 * time.Second
	leastPause, mostPause = 50 * time.Millisecond, 400 * time.Millisecond
	retryAfter            = 250 * time.Millisecond
	leaveOneIn            = 3               // of the stays; the others move on while their session is open
	ghostOneIn            = 3               // of the moves: the session before is called once more
	keepPatience          = 2 * time.Second // that an answer to a save is waited for
	letters               = 40              // mails, receipts and trades that a player makes at most, to bound the document
)

// player is one simulated player. One goroutine, and one for each answer that it does not wait
// for.
type player struct {
	ledger  *Ledger
	daemons []*member
	market  *market
	rng     *rand.Rand
	key     string
	others  []string // to whom it writes

	plays, receipts, mails, deals int
	score                         int64
	owed                          []owed // sent and not acknowledged
	pending                       *deal  // a trade whose answer is missing
	since                         int    // counted since it was asked for
	last                          *Tenure

	loads []atomic.Int64 // by daemon: an answer that began before a load is not looked at after
	late  sync.WaitGroup // answers that are not waited for
}

// owed is something that is sent until it is acknowledged.
type owed struct {
	key, id string
}

// play goes from daemon to daemon until ctx ends.
func (p *player) play(ctx context.Context) {
	defer p.late.Wait()
	for ctx.Err() == nil {
		at := p.next()
		_, left, _ := p.daemons[at].bell.hear()
		t, ok := p.load(ctx, at)
		if !ok {
			p.wait(ctx, retryAfter)
			continue
		}
		p.haunt(ctx, t)
		p.last = t
		p.market.come(p.key, at)
		stayed := p.stay(ctx, t, left)
		p.market.leave(p.key)
		if stayed && p.rng.IntN(leaveOneIn) == 0 {
			p.release(ctx, t)
		}
	}
}

// next is the daemon to go to: often that of whom a trade is pending with, seldom the last one.
func (p *player) next() int {
	at, again, follow := p.rng.IntN(len(p.daemons)), p.rng.IntN(len(p.daemons)), p.rng.IntN(4) > 0
	if p.last != nil && at == p.last.daemon {
		at = again
	}
	if p.pending != nil && follow {
		if with, ok := p.market.find(p.pending.to); ok {
			return with
		}
	}
	return at
}

func (p *player) wait(ctx context.Context, d time.Duration) { _ = clock.Sleep(ctx, clock.System(), d) }

func (p *player) load(ctx context.Context, at int) (*Tenure, bool) {
	p.loads[at].Add(1)
	asked := p.ledger.now()
	f, err := p.daemons[at].api.load(ctx, p.key, loadWait)
	if err != nil || p.ledger.Outdated(p.key, f) {
		return nil, false
	}
	f.Asked = asked
	return p.ledger.Loaded(p.key, at, f), true
}

// stay plays for a while; false when the session is not to be had any more. left is how often
// the daemon's players had been told to leave.
func (p *player) stay(ctx context.Context, t *Tenure, left int) bool {
	until := clock.System().Now().Add(between(p.rng, leastStay, mostStay))
	for clock.System().Now().Before(until) {
		hurry, stays := p.pause(ctx, t, left)
		if ctx.Err() != nil || !stays || !p.act(ctx, t, hurry) {
			return false
		}
	}
	return true
}

// pause waits before the next act, unless the daemon's bell is rung.
func (p *player) pause(ctx context.Context, t *Tenure, left int) (hurry, stays bool) {
	timer := clock.System().NewTimer(between(p.rng, leastPause, mostPause))
	defer timer.Stop()
	for {
		hurry, now, rung := p.daemons[t.daemon].bell.hear()
		if hurry || now != left {
			return hurry, now == left
		}
		select {
		case <-rung:
		case <-timer.C():
			return false, true
		case <-ctx.Done():
			return false, false
		}
	}
}

// act does one thing; false when the session has ended. In a hurry that is mostly to keep what
// was just played.
func (p *player) act(ctx context.Context, t *Tenure, hurry bool) bool {
	what := p.rng.IntN(10)
	if p.pending != nil && p.since >= tradePatience {
		what = 7
	} else if !p.count(ctx, t) {
		return false
	}
	if hurry && what > 2 && what < 7 {
		what = 1
	}
	switch what {
	case 0:
		return p.keep(ctx, t, true)
	case 1, 2:
		return p.keep(ctx, t, false)
	case 3:
		p.receipt(ctx, t)
	case 4:
		p.letter(ctx, t)
	case 5:
		p.submit(ctx, t)
	case 6:
		if number, err := p.daemons[t.daemon].api.catch(ctx, p.key); err == nil {
			t.Caught(number)
		}
	case 7, 8:
		p.haggle(ctx, t)
	}
	return true
}

// count plays once. A lost answer is asked for again.
func (p *player) count(ctx context.Context, t *Tenure) bool {
	p.plays++
	p.since++
	id := fmt.Sprintf("play-%s-%d", p.key, p.plays)
	t.Playing()
	for range 2 {
		revision, count, err := p.daemons[t.daemon].api.play(ctx, p.key, id)
		if err == nil {
			t.Played(revision, count)
			return true
		}
		if gone(err) || reason(err) == "" || ctx.Err() != nil {
			return false
		}
		p.wait(ctx, retryAfter)
	}
	return p.rng.IntN(2) == 0 // stays, or tries its luck elsewhere
}

// gone tells whether the session has ended.
func gone(err error) bool {
	switch reason(err) {
	case "not_open", "lost", "closing":
		return true
	}
	return false
}

// keep saves or syncs. An answer that takes long is noted when it comes, while the player is
// elsewhere; not after it was here again, since it may be of the session that is open then.
func (p *player) keep(ctx context.Context, t *Tenure, durable bool) bool {
	promise, a, loads := t.Saving(durable), p.daemons[t.daemon].api, &p.loads[t.daemon]
	begun, answer := loads.Load(), make(chan error, 1)
	p.late.Go(func() {
		revision, err := a.save(ctx, p.key, durable)
		if err == nil && loads.Load() == begun {
			promise.Acknowledged(revision)
		}
		answer <- err
	})
	timer := clock.System().NewTimer(keepPatience)
	defer timer.Stop()
	select {
	case err := <-answer:
		return !gone(err)
	case <-timer.C():
		return p.rng.IntN(2) == 0
	}
}

// release ends the session.
func (p *player) release(ctx context.Context, t *Tenure) {
	promise := t.Saving(true)
	if revision, err := p.daemons[t.daemon].api.release(ctx, p.key); err == nil {
		promise.Acknowledged(revision)
	}
}

// haunt calls the session before once more: the daemon that had it may not know yet that it
// has been replaced.
func (p *player) haunt(ctx context.Context, now *Tenure) {
	old := p.last
	if old == nil || old == now || old.daemon == now.daemon || p.rng.IntN(ghostOneIn) != 0 {
		return
	}
	p.plays++
	a := p.daemons[old.daemon].api
	revision, _, err := a.play(ctx, p.key, fmt.Sprintf("ghost-%s-%d", p.key, p.plays))
	p.ledger.Ghost()
	if err != nil {
		return // as it should be
	}
	for _, durable := range []bool{false, true} {
		promise := old.Saving(durable)
		if kept, err := a.save(ctx, p.key, durable); err == nil && kept >= revision {
			promise.Acknowledged(kept)
		}
	}
}

// receipt asks for goods, and asks again for those whose grant was not acknowledged.
func (p *player) receipt(ctx context.Context, t *Tenure) {
	id := fmt.Sprintf("r-%s-%d", p.key, p.receipts)
	p.ledger.Claiming(p.key, id, false)
	if p.daemons[t.daemon].api.grant(ctx, p.key, id) == nil {
		p.ledger.Claimed(p.key, id)
		p.receipts = (p.receipts + 1) % letters // sooner or later known ones are delivered again
	}
}

// letter writes to another player, or sends again what was not acknowledged.
func (p *player) letter(ctx context.Context, t *Tenure) {
	if len(p.owed) == 0 && p.mails < letters {
		to := p.others[p.rng.IntN(len(p.others))]
		p.owed = append(p.owed, owed{to, fmt.Sprintf("m-%s-%d", p.key, p.mails)})
		p.mails++
	}
	if len(p.owed) == 0 {
		return
	}
	m := p.owed[0]
	p.ledger.Claiming(m.key, m.id, true)
	if p.daemons[t.daemon].api.send(ctx, m.key, m.id) == nil {
		p.ledger.Claimed(m.key, m.id)
		p.owed = p.owed[1:]
	}
}

// submit beats the player's own score.
func (p *player) submit(ctx context.Context, t *Tenure) {
	p.score += 1 + p.rng.Int64N(5)
	p.ledger.Scoring(p.key, p.score)
	if p.daemons[t.daemon].api.submit(ctx, p.key, p.score) == nil {
		p.ledger.Scored(p.key, p.score)
	}
}
