package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
)

// ErrFull tells that there are as many players, or as many joins under way, as PlayersOptions allows:
// see [FullError]. Nothing was begun; let the player try again, or send them elsewhere.
var ErrFull = errors.New("full")

// FullError is the refusal of a join over a bound. It is an [ErrFull].
type FullError struct {
	What  string // "players" or "joins"
	Limit int
}

// Error names the bound.
func (e *FullError) Error() string { return fmt.Sprintf("full: at most %d %s", e.Limit, e.What) }

// Is makes errors.Is(err, ErrFull) hold.
func (e *FullError) Is(target error) bool { return target == ErrFull }

// PlayersOptions say what a game does when players come and go. Nil is fine, zero is the
// default; a callback that is nil is not called.
//
// The callbacks of one player come one at a time and in order: Failed, or Joined and later
// Left or Kicked. Those of different players run side by side. Each gets a context that ends
// after the set's HookTimeout, and should return by then: until it does, nothing more happens
// for this player, who cannot join again, and Close names it. A panic is caught, counted and
// logged.
type PlayersOptions struct {
	// Joined is called when the profile is open: let the player in. Its context also ends
	// when the player leaves or the session ends. See [Player.Session].
	Joined func(context.Context, *Player)
	// Failed is called instead of Joined when the profile could not be opened; the error is
	// one of [Set.Load]. Send the player away; never let them play without a profile. It is
	// not called for a player who left meanwhile.
	Failed func(context.Context, *Player, error)
	// Left is called after a player for whom Joined was called has left: the error is that
	// of [Session.Release], nil when everything is stored and the profile is free. For what
	// has to be done before the last save see [Set.OnLeave].
	Left func(context.Context, *Player, error)
	// Kicked is called instead of Left when the session has ended although the player had
	// not left: it was handed over or lost to another node, or the node closes. Disconnect
	// the player. It is never called after Leave, see [Player.Leave].
	Kicked func(context.Context, *Player, Reason)
	// Load are the options of every load. Default: the set's.
	Load *LoadOptions
	// MaxPlayers bounds the players who are joining, in, or leaving. Default 10,000.
	MaxPlayers int
	// MaxJoining bounds the joins that are under way. Default 1,000.
	MaxJoining int
}

func (o *PlayersOptions) withDefaults() (PlayersOptions, error) {
	var e PlayersOptions
	if o != nil {
		e = *o
	}
	defaultTo(&e.MaxPlayers, 10_000)
	defaultTo(&e.MaxJoining, 1_000)
	if e.MaxPlayers < 1 || e.MaxJoining < 1 {
		return e, fmt.Errorf("profile: players: MaxPlayers and MaxJoining of at least 1 expected, got %d and %d", e.MaxPlayers, e.MaxJoining)
	}
	return e, nil
}

// Players opens the profiles of players who connect to this node and releases them when they
// go, whatever happens in between and in whatever order. A game tells who comes and goes, and
// gets callbacks:
//
//	players, err := profile.NewPlayers(set, &profile.PlayersOptions{
//		Joined: func(ctx context.Context, p *profile.Player) { world.Spawn(p.Key(), p.Session()) },
//		Failed: func(ctx context.Context, p *profile.Player, err error) { world.Refuse(p.Key(), err) },
//		Kicked: func(ctx context.Context, p *profile.Player, why profile.Reason) { world.Drop(p.Key(), why) },
//	})
//	player, err := players.Join("u_42") // when the player connects
//	player.Leave()                      // when the connection ends
//
// Join and Leave never wait. A player has at most one session here; one who comes back at
// once gets the profile after the release. Players ends with the node, or with Close.
type Players struct {
	set  *Set
	opts PlayersOptions

	// life hands out the context of callbacks and loads; halt ends it.
	life  func() context.Context
	halt  context.CancelFunc
	tasks tasks

	closing struct {
		once   sync.Once
		cut    context.CancelFunc // set by once
		ended  chan struct{}
		report PlayersReport
		err    error
	}

	mu struct {
		sync.Mutex
		closing bool
		seats   map[string]*seat // by key
		joining int
		stuck   int           // seats whose callback has not returned in time
		quiet   chan struct{} // closed when only stuck seats are left; nil while nobody waits
	}
}

// seat is what Players knows under a key: one stay, and perhaps the next one.
type seat struct {
	now   *Player
	next  *Player // waits until now is over; nil: nobody does
	call  string  // the callback that runs, by name
	stuck bool    // and has not returned in time
}

// NewPlayers makes the helper for a set. It does no I/O.
func NewPlayers(s *Set, opts *PlayersOptions) (*Players, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	life, halt := context.WithCancel(context.Background())
	ps := &Players{set: s, opts: o, life: func() context.Context { return life }, halt: halt}
	ps.mu.seats = make(map[string]*seat)
	ps.closing.ended = make(chan struct{})
	s.node.OnClose(node.StageSessions, "players/"+s.name, ps.closeWithNode)
	return ps, nil
}

// Set is the set whose profiles the players have.
func (ps *Players) Set() *Set { return ps.set }

// Join begins the stay of a player: the profile is loaded, and Joined or Failed called. It
// never waits. A player who is just leaving or was kicked joins when that is over.
//
// Errors: [ErrOpen] when the player is here or joining already, [FullError], [ErrBusy] when a
// callback of the player's last stay has not returned, [ErrClosing], and an unusable key.
func (ps *Players) Join(key string) (*Player, error) {
	if err := name.CheckKey("key", key); err != nil {
		return nil, fmt.Errorf("profile: join: %w", err)
	}
	p := newPlayer(ps, key)
	begin, err := ps.admit(p)
	if err != nil {
		p.cancel()
		return nil, fmt.Errorf("profile: join %s: %w", key, err)
	}
	if begin {
		ps.tasks.start(func() { ps.serve(p) })
	}
	return p, nil
}

// admit seats the player; begin tells that nobody serves the seat yet.
func (ps *Players) admit(p *Player) (begin bool, err error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	st := ps.mu.seats[p.key]
	switch {
	case ps.mu.closing || ps.nodeCloses():
		return false, ErrClosing
	case st != nil && (st.now.presentLocked() || st.next != nil && st.next.presentLocked()):
		return false, ErrOpen
	case st != nil && st.stuck:
		return false, fmt.Errorf("%w: %s has not returned", ErrBusy, ps.label(st.call))
	case st == nil && len(ps.mu.seats) >= ps.opts.MaxPlayers:
		return false, &FullError{"players", ps.opts.MaxPlayers}
	case ps.mu.joining >= ps.opts.MaxJoining:
		return false, &FullError{"joins", ps.opts.MaxJoining}
	}
	ps.mu.joining++
	p.joining = true
	if st == nil {
		p.seat = &seat{now: p}
		ps.mu.seats[p.key] = p.seat
		return true, nil
	}
	if former := st.next; former != nil { // it left before its turn came
		ps.joinedLocked(former)
		former.over = true
		close(former.gone)
	}
	p.seat, st.next = st, p
	return false, nil
}

func (ps *Players) nodeCloses() bool {
	select {
	case <-ps.set.node.Closing():
		return true
	default:
		return false
	}
}

// Leave ends the stay of whoever is here under the key, as [Player.Leave] does. It is
// harmless when there is nobody. Where connections of one player can overlap, prefer
// Player.Leave, which never ends a later stay.
func (ps *Players) Leave(key string) {
	if p, ok := ps.Player(key); ok {
		p.Leave()
	}
}

// Player is who is here, or joining, under the key.
func (ps *Players) Player(key string) (*Player, bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if st := ps.mu.seats[key]; st != nil {
		for _, p := range []*Player{st.next, st.now} {
			if p != nil && p.presentLocked() {
				return p, true
			}
		}
	}
	return nil, false
}

// Here are the players who are in, their profiles open, in byte order of key.
func (ps *Players) Here() []*Player {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	out := make([]*Player, 0, len(ps.mu.seats))
	for _, st := range ps.mu.seats {
		if p := st.now; p.session != nil && p.presentLocked() {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *Player) int { return strings.Compare(a.key, b.key) })
	return out
}

// Len counts the players who are joining, in, or leaving.
func (ps *Players) Len() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return len(ps.mu.seats)
}

// PlayersReport tells how a Close went.
type PlayersReport struct {
	// Remaining are the keys of players whose stay had not ended, in byte order. Releases go
	// on by themselves; the set's own Close tells what came of them.
	Remaining []string
	// Running names callbacks that had not returned: "Joined game.welcome for u_42".
	Running []string
	Took    time.Duration
}

// Complete tells that everybody had left and every callback had returned.
func (r PlayersReport) Complete() bool { return len(r.Remaining) == 0 && len(r.Running) == 0 }
