package season

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shoalworks/shoal/store"
)

// docket is what a node knows of corrections. The index is believed for absentFor; the
// corrections of a season as long as there are as many as the index says, else for absentFor
// too. Neither ever gets fewer.
type docket struct {
	mu struct {
		sync.Mutex
		at       time.Time // when the index was last read, by the local clock; zero: never
		promised map[string]int
		lists    map[string]*listed // at most MaxResults
		signed   map[string]CloseRecord
		used     uint64
		erased   int // what the index said of erasures
	}
}

// listed are the corrections of a season, as last read.
type listed struct {
	list      []Correction
	promised  int // what the index said when they were read
	at        time.Time
	used      uint64
	standings *Standings // computed when first needed
}

func newDocket() *docket {
	d := new(docket)
	d.mu.promised = make(map[string]int)
	d.mu.lists = make(map[string]*listed)
	d.mu.signed = make(map[string]CloseRecord)
	return d
}

// good tells whether a list need not be read again.
func (l *listed) good(promised int, now time.Time) bool {
	return len(l.list) >= promised || l.promised >= promised && now.Sub(l.at) < absentFor
}

// isFresh tells that the index has been read lately.
func (d *docket) isFresh(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.mu.at.IsZero() && now.Sub(d.mu.at) < absentFor
}

// promise keeps what was read of the index; at is when the read began. grew tells that there may
// be corrections that were not known of.
func (d *docket) promise(seasons map[string]int, at time.Time) (grew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, n := range seasons {
		if n > d.mu.promised[id] {
			d.mu.promised[id], grew = n, true
		}
	}
	if at.After(d.mu.at) {
		d.mu.at = at
	}
	return grew
}

// count is how many corrections of a season there may be, as far as memory knows.
func (d *docket) count(id string, now time.Time) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.mu.promised[id]
	if l := d.mu.lists[id]; l != nil && l.good(n, now) {
		return len(l.list)
	}
	return n
}

// list answers a season's corrections from memory, and what the index says; ok is false when
// they have to be read.
func (d *docket) list(id string, now time.Time) (list []Correction, promised int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	promised = d.mu.promised[id]
	l := d.mu.lists[id]
	if l == nil {
		return nil, promised, promised == 0
	}
	d.mu.used++
	l.used = d.mu.used
	return l.list, promised, l.good(promised, now)
}

// put keeps corrections that were read, or stored, at a time when the index said promised. grew
// tells that there are more than those known before.
func (d *docket) put(id string, list []Correction, promised int, at time.Time) (grew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.used++
	before := d.mu.lists[id]
	l := &listed{list: list, promised: promised, at: at, used: d.mu.used}
	if before != nil && len(before.list) >= len(list) {
		l.list, l.standings = before.list, before.standings
	} else {
		grew = before != nil
	}
	d.mu.lists[id] = l
	if len(d.mu.lists) > MaxResults {
		oldest := ""
		for id, l := range d.mu.lists {
			if oldest == "" || l.used < d.mu.lists[oldest].used {
				oldest = id
			}
		}
		delete(d.mu.lists, oldest)
	}
	return grew
}

// standings are those of a result with the corrections, computed once for all who ask.
func (d *docket) standings(res *Result, list []Correction) *Standings {
	if len(list) == 0 {
		return standingsOf(res, nil)
	}
	if st := d.computed(res, len(list)); st != nil {
		return st
	}
	st := standingsOf(res, list)
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.mu.lists[res.Season]; l != nil && len(l.list) == len(list) {
		l.standings = st
	}
	return st
}

func (d *docket) computed(res *Result, count int) *Standings {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.mu.lists[res.Season]
	if l == nil || l.standings == nil || l.standings.Corrections != count || l.standings.Result != res {
		return nil
	}
	return l.standings
}

// unfulfilled lists seasons whose index promises more than was found, and which were not looked
// at lately: the write was lost, or comes later.
func (d *docket) unfulfilled(now time.Time) (ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, l := range d.mu.lists {
		if !l.good(d.mu.promised[id], now) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids[:min(len(ids), maxLookup)]
}

// erasedUpTo keeps what the index says of erasures. grew tells that results and corrections that
// were read before may name somebody who was erased; those corrections are forgotten. Of those that
// were not found yet it stays known that somebody waits for them.
func (d *docket) erasedUpTo(n int) (grew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n <= d.mu.erased {
		return false
	}
	d.mu.erased = n
	for id, l := range d.mu.lists {
		if len(l.list) >= d.mu.promised[id] {
			delete(d.mu.lists, id)
			continue
		}
		d.mu.lists[id] = &listed{used: l.used}
	}
	return true
}

// erasures is what the index said of erasures when it was last read.
func (d *docket) erasures() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.erased
}

// forget has a season's corrections read again.
func (d *docket) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.mu.lists, id)
}

// takeIndex keeps a read of the index, and has everybody who is online looked at when there is
// something new.
func (s *Service) takeIndex(data []byte, at time.Time) error {
	index, err := decodeCorrected(data)
	if err != nil {
		return err
	}
	if s.docket.erasedUpTo(index.Erased) {
		s.shelf.forget()
	}
	if s.docket.promise(index.Seasons, at) {
		s.shelf.stir()
	}
	return nil
}

// freshIndex reads the index of corrections if it has not been read lately. One read serves all.
func (s *Service) freshIndex(ctx context.Context) (err error) {
	if s.docket.isFresh(s.clock.Now()) {
		return nil
	}
	release, err := s.look(ctx)
	if err != nil {
		return err
	}
	defer func() { release(err) }()
	at := s.clock.Now()
	if s.docket.isFresh(at) {
		return nil
	}
	rec, err := s.read(ctx, correctedKey(s.set))
	if err != nil {
		return err
	}
	return s.takeIndex(rec.Value, at)
}

// corrections answers the corrections of seasons, as the index knows of them, from memory or
// with one read. A season without any is not in the answer.
func (s *Service) corrections(ctx context.Context, ids []string) (_ map[string][]Correction, err error) {
	out, missing := s.docketed(ids)
	if len(missing) == 0 {
		return out, nil
	}
	release, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { release(err) }()
	if out, missing = s.docketed(ids); len(missing) == 0 {
		return out, nil
	}
	keys := make([]string, len(missing))
	for i, m := range missing {
		keys[i] = correctionsKey(s.set, m.id)
	}
	at := s.clock.Now()
	recs, err := s.durable.Get(ctx, keys...)
	if err != nil {
		return nil, fmt.Errorf("season: read corrections of %s: %w", s.set, err)
	}
	for i, m := range missing {
		now, err := decodeCorrections(m.id, recs[i].Value)
		if err != nil {
			return nil, err
		}
		if s.docket.put(m.id, now.List, m.promised, at) {
			s.shelf.stir()
		}
	}
	out, _ = s.docketed(ids)
	return out, nil
}

// promised is a season whose corrections have to be read, and how many there may be.
type promised struct {
	id       string
	promised int
}

// docketed splits seasons into what memory answers for and what has to be read.
func (s *Service) docketed(ids []string) (out map[string][]Correction, missing []promised) {
	now := s.clock.Now()
	out = make(map[string][]Correction)
	for _, id := range ids {
		list, n, ok := s.docket.list(id, now)
		if !ok {
			missing = append(missing, promised{id, n})
		}
		if len(list) > 0 {
			out[id] = list
		}
	}
	return out, missing
}

// standingsFor is how results stand, as far as is known: corrections of the last absentFor may
// be missing.
func (s *Service) standingsFor(ctx context.Context, results []*Result) ([]*Standings, error) {
	ids := make([]string, len(results))
	for i, res := range results {
		ids[i] = res.Season
	}
	lists, err := s.corrections(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]*Standings, len(results))
	for i, res := range results {
		list := lists[res.Season]
		if s.docket.computed(res, len(list)) == nil && !fits(res, list) {
			s.shelf.drop(res.K)
			s.docket.forget(res.Season)
			return nil, fmt.Errorf("season: corrections of %s are about players whom the result does not have: %w", res.Season, errAgain)
		}
		out[i] = s.docket.standings(res, list)
	}
	return out, nil
}

// coherent reads standings again when a player was erased while they were read, or between: a
// result of before and corrections of after do not belong together.
func (s *Service) coherent(read func() ([]*Standings, error)) (list []*Standings, err error) {
	for range closeTries {
		before := s.docket.erasures()
		list, err = read()
		switch {
		case errors.Is(err, errAgain):
		case err != nil || s.docket.erasures() == before:
			return list, err
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("season: standings of %s: %w: players are being erased", s.set, store.ErrUnavailable)
}

// lookAgain reads corrections that were promised and not found, so that players who are online
// hear of one whose write took long.
func (s *Service) lookAgain(ctx context.Context) error {
	ids := s.docket.unfulfilled(s.clock.Now())
	if len(ids) == 0 {
		return nil
	}
	_, err := s.corrections(ctx, ids)
	return err
}
