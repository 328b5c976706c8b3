package season

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shoalworks/shoal/doc"
)

// player is a session that the service knows of.
type player struct {
	session Session
	changed atomic.Uint64 // counts changes that the boards should see
	watches watches

	mu struct {
		sync.Mutex
		sent    uint64              // changed, as of what the boards have answered for
		settled map[int64]doc.Value // owed seasons → the values answered for
		unheard tidings             // stored or not, not yet told: they wait for a save
		looked  uint64              // the shelf's count when all known results were processed
	}
}

// owesBoards tells whether something changed since the boards last answered.
func (p *player) owesBoards() bool {
	now := p.changed.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	return now != p.mu.sent
}

// sentUpTo notes that the boards have what there was at the count.
func (p *player) sentUpTo(count uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.sent = max(p.mu.sent, count)
}

// settle notes that the boards have answered for owed values.
func (p *player) settle(k int64, values doc.Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.settled == nil {
		p.mu.settled = make(map[int64]doc.Value)
	}
	p.mu.settled[k] = values
}

// isSettled tells whether the boards have answered for exactly these owed values.
func (p *player) isSettled(k int64, values doc.Value) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent, ok := p.mu.settled[k]
	return ok && sent.Equal(values)
}

func (p *player) allSettled() map[int64]doc.Value {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.mu.settled)
}

// forget drops settled seasons whose values have left the block.
func (p *player) forget(ks []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range ks {
		delete(p.mu.settled, k)
	}
}

func (p *player) looked() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.looked
}

func (p *player) setLooked(count uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.looked = max(p.mu.looked, count)
}

// tidings are titles that the game has yet to hear of: new ones, and what corrections changed.
type tidings struct {
	titles  []Title
	changes []TitleChange
}

func (t tidings) none() bool { return len(t.titles) == 0 && len(t.changes) == 0 }

// hold keeps what could not be told because the save failed.
func (p *player) hold(t tidings) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.unheard.titles = append(p.mu.unheard.titles, t.titles...)
	p.mu.unheard.changes = append(p.mu.unheard.changes, t.changes...)
}

// takeUnheard hands out what was held, to one caller.
func (p *player) takeUnheard() tidings {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.mu.unheard
	p.mu.unheard = tidings{}
	return out
}

// gone tells whether the session has ended.
func (p *player) gone() bool {
	select {
	case <-p.session.Done():
		return true
	default:
		return false
	}
}

// players are the open sessions by key. As many as the node has sessions: those that ended
// without Left are swept at each window.
type players struct {
	mu struct {
		sync.RWMutex
		byKey map[string]*player
	}
}

func newPlayers() *players {
	ps := new(players)
	ps.mu.byKey = make(map[string]*player)
	return ps
}

// of is the player of a session, which becomes known if it is not yet: an event may come
// before the game calls Joined. Two sessions of one key differ by their Done channel. A session
// that has ended takes no place: a newer one of the same key may have it.
func (ps *players) of(s Session) *player {
	key := s.Key()
	ps.mu.RLock()
	p := ps.mu.byKey[key]
	ps.mu.RUnlock()
	if p != nil && p.session.Done() == s.Done() {
		return p
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p = ps.mu.byKey[key]; p != nil && p.session.Done() == s.Done() {
		return p
	}
	p = &player{session: s}
	if !p.gone() {
		ps.mu.byKey[key] = p
	}
	return p
}

// byKey is the open session of a key, or nil.
func (ps *players) byKey(key string) *player {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	return ps.mu.byKey[key]
}

// remove forgets a player, unless another session has taken its place.
func (ps *players) remove(p *player) {
	key := p.session.Key()
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.mu.byKey[key] == p {
		delete(ps.mu.byKey, key)
	}
}

// all lists the open sessions by key.
func (ps *players) all() []*player {
	return slices.DeleteFunc(ps.list(), (*player).gone)
}

// ended lists the sessions that have ended and are not forgotten yet, by key.
func (ps *players) ended() []*player {
	return slices.DeleteFunc(ps.list(), func(p *player) bool { return !p.gone() })
}

func (ps *players) list() []*player {
	ps.mu.RLock()
	list := slices.Collect(maps.Values(ps.mu.byKey))
	ps.mu.RUnlock()
	slices.SortFunc(list, func(a, b *player) int { return strings.Compare(a.session.Key(), b.session.Key()) })
	return list
}

// unsettle forgets what the boards have answered for.
func (p *player) unsettle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.mu.settled)
}
