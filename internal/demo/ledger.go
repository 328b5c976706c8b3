package demo

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// maxViolations bounds what the ledger keeps; the count goes on.
const maxViolations = 20

// ledger checks what the fleet promises: an acknowledged save is in every later load, a load
// is a prefix of what was played, epochs grow, one session at a time is acknowledged, a title
// is granted and paid once, a result never changes, and a catch is counted in exactly one season.
type ledger struct {
	mu struct {
		sync.Mutex
		accounts   map[string]*account
		results    map[string]string
		broken     int
		violations []string
	}
}

// account is what the ledger knows of one player.
type account struct {
	epoch  uint64 // of the newest load
	acked  int64  // casts covered by an acknowledged save
	played int64  // casts made in the newest session, or loaded by it
	titles map[string]bool
	late   map[string]int64 // fish of a season that came after its close, as it was reported
}

func newLedger() *ledger {
	l := new(ledger)
	l.mu.accounts = make(map[string]*account)
	l.mu.results = make(map[string]string)
	return l
}

// account must be called with the mutex held.
func (l *ledger) accountLocked(key string) *account {
	a := l.mu.accounts[key]
	if a == nil {
		a = &account{titles: make(map[string]bool), late: make(map[string]int64)}
		l.mu.accounts[key] = a
	}
	return a
}

func (l *ledger) violateLocked(format string, args ...any) {
	l.mu.broken++
	if len(l.mu.violations) < maxViolations {
		l.mu.violations = append(l.mu.violations, fmt.Sprintf(format, args...))
	}
}

// loaded notes that a load found casts, as session epoch.
func (l *ledger) loaded(key string, epoch uint64, casts int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accountLocked(key)
	switch {
	case epoch <= a.epoch:
		l.violateLocked("%s: epoch %d was loaded after epoch %d", key, epoch, a.epoch)
	case casts < a.acked:
		l.violateLocked("%s: loaded %d casts, %d were acknowledged as saved", key, casts, a.acked)
	case casts > a.played:
		l.violateLocked("%s: loaded %d casts, only %d were ever made", key, casts, a.played)
	}
	if epoch > a.epoch {
		a.epoch, a.played = epoch, casts
	}
}

// casting notes that session epoch is about to make its casts-th cast.
func (l *ledger) casting(key string, epoch uint64, casts int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accountLocked(key); epoch == a.epoch {
		a.played = max(a.played, casts)
	}
}

// late notes that the game was told of a value that came after its season's close.
func (l *ledger) late(key, season string, fish int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accountLocked(key)
	a.late[season] = max(a.late[season], fish)
}

// saving begins a save of session epoch; the func it returns ends it, acknowledged with the
// casts that the save covers. A save that began when a newer session was already loaded must
// not be acknowledged.
func (l *ledger) saving(key string, epoch uint64) (acknowledged func(casts int64)) {
	l.mu.Lock()
	newest := l.accountLocked(key).epoch
	l.mu.Unlock()
	return func(casts int64) {
		l.mu.Lock()
		defer l.mu.Unlock()
		a := l.accountLocked(key)
		if newest > epoch {
			l.violateLocked("%s: a save of epoch %d was acknowledged although epoch %d had been loaded", key, epoch, newest)
		}
		a.acked = max(a.acked, casts)
	}
}

// title notes that a title was granted to a player.
func (l *ledger) title(key, title string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accountLocked(key)
	if a.titles[title] {
		l.violateLocked("%s: title %s was granted twice", key, title)
	}
	a.titles[title] = true
}

// result notes the bytes of a season's result as somebody read them.
func (l *ledger) result(season, digest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.mu.results[season]; ok && before != digest {
		l.violateLocked("season %s: its result changed", season)
		return
	}
	l.mu.results[season] = digest
}

// keys are the players that the ledger knows, in order.
func (l *ledger) keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.mu.accounts))
}

// announced are the titles that a player was told of so far.
func (l *ledger) announced(key string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.accountLocked(key).titles))
}

// audited compares what is stored at the end with what was acknowledged, told and granted.
func (l *ledger) audited(key string, b book) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accountLocked(key)
	if b.casts < a.acked || b.casts > a.played {
		l.violateLocked("%s: %d casts are stored; %d were acknowledged, %d made", key, b.casts, a.acked, a.played)
	}
	for _, title := range b.announced {
		if b.ranks[title] == 0 {
			l.violateLocked("%s: title %s was announced and is not stored", key, title)
		}
	}
	for season, fish := range a.late {
		b.counts(season, fish)
	}
	if counted := b.counted(); counted != b.fish {
		l.violateLocked("%s: %d fish are in the profile, and %d in all seasons together", key, b.fish, counted)
	}
	if b.coins != b.earned+b.prizes() {
		l.violateLocked("%s: %d coins; %d were earned by fishing, and the titles are worth %d", key, b.coins, b.earned, b.prizes())
	}
}

// verdict is what the ledger found: how many promises were broken, and the first of them.
func (l *ledger) verdict() (broken int, first []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.broken, append([]string(nil), l.mu.violations...)
}
