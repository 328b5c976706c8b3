package profile

import (
	"context"

	"github.com/shoalworks/shoal/clock"
)

// Player is one stay of a player on this node, from Join to Left, Kicked or Failed.
type Player struct {
	players *Players
	key     string
	seat    *seat

	load   func() context.Context // of the load; ends when the player leaves
	cancel context.CancelFunc
	leave  chan struct{} // closed when the player leaves
	gone   chan struct{}

	// Guarded by the mutex of players.
	session *Session
	joining bool // counts among those
	entered bool // the game was told
	left    bool // the game said Leave
	over    bool // the stay has ended otherwise, or is about to
}

func newPlayer(ps *Players, key string) *Player {
	ctx, cancel := context.WithCancel(ps.life())
	return &Player{
		players: ps, key: key, load: func() context.Context { return ctx }, cancel: cancel,
		leave: make(chan struct{}), gone: make(chan struct{}),
	}
}

// Key is the player's key.
func (p *Player) Key() string { return p.key }

// Session is the player's session, from Joined on; nil before, and after Failed.
func (p *Player) Session() *Session {
	p.players.mu.Lock()
	defer p.players.mu.Unlock()
	return p.session
}

// Gone is closed when the stay is over: the profile is released, or was never opened, and
// every callback has returned.
func (p *Player) Gone() <-chan struct{} { return p.gone }

// Leave ends the stay: a load that runs is given up, a session released, also while Joined
// runs. It never waits, is safe twice, and harmless when the stay is over already; it never
// ends a later stay of the same player. Neither Joined, Failed nor Kicked is called after it,
// though one that was called before may still be running.
func (p *Player) Leave() {
	p.players.mu.Lock()
	again := p.left
	p.left = true
	p.players.mu.Unlock()
	if !again {
		close(p.leave)
		p.cancel()
	}
}

// presentLocked tells that the player is here, or joining, as the game sees it.
func (p *Player) presentLocked() bool {
	return !p.left && !p.over && (p.session == nil || p.session.Reason() == 0)
}

// serve leads the stays of a seat, one after the other, until nobody waits for it.
func (ps *Players) serve(p *Player) {
	for p != nil {
		p.stay()
		p = ps.vacate(p)
	}
}

// stay leads one stay from the load to the last callback.
func (p *Player) stay() {
	defer p.cancel()
	sess, err := p.open()
	if err != nil {
		p.fail(err)
		return
	}
	joined := p.enter(sess)
	select {
	case <-p.leave:
		_ = sess.Release(p.players.life()) // farewell tells what came of it
	case <-sess.Done():
		p.cancel() // Joined need not go on
	}
	<-joined
	p.farewell(sess)
}

// open loads the profile, unless the player has left while an earlier stay ended.
func (p *Player) open() (*Session, error) {
	if err := p.load().Err(); err != nil {
		return nil, err
	}
	return p.players.set.Load(p.load(), p.key, p.players.opts.Load)
}

// fail tells the game that the player cannot come in.
func (p *Player) fail(err error) {
	ps := p.players
	ps.mu.Lock()
	ps.joinedLocked(p)
	p.over = true
	ps.mu.Unlock()
	if p.hasLeft() || ps.opts.Failed == nil {
		return
	}
	<-ps.call(ps.life(), p, "Failed", func(ctx context.Context) {
		if !p.hasLeft() {
			ps.opts.Failed(ctx, p, err)
		}
	})
}

// enter has the game let the player in, unless the player has left meanwhile.
func (p *Player) enter(sess *Session) (returned <-chan struct{}) {
	ps := p.players
	ps.mu.Lock()
	ps.joinedLocked(p)
	p.session = sess
	ps.mu.Unlock()
	return ps.call(p.load(), p, "Joined", func(ctx context.Context) {
		if p.comeIn() && ps.opts.Joined != nil {
			ps.opts.Joined(ctx, p)
		}
	})
}

// comeIn notes that the game is told of the player, unless they have left.
func (p *Player) comeIn() bool {
	p.players.mu.Lock()
	defer p.players.mu.Unlock()
	p.entered = !p.left
	return p.entered
}

// farewell tells the game that the stay of a player of whom it knows has ended: by Leave, or
// else. It may be by Leave at the last moment.
func (p *Player) farewell(sess *Session) {
	ps := p.players
	ps.mu.Lock()
	p.over = true
	entered := p.entered
	ps.mu.Unlock()
	if !entered {
		return
	}
	what := "Kicked"
	if p.hasLeft() {
		what = "Left"
	}
	<-ps.call(ps.life(), p, what, func(ctx context.Context) {
		switch left := p.hasLeft(); {
		case left && ps.opts.Left != nil:
			ps.opts.Left(ctx, p, sess.Release(ps.life())) // it is over: this only asks again
		case !left && ps.opts.Kicked != nil:
			ps.opts.Kicked(ctx, p, sess.Reason())
		}
	})
}

func (p *Player) hasLeft() bool {
	p.players.mu.Lock()
	defer p.players.mu.Unlock()
	return p.left
}

// joinedLocked notes that the join of a player is not under way any more.
func (ps *Players) joinedLocked(p *Player) {
	if p.joining {
		p.joining = false
		ps.mu.joining--
	}
}

// vacate ends a stay and answers who comes next; nil when the seat is empty and gone.
func (ps *Players) vacate(p *Player) *Player {
	ps.mu.Lock()
	st := p.seat
	next := st.next
	st.next = nil
	if next != nil {
		st.now = next
	} else {
		delete(ps.mu.seats, p.key)
	}
	ps.quietenLocked()
	ps.mu.Unlock()
	close(p.gone)
	return next
}

// call has one callback called, and answers when it has returned. One that does not return in
// time is counted and named, and waited for nevertheless, so that the callbacks of a player
// stay one at a time.
func (ps *Players) call(ctx context.Context, p *Player, what string, callback func(context.Context)) <-chan struct{} {
	ctx, cancel := clock.WithTimeout(ctx, ps.set.clk, ps.set.opts.HookTimeout)
	ps.mu.Lock()
	p.seat.call = what
	ps.mu.Unlock()
	returned := make(chan struct{})
	late := ps.set.clk.AfterFunc(ps.set.opts.HookTimeout, func() { ps.lag(p, what, returned) })
	ps.tasks.start(func() {
		defer cancel()
		defer ps.returns(p, returned)
		defer late.Stop()
		defer func() {
			if v := recover(); v != nil {
				ps.set.stats.panics.Add(1)
				ps.set.log.ErrorContext(ctx, "callback panicked", "key", p.key, "callback", what, "panic", v)
			}
		}()
		callback(ctx)
	})
	return returned
}

// returns notes that the callback of a player has returned.
func (ps *Players) returns(p *Player, returned chan struct{}) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p.seat.call = ""
	if p.seat.stuck {
		p.seat.stuck = false
		ps.mu.stuck--
	}
	close(returned)
}

// lag notes that a callback has not returned in time.
func (ps *Players) lag(p *Player, what string, returned <-chan struct{}) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	select {
	case <-returned:
		return
	default:
	}
	p.seat.stuck = true
	ps.mu.stuck++
	ps.quietenLocked()
	ps.set.stats.stuck.Add(1)
	ps.set.log.Error("callback did not return in time", "key", p.key, "callback", what, "timeout", ps.set.opts.HookTimeout)
}
