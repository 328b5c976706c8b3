package chaos

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// maxViolations bounds what the ledger keeps; the count goes on.
const maxViolations = 30

// Ledger is what players were promised, and judges what they find.
type Ledger struct {
	now   func() time.Duration
	times *timeline

	mu struct {
		sync.Mutex
		accounts   map[string]*account
		results    map[string]string // of closed seasons
		violations []string
		tally      Tally
	}
}

// Tally counts what a run has checked.
type Tally struct {
	// Loads, Saves, Syncs, Receipts, Mails, Trades and Scores were acknowledged.
	Loads, Saves, Syncs, Receipts, Mails, Trades, Scores int
	// Seasons were closed, and Titles granted.
	Seasons, Titles int
	// Ghosts were calls to a session that a later one had replaced, and were all refused.
	Ghosts int
	// Doubles were loads that found an acknowledged sync missing after the daemon and the fast
	// store's memory had been lost together, and ForgottenScores scores that went with that
	// memory. Neither is a violation.
	Doubles, ForgottenScores int
	// Violations were broken promises.
	Violations int
}

// account is what is known of one player.
type account struct {
	tenures []*Tenure // in the order of their epochs
	claims  map[string]*claim
	best    int64 // acknowledged score
	bestAt  time.Duration
	tried   int64 // highest score that was sent
}

// Found is what a player finds of its profile.
type Found struct {
	Epoch, Revision uint64
	// Asked is when it was asked for: what is promised later need not be in it.
	Asked time.Duration
	// Count is how often the player has played.
	Count int64
	// Live says that it was open at the daemon already.
	Live bool
	// Got says how often each claim has had its effect.
	Got map[string]int64
	// Season is the number of the season that its counters belong to; Titles and Prizes are how
	// many it has won, and been paid for.
	Season, Titles, Prizes int64
	// Coins are what trades have brought, less than nothing for who gave more.
	Coins int64
}

// Tenure is one session of a player, as its answers tell of it.
type Tenure struct {
	ledger *Ledger
	key    string
	daemon int
	found  Found
	season int64   // in which it has counted
	played int64   // calls that may have been applied
	known  []point // counts by revision, ascending
	acks   []acknowledgement
}

// point is a count that was there at a revision.
type point struct {
	revision uint64
	count    int64
}

// acknowledgement is a promise that a point will be found by every later session.
type acknowledgement struct {
	point
	durable  bool
	asked    time.Duration // when it was asked for
	answered time.Duration
}

// NewLedger is an empty ledger; now is the time since the run began.
func NewLedger(now func() time.Duration) *Ledger {
	l := &Ledger{now: now, times: new(timeline)}
	l.mu.accounts, l.mu.results = make(map[string]*account), make(map[string]string)
	return l
}

func (l *Ledger) accountLocked(key string) *account {
	a := l.mu.accounts[key]
	if a == nil {
		a = &account{claims: make(map[string]*claim)}
		l.mu.accounts[key] = a
	}
	return a
}

func (l *Ledger) violateLocked(key, format string, args ...any) {
	l.mu.tally.Violations++
	if len(l.mu.violations) < maxViolations {
		l.mu.violations = append(l.mu.violations, fmt.Sprintf("%.2fs %s: ", l.now().Seconds(), key)+fmt.Sprintf(format, args...))
	}
}

// Violate notes a broken promise that somebody else has found.
func (l *Ledger) Violate(key, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violateLocked(key, format, args...)
}

// Outdated tells whether a session is one that was found open at a daemon that has not noticed
// yet that a later one has replaced it. That is no violation as long as it acknowledges nothing.
func (l *Ledger) Outdated(key string, f Found) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.accountLocked(key).last()
	return last != nil && f.Live && f.Epoch < last.found.Epoch
}

// Loaded notes that a load of a daemon was answered, or that a session was found open there.
func (l *Ledger) Loaded(key string, daemon int, f Found) *Tenure {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accountLocked(key)
	if last := a.last(); last != nil && last.found.Epoch == f.Epoch && last.daemon == daemon {
		l.claimsLocked(key, a, f)
		l.resumedLocked(last, f)
		return last
	}
	l.mu.tally.Loads++
	t := &Tenure{ledger: l, key: key, daemon: daemon, found: f, known: []point{{f.Revision, f.Count}}}
	l.claimsLocked(key, a, f)
	l.seasonLocked(key, a.last(), f)
	if before := a.last(); before != nil {
		if f.Epoch <= before.found.Epoch {
			l.violateLocked(key, "epoch %d was loaded after epoch %d", f.Epoch, before.found.Epoch)
		}
		l.followsLocked(before, t)
	}
	if most := a.mostLocked(); f.Count > most {
		l.violateLocked(key, "epoch %d begins with count %d, at most %d were ever made", f.Epoch, f.Count, most)
	}
	a.tenures = append(a.tenures, t)
	return t
}

// resumedLocked checks a session that goes on where its player had left it open.
func (l *Ledger) resumedLocked(t *Tenure, f Found) {
	last := t.known[len(t.known)-1]
	if f.Revision < last.revision || f.Count < last.count || f.Count > t.found.Count+t.played {
		l.violateLocked(t.key, "epoch %d goes on with count %d at revision %d after count %d at revision %d; it began with %d and made at most %d",
			f.Epoch, f.Count, f.Revision, last.count, last.revision, t.found.Count, t.played)
	}
	if f.Revision > last.revision && f.Count > last.count {
		t.known = append(t.known, point{f.Revision, f.Count})
	}
}

// last is the newest session; nil when there is none.
func (a *account) last() *Tenure {
	if len(a.tenures) == 0 {
		return nil
	}
	return a.tenures[len(a.tenures)-1]
}

// mostLocked is the highest count that can be.
func (a *account) mostLocked() (most int64) {
	for _, t := range a.tenures {
		most = max(most, t.found.Count+t.played)
	}
	return most
}

// followsLocked checks that a session has begun with all that the one before it had promised.
func (l *Ledger) followsLocked(before, t *Tenure) {
	begun := acknowledgement{point: point{before.found.Revision, before.found.Count}, durable: true}
	for _, ack := range append([]acknowledgement{begun}, before.acks...) {
		l.keptLocked(before, ack, t)
	}
}

// keptLocked checks one promise against the session that came next.
func (l *Ledger) keptLocked(before *Tenure, ack acknowledgement, t *Tenure) {
	if t.found.Count >= ack.count && t.found.Revision >= ack.revision {
		return
	}
	if !ack.durable && l.times.lostBoth(before.daemon, ack.asked, l.now()) {
		l.mu.tally.Doubles++
		return
	}
	what := "sync"
	if ack.durable {
		what = "save"
	}
	l.violateLocked(t.key, "epoch %d on daemon %d begins with count %d at revision %d; epoch %d on daemon %d had a %s acknowledged at %.2fs with count %d at revision %d",
		t.found.Epoch, t.daemon, t.found.Count, t.found.Revision, before.found.Epoch, before.daemon, what, ack.answered.Seconds(), ack.count, ack.revision)
}

// Epoch is that of the session.
func (t *Tenure) Epoch() uint64 { return t.found.Epoch }

// Playing notes that the session is about to count one more, whatever comes of it.
func (t *Tenure) Playing() {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	t.played++
}

// Played notes a count that the session has answered.
func (t *Tenure) Played(revision uint64, count int64) {
	l := t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	last := t.known[len(t.known)-1]
	if revision <= last.revision || count <= last.count {
		l.violateLocked(t.key, "epoch %d plays count %d at revision %d after count %d at revision %d", t.found.Epoch, count, revision, last.count, last.revision)
		return
	}
	if count > t.found.Count+t.played {
		l.violateLocked(t.key, "epoch %d has count %d; it began with %d and made %d", t.found.Epoch, count, t.found.Count, t.played)
	}
	t.known = append(t.known, point{revision, count})
}

// Promise is a save or sync on its way.
type Promise struct {
	tenure  *Tenure
	durable bool
	asked   time.Duration
	last    point  // the newest when it began
	newest  uint64 // epoch that had been loaded when it began
}

// Saving notes that the session is about to save, or to sync when it is not durable.
func (t *Tenure) Saving(durable bool) Promise {
	l := t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	tenures := l.accountLocked(t.key).tenures
	return Promise{tenure: t, durable: durable, asked: l.now(), last: t.known[len(t.known)-1], newest: tenures[len(tenures)-1].found.Epoch}
}

// Acknowledged notes the answer: everything up to a revision will be found by later sessions.
func (p Promise) Acknowledged(revision uint64) {
	t, l := p.tenure, p.tenure.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.durable {
		l.mu.tally.Saves++
	} else {
		l.mu.tally.Syncs++
	}
	if p.newest > t.found.Epoch {
		l.violateLocked(t.key, "epoch %d on daemon %d acknowledges revision %d although epoch %d had begun", t.found.Epoch, t.daemon, revision, p.newest)
	}
	if revision < p.last.revision {
		l.violateLocked(t.key, "epoch %d acknowledges revision %d; revision %d was answered before", t.found.Epoch, revision, p.last.revision)
	}
	ack := acknowledgement{point: t.at(revision), durable: p.durable, asked: p.asked, answered: l.now()}
	t.note(ack)
	if next := l.accountLocked(t.key).after(t); next != nil {
		l.keptLocked(t, ack, next)
	}
}

// at is what is known to be covered by a revision.
func (t *Tenure) at(revision uint64) point {
	covered := t.known[0]
	for _, p := range t.known {
		if p.revision <= revision {
			covered = p
		}
	}
	return point{revision: min(revision, covered.revision), count: covered.count}
}

// note keeps a promise; a durable one makes those that it covers needless.
func (t *Tenure) note(ack acknowledgement) {
	if ack.durable {
		t.acks = slices.DeleteFunc(t.acks, func(a acknowledgement) bool { return a.revision <= ack.revision })
	}
	t.acks = append(t.acks, ack)
}

// after is the session that came next; nil when there is none.
func (a *account) after(t *Tenure) *Tenure {
	i := slices.Index(a.tenures, t)
	if i < 0 || i+1 == len(a.tenures) {
		return nil
	}
	return a.tenures[i+1]
}

// Ghost notes that a session which a later one had replaced was called. It may commit in its
// own memory for a while; that must not be acknowledged.
func (l *Ledger) Ghost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.tally.Ghosts++
}

// Scoring notes that a score is about to be submitted.
func (l *Ledger) Scoring(key string, score int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accountLocked(key)
	a.tried = max(a.tried, score)
}

// Scored notes that the store has it.
func (l *Ledger) Scored(key string, score int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.tally.Scores++
	if a := l.accountLocked(key); score > a.best {
		a.best, a.bestAt = score, l.now()
	}
}

// Board checks a player's entry at the end. Boards on a fast store go with its memory.
func (l *Ledger) Board(key string, score int64, fast bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accountLocked(key)
	switch {
	case score > a.tried:
		l.violateLocked(key, "the board has score %d, at most %d was submitted", score, a.tried)
	case score >= a.best:
	case fast && l.times.forgot(a.bestAt-settle):
		l.mu.tally.ForgottenScores++
	default:
		l.violateLocked(key, "the board has score %d; %d was acknowledged at %.2fs", score, a.best, a.bestAt.Seconds())
	}
}

// Keys are the players, in order.
func (l *Ledger) Keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.mu.accounts))
}

// Verdict is what was counted, and the first of the violations.
func (l *Ledger) Verdict() (Tally, []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.tally, slices.Clone(l.mu.violations)
}
