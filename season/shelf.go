package season

import (
	"sync"
	"time"
)

// MaxResults is how many results a node keeps in memory; when there is one more, the one that
// was used longest ago leaves and is read again when it is needed.
const MaxResults = 256

const (
	maxAbsent = 4096             // seasons remembered as not closed yet
	maxEarly  = 4096             // closed seasons above closedThrough
	absentFor = 30 * time.Second // how long "no result yet" is believed
)

// shelf is what a node knows of closed seasons. Results never change, so they are kept as
// long as there is room.
type shelf struct {
	limit   int
	looking looks // one read of the store serves all

	mu struct {
		sync.Mutex
		results map[int64]*shelved
		used    uint64
		epoch   uint64              // see epoch
		absent  map[int64]time.Time // when a look found no result

		known    bool  // progress has been read
		started  bool  // the set has a first season
		first    int64 // the season of the set's first record
		through  int64 // every season from first to here is closed
		early    map[int64]bool
		progress uint64 // grows whenever another season is known to be closed

		heardAll int64          // the game has heard of every close up to here
		heard    map[int64]bool // and of these
	}
}

type shelved struct {
	result *Result
	used   uint64
}

func newShelf(limit int) *shelf {
	sh := &shelf{limit: limit, looking: newLooks()}
	sh.mu.results = make(map[int64]*shelved)
	sh.mu.absent = make(map[int64]time.Time)
	sh.mu.early = make(map[int64]bool)
	sh.mu.heard = make(map[int64]bool)
	sh.mu.through = -1
	sh.mu.progress = 1
	return sh
}

// get is a result that is in memory.
func (sh *shelf) get(k int64) (*Result, bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e, ok := sh.mu.results[k]
	if !ok {
		return nil, false
	}
	sh.mu.used++
	e.used = sh.mu.used
	return e.result, true
}

// epoch counts how often everything was forgotten.
func (sh *shelf) epoch() uint64 {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.mu.epoch
}

// put keeps a result: its season is closed. One that was read, or made, in an earlier epoch may
// name somebody who was erased since, so it is not kept.
func (sh *shelf) put(r *Result, epoch uint64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if epoch == sh.mu.epoch {
		sh.mu.used++
		sh.mu.results[r.K] = &shelved{r, sh.mu.used}
	}
	delete(sh.mu.absent, r.K)
	if len(sh.mu.results) > sh.limit {
		sh.evictLocked()
	}
	if sh.closedLocked(r.K) {
		return
	}
	if len(sh.mu.early) < maxEarly {
		sh.mu.early[r.K] = true
	}
	sh.mu.progress++
}

// forget has results read again when they are needed. What is known to be closed stays so.
func (sh *shelf) forget() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	clear(sh.mu.results)
	sh.mu.epoch++
}

// drop has one result read again.
func (sh *shelf) drop(k int64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	delete(sh.mu.results, k)
}

func (sh *shelf) evictLocked() {
	var oldest int64
	least := uint64(0)
	for k, e := range sh.mu.results {
		if least == 0 || e.used < least {
			oldest, least = k, e.used
		}
	}
	delete(sh.mu.results, oldest)
}

// isAbsent tells that a recent look found no result.
func (sh *shelf) isAbsent(k int64, now time.Time) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	at, ok := sh.mu.absent[k]
	return ok && now.Sub(at) < absentFor
}

func (sh *shelf) setAbsent(k int64, now time.Time) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if len(sh.mu.absent) >= maxAbsent {
		clear(sh.mu.absent)
	}
	sh.mu.absent[k] = now
}

// isClosed tells that season k is known to have a result.
func (sh *shelf) isClosed(k int64) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.closedLocked(k)
}

func (sh *shelf) closedLocked(k int64) bool {
	if sh.mu.early[k] {
		return true
	}
	return sh.mu.known && sh.mu.started && k >= sh.mu.first && k <= sh.mu.through
}

// progress is what is stored of the set's closing.
type progress struct {
	started bool  // the set has a first season
	first   int64 // that season
	through int64 // every season from first to here has a result; first-1 when none has
}

// know keeps what was read of first and closedThrough. Neither ever goes back.
func (sh *shelf) know(p progress) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if !sh.mu.known {
		sh.mu.heardAll = p.through
	}
	sh.mu.known = true
	if p.started && !sh.mu.started { // what was before the first season is no news either
		sh.mu.heardAll = max(sh.mu.heardAll, p.first-1)
	}
	if p.started { // a read that is overtaken by a later one takes nothing back
		sh.mu.started, sh.mu.first = true, p.first
	}
	if p.through > sh.mu.through {
		sh.mu.through = p.through
		sh.mu.progress++
	}
	for k := range sh.mu.early {
		if k <= sh.mu.through {
			delete(sh.mu.early, k)
		}
	}
}

// stored is what is known of first and closedThrough.
func (sh *shelf) stored() progress {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return progress{sh.mu.started, sh.mu.first, max(sh.mu.through, sh.mu.first-1)}
}

// news counts how often another season became known as closed.
func (sh *shelf) news() uint64 {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.mu.progress
}

// stir has every open session looked at again: there may be corrections of what it was granted.
func (sh *shelf) stir() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.mu.progress++
}

// announced notes that the game hears of a season's close; false when it has.
func (sh *shelf) announced(k int64) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.mu.heard[k] || k <= sh.mu.heardAll {
		return false
	}
	sh.mu.heard[k] = true
	return true
}

// unheard lists seasons up to closedThrough that the game has not heard of, a few at a time.
// What was closed before the node first looked is not news.
func (sh *shelf) unheard(limit int) (ks []int64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for k := sh.mu.heardAll + 1; k <= sh.mu.through && len(ks) < limit; k++ {
		if !sh.mu.heard[k] {
			ks = append(ks, k)
			continue
		}
		if k == sh.mu.heardAll+1 {
			delete(sh.mu.heard, k)
			sh.mu.heardAll = k
		}
	}
	return ks
}
