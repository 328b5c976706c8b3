package sim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// This file is what the ledger knows of seasons, and judges what a server does with events. A
// catch is one unit of one counter: before and after it, the block says in which season it was
// counted, and that nothing else was. From then on every write to the player's record is
// followed (see seasons_records.go), every write to a board and to a result (see
// seasons_results.go), and at rest the results are compared with the profiles (see
// seasons_end.go).

// reef is what the ledger knows of the seasons. It is empty in a fleet without.
type reef struct {
	rules    season.Config
	calendar calendar
	clock    func() time.Time                            // the durable store's
	look     func(board string) (store.BoardInfo, error) // a board as it is now

	anglers   map[string]*angler
	boards    map[string]map[string]*life // by name and generation
	registers map[string]registerForm     // by season
	results   map[string]*verdict         // by season
	first     int64                       // -1: nobody has played
	through   int64
	late      map[boardValue]int64 // the score that was reported as too late
	told      map[boardValue]int
	over      map[heard]int
	views     map[view][]time.Duration
	wrote     map[view]int    // own writes
	vague     bool            // answers hang, or processes stop
	amnesia   bool            // the boards have lost their memory
	forgot    uint64          // the step at which the fast store forgot last
	waits     []time.Duration // of the loads that opened
}

// angler is a player of the seasons.
type angler struct {
	key   string
	made  map[string]int64    // catches that were accepted, by season: at most so many count
	acked map[string]counters // acknowledged
	final map[string]counters // as last stored in the record
	block blockForm           // of the record
	away  bool                // the record has none yet
}

// boardValue is a player's value on a season's board.
type boardValue struct{ key, season, board string }

// heard is a process that hears of a season's end.
type heard struct {
	p      *Process
	season string
}

// view is who reads which board.
type view struct {
	p     *Process
	board string
}

// clockError is how far a node's idea of the time may be from the store's clock: half the round
// trip of the look at it. vagueError is that where answers hang, or processes stop with one on
// its way.
const (
	clockError = 2 * time.Second
	vagueError = time.Minute
)

// Compete has the ledger judge seasons.
func (l *Ledger) Compete(cfg season.Config, clock func() time.Time, look func(string) (store.BoardInfo, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.mu.reef
	*r = reef{
		clock: clock, look: look, anglers: make(map[string]*angler), boards: make(map[string]map[string]*life),
		registers: make(map[string]registerForm), results: make(map[string]*verdict), first: -1, through: -1,
		late: make(map[boardValue]int64), told: make(map[boardValue]int), over: make(map[heard]int),
		views: make(map[view][]time.Duration), wrote: make(map[view]int),
	}
	r.rules, r.calendar = rulesOf(cfg)
}

func (r *reef) angler(key string) *angler {
	a := r.anglers[key]
	if a == nil {
		a = &angler{key: key, made: make(map[string]int64), acked: make(map[string]counters), final: make(map[string]counters), away: true}
		r.anglers[key] = a
	}
	return a
}

// keys lists the players.
func (r *reef) keys() []string { return slices.Sorted(maps.Keys(r.anglers)) }

// Arrived judges what a load has opened: everything that was acknowledged is there, or has been
// counted and paid.
func (l *Ledger) Arrived(p *Process, key string, data doc.Value, waited time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.reef.waits = append(l.mu.reef.waits, waited)
	a := l.mu.reef.angler(key)
	b, err := blockOf(data)
	if err != nil {
		l.violatedLocked("not a block", "%s opened by %s: %v", key, p.Name, err)
	}
	for _, id := range b.seasons() {
		has, _ := b.of(id)
		if want := a.acked[id]; has[fish] < want[fish] || has[best] < want[best] {
			l.violatedLocked("acknowledged lost", "%s opened by %s: %v of season %s were acknowledged, it has %v", key, p.Name, want, id, has)
		}
	}
}

// Caught judges an event that a server has counted: in exactly one season, the one that it is,
// and nothing else was changed.
func (l *Ledger) Caught(p *Process, key, event string, before, after doc.Value) {
	b, err := blockOf(before)
	c, err2 := blockOf(after)
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.mu.reef
	if cmp.Or(err, err2) != nil {
		l.violatedLocked("not a block", "%s on %s: %v", key, p.Name, cmp.Or(err, err2))
		return
	}
	k, was := r.calendar.number(c.Season), r.calendar.number(b.Season)
	now, off := r.clock(), clockError
	if r.vague {
		off = vagueError
	}
	early, late := r.calendar.at(now.Add(-off)), r.calendar.at(now.Add(off))
	if k != was && (k < early || k > late) || k < was {
		l.violatedLocked("another season", "%s on %s: an event is counted in %q, its block was in %q, and it is %s", key, p.Name, c.Season, b.Season, r.calendar.id(early))
	}
	if k == was && k < early {
		l.violatedLocked("another season", "%s on %s: an event is counted in %s, and it is %s", key, p.Name, c.Season, r.calendar.id(early))
	}
	l.countedOnceLocked(p, key, event, b, c)
	if event == catch && k >= 0 {
		a := r.angler(key)
		a.made[c.Season]++
	}
}

// countedOnceLocked compares a block after an event with what the event makes of the one before.
func (l *Ledger) countedOnceLocked(p *Process, key, event string, b, c blockForm) {
	start, owed := b.Stats, maps.Clone(b.Owed)
	if c.Season != b.Season {
		if len(b.Stats) > 0 && b.Season != "" {
			if owed == nil {
				owed = make(map[string]counters)
			}
			owed[b.Season] = b.Stats
		}
		if start = nil; b.Season != "" {
			l.mu.events["season reset"]++
		}
	}
	same := func(x, y counters) bool { return maps.Equal(x, y) }
	if want := start.after(event); !maps.Equal(c.Stats, want) || !maps.EqualFunc(c.Owed, owed, same) {
		l.violatedLocked("counted elsewhere", "%s on %s: a %s makes %v, %v owed, of %v in %s, %v owed: %v in %s, %v owed expected",
			key, p.Name, event, c.Stats, c.Owed, b.Stats, b.Season, b.Owed, want, c.Season, owed)
	}
}

// forgottenAnglers notes that the fast store has forgotten: what a journal was asked to
// keep before is not promised any more.
func (l *Ledger) forgottenAnglers() {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.mu.reef
	r.forgot = l.step()
	for _, a := range r.anglers {
		for id, c := range a.acked {
			a.acked[id] = counters{fish: min(c[fish], a.final[id][fish]), best: min(c[best], a.final[id][best])}
		}
	}
}

// vagueClocks says that nodes may be off by half a long round trip.
func (l *Ledger) vagueClocks() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.reef.vague = true
}

// forgottenSeasons notes that the boards have lost their memory.
func (l *Ledger) forgottenSeasons() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.events["season forgotten"]++
	l.mu.reef.amnesia = true
}

// Banked notes that what the data says was acknowledged, in answer to a question of a step.
func (l *Ledger) Banked(key string, data doc.Value, asked uint64) {
	b, err := blockOf(data)
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.mu.reef
	if err != nil || asked <= r.forgot && r.forgot > 0 {
		return
	}
	a := r.angler(key)
	for _, id := range b.seasons() {
		c, _ := b.of(id)
		had := a.acked[id]
		a.acked[id] = counters{fish: max(had[fish], c[fish]), best: max(had[best], c[best])}
	}
	l.mu.events["catches acknowledged"]++
}

// Told judges titles that a server tells of: they are stored, and nobody was told before.
func (l *Ledger) Told(p *Process, key string, titles []season.Title) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.mu.reef
	for _, t := range titles {
		l.mu.events["title told"]++
		of := boardValue{key, t.Season, t.Board}
		if r.told[of]++; r.told[of] > 1 {
			l.violatedLocked("told twice", "%s: %s tells of %s for the %d. time", key, p.Name, t.Key, r.told[of])
		}
		if has, ok := r.angler(key).block.Titles[t.Key]; !ok || has.Rank != t.Rank {
			l.violatedLocked("told too early", "%s: %s tells of %s as %d, and what is stored says %+v, %v", key, p.Name, t.Key, t.Rank, has, ok)
		}
	}
}

// Late notes that a server reports a value that came too late.
func (l *Ledger) Late(p *Process, v season.Refused) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.mu.reef
	l.mu.events["late value refused"]++
	id := boardValue{v.Key, v.Season, v.Board}
	if had, ok := r.late[id]; !ok || v.Score > had {
		r.late[id] = v.Score
	}
	e, ok := r.entryOf(id)
	if !ok && v.Has || ok && (v.Has && e.score != v.Counted || e.score == v.Score) {
		l.violatedLocked("wrong report", "%s: %s says that %s of %s has %d (%v) and not %d; it has %d (%v)", v.Key, p.Name, v.Board, v.Season, v.Counted, v.Has, v.Score, e.score, ok)
	}
}

// Over judges what a server tells a game of a closed season: once, and what is stored.
func (l *Ledger) Over(p *Process, c season.Closed, res *season.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.mu.reef
	if r.over[heard{p, c.ID}]++; r.over[heard{p, c.ID}] > 1 {
		l.violatedLocked("told twice", "%s hears that %s is over for the %d. time", p.Name, c.ID, r.over[heard{p, c.ID}])
	}
	v := r.results[c.ID]
	if v == nil {
		l.violatedLocked("told too early", "%s hears that %s is over, and it has no result", p.Name, c.ID)
		return
	}
	for i, b := range v.Boards {
		if len(res.Boards) <= i || len(res.Boards[i].Top) != len(b.Top) {
			l.violatedLocked("another result", "%s hears of a result of %s that is not the stored one", p.Name, c.ID)
		}
	}
}

// seasonWroteLocked follows a write.
func (l *Ledger) seasonWroteLocked(p *Process, w store.Write) {
	if l.mu.reef.anglers == nil {
		return
	}
	switch rest, ok := strings.CutPrefix(w.Key, reefPrefix); {
	case strings.HasPrefix(w.Key, anglerPrefix):
		l.anglerWroteLocked(p, w)
	case !ok:
	case rest == "first":
		l.firstWroteLocked(p, w)
	case rest == "closed":
		l.throughWroteLocked(p, w)
	case strings.HasSuffix(rest, "/boards"):
		l.registerWroteLocked(p, strings.TrimSuffix(rest, "/boards"), w)
	case strings.HasSuffix(rest, "/result"):
		l.resultWroteLocked(p, strings.TrimSuffix(rest, "/result"), w)
	}
}
