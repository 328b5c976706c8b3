package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// How players behave.
const (
	leastStay, mostStay   = 2 * time.Second, 10 * time.Second
	leastPause, mostPause = 50 * time.Millisecond, 400 * time.Millisecond
	retryAfter            = 250 * time.Millisecond
	leaveOneIn            = 3  // of the stays; the others move on while their session is open
	ghostOneIn            = 3  // of the moves: the session before is called once more
	letters               = 40 // mails and receipts that a player makes at most, to bound the document
)

// player is one simulated player. One goroutine.
type player struct {
	ledger  *Ledger
	daemons []*api
	rng     *rand.Rand
	key     string
	others  []string // to whom it writes

	plays, receipts, mails int
	score                  int64
	owed                   []owed // sent and not acknowledged
	last                   *Tenure
}

// owed is something that is sent until it is acknowledged.
type owed struct {
	key, id string
}

// play goes from daemon to daemon until ctx ends.
func (p *player) play(ctx context.Context) {
	for ctx.Err() == nil {
		at := p.rng.IntN(len(p.daemons))
		t, ok := p.load(ctx, at)
		if !ok {
			p.wait(ctx, retryAfter)
			continue
		}
		p.haunt(ctx, t)
		p.last = t
		if p.stay(ctx, t) && p.rng.IntN(leaveOneIn) == 0 {
			p.release(ctx, t)
		}
	}
}

func (p *player) wait(ctx context.Context, d time.Duration) { _ = clock.Sleep(ctx, clock.System(), d) }

func (p *player) load(ctx context.Context, at int) (*Tenure, bool) {
	f, err := p.daemons[at].load(ctx, p.key, loadWait)
	if err != nil || p.ledger.Outdated(p.key, f) {
		return nil, false
	}
	return p.ledger.Loaded(p.key, at, f), true
}

// stay plays for a while; false when the session is not to be had any more.
func (p *player) stay(ctx context.Context, t *Tenure) bool {
	until := clock.System().Now().Add(between(p.rng, leastStay, mostStay))
	for clock.System().Now().Before(until) {
		p.wait(ctx, between(p.rng, leastPause, mostPause))
		if ctx.Err() != nil || !p.act(ctx, t) {
			return false
		}
	}
	return true
}

// act does one thing; false when the session has ended.
func (p *player) act(ctx context.Context, t *Tenure) bool {
	if !p.count(ctx, t) {
		return false
	}
	switch p.rng.IntN(9) {
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
		if number, err := p.daemons[t.daemon].catch(ctx, p.key); err == nil {
			t.Caught(number)
		}
	}
	return true
}

// count plays once. A lost answer is asked for again.
func (p *player) count(ctx context.Context, t *Tenure) bool {
	p.plays++
	id := fmt.Sprintf("play-%s-%d", p.key, p.plays)
	t.Playing()
	for range 2 {
		revision, count, err := p.daemons[t.daemon].play(ctx, p.key, id)
		if err == nil {
			t.Played(revision, count)
			return true
		}
		if gone(err) || ctx.Err() != nil {
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

// keep saves or syncs.
func (p *player) keep(ctx context.Context, t *Tenure, durable bool) bool {
	promise := t.Saving(durable)
	revision, err := p.daemons[t.daemon].save(ctx, p.key, durable)
	if err == nil {
		promise.Acknowledged(revision)
	}
	return !gone(err)
}

// release ends the session.
func (p *player) release(ctx context.Context, t *Tenure) {
	promise := t.Saving(true)
	if revision, err := p.daemons[t.daemon].release(ctx, p.key); err == nil {
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
	a := p.daemons[old.daemon]
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
	if p.daemons[t.daemon].grant(ctx, p.key, id) == nil {
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
	if p.daemons[t.daemon].send(ctx, m.key, m.id) == nil {
		p.ledger.Claimed(m.key, m.id)
		p.owed = p.owed[1:]
	}
}

// submit beats the player's own score.
func (p *player) submit(ctx context.Context, t *Tenure) {
	p.score += 1 + p.rng.Int64N(5)
	p.ledger.Scoring(p.key, p.score)
	if p.daemons[t.daemon].submit(ctx, p.key, p.score) == nil {
		p.ledger.Scored(p.key, p.score)
	}
}
