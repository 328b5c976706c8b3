package board

import (
	"log/slog"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// The pure rules, for tests of their own.
var (
	Add           = add
	ParseDecimal  = parseDecimal
	FloatScore    = floatScore
	FormatDecimal = formatDecimal
	Deal          = deal
	Rotation      = rotation
	RetryDelay    = retryDelay
	BudgetOf      = budgetOf
	Affects       = affects
	Ranked        = ranked
	StandingsOf   = standingsOf
	FormatCursor  = formatCursor
	ParseCursor   = parseCursor
)

// Limits of the rules.
const (
	LongestRetry = longestRetry
	DrainPause   = drainPause
	HurryEvery   = hurryEvery
	MostSplits   = mostSplits
	MostKeys     = mostKeys
	MostCursor   = mostCursor
	MarkedFor    = markedFor
	LookEvery    = lookEvery
	TrimEvery    = trimEvery
)

// Value is what waits for a key.
type Value struct {
	Score int64
	Stamp store.Stamp
	Meta  string
}

// Coalesce is the rule of what waits.
func Coalesce(rule store.Rule, order store.Order, waits, next Value) (Value, bool) {
	v, fits := coalesce(rule, order, value{waits.Score, waits.Stamp, waits.Meta}, value{next.Score, next.Stamp, next.Meta})
	return Value{v.score, v.stamp, v.meta}, fits
}

// Fate names what an answer to a batch of n values means.
func Fate(n int, unknown bool, err error, sent bool, splits int) string {
	c := batch{values: make([]pending, n), unknown: unknown}
	switch fateOf(c, answer{err: err, sent: sent}, splits) {
	case written:
		return "written"
	case refused:
		return "refused"
	case split:
		return "split"
	case failed:
		return "failed"
	case unsure:
		return "unsure"
	}
	return "no fate"
}

// Host is what a service takes from its node.
type Host struct {
	ID      string
	Boards  store.Boards
	Records store.Records // nil: no moderation
	Bus     store.Bus
	Random  func(purpose, key string) uint64 // default: 1, 2, 3, …
	Clock   clock.Clock
	Now     func() time.Time
	Logger  *slog.Logger
	Closing <-chan struct{}
}

// NewOn makes a service without a node.
func NewOn(h Host, o *Options) (*Service, error) {
	next := uint64(0)
	random := h.Random
	if random == nil {
		random = func(string, string) uint64 { next++; return next }
	}
	return newService(host{
		id: h.ID, source: h.ID + "/boards", boards: h.Boards, records: h.Records, bus: h.Bus, clock: clock.Or(h.Clock),
		now: h.Now, logger: h.Logger, closing: h.Closing,
		random: random,
	}, o)
}

// KeepAudit has the service keep so many entries of the audit log.
func (s *Service) KeepAudit(n int) { s.moderation.keepAudit = n }

// CutReads is the step of Close that ends the reads, before anybody is told that it has begun.
func (s *Service) CutReads() { s.reads.close() }

// MostBans has the service allow so many bans.
func (s *Service) MostBans(n int) { s.moderation.maxBans = n }

// Queue is a queue by itself.
type Queue struct{ q queue }

// Waiting is what a queue gives out.
type Waiting struct {
	Key   string
	Score int64
	Since time.Duration
	Tries int
}

// NewQueue makes a queue with a rule and a limit.
func NewQueue(rule store.Rule, order store.Order, limit int64) *Queue {
	return &Queue{queue{rule: rule, order: order, limit: limit}}
}

// Submit combines a score with what waits.
func (q *Queue) Submit(key string, score int64, since time.Duration) error {
	return q.q.submit("board", &submission{key: key, value: value{score: score}, since: since})
}

// Detach takes out up to n values.
func (q *Queue) Detach(n int) []Waiting { return waiting(q.q.detach(n)) }

// Take takes out the values of the keys.
func (q *Queue) Take(keys ...string) []Waiting { return waiting(q.q.take(keys)) }

// GiveBack puts values to the front.
func (q *Queue) GiveBack(values []Waiting) {
	q.q.giveBack(queued(values))
}

// Depth is how many keys wait.
func (q *Queue) Depth() int { return int(q.q.depth.Load()) }

// Oldest is since when the oldest value waits.
func (q *Queue) Oldest() (time.Duration, bool) {
	_, since, ok := q.q.measure()
	return since, ok
}

// Slots is how much memory the queue holds, in values.
func (q *Queue) Slots() (n int) {
	for i := range q.q.parts {
		n += cap(q.q.parts[i].mu.slots)
	}
	return n
}

func waiting(values []pending) []Waiting {
	out := make([]Waiting, len(values))
	for i, v := range values {
		out[i] = Waiting{v.key, v.score, v.since, v.tries}
	}
	return out
}

// Opening begins a window in which keys are drawn one by one.
func (q *Queue) Opening() { q.q.opening() }

// Draw takes out one value of the window.
func (q *Queue) Draw() (Waiting, bool) {
	v, ok := q.q.draw()
	return Waiting{v.key, v.score, v.since, v.tries}, ok
}

// Returns puts values that were drawn behind what waits.
func (q *Queue) Returns(values []Waiting) { q.q.returns(queued(values)) }

func queued(values []Waiting) []pending {
	out := make([]pending, len(values))
	for i, v := range values {
		out[i] = pending{value: value{score: v.Score}, key: v.Key, since: v.Since, tries: v.Tries}
	}
	return out
}

// Tickets are those who wait with a value, for a test of their number.
type Tickets struct {
	t       *tickets
	callers []*promise
}

// Join adds a caller, who goes away at once or stays, and answers how many are listed.
func (t *Tickets) Join(stays bool) int {
	p := newPromise(&board{name: "K"}, make([]store.Submission, 1))
	t.t = t.t.and(p.ticket(0))
	if stays {
		t.callers = append(t.callers, p)
	} else {
		_ = p.leave(nil)
	}
	return len(*t.t)
}

// Settle settles the value, and answers how many callers have been told.
func (t *Tickets) Settle() (told int) {
	t.t.settle(nil)
	for _, p := range t.callers {
		select {
		case <-p.done:
			told++
		default:
		}
	}
	return told
}

// Fresh is how many banned keys wait to be taken out of the queues.
func (s *Service) Fresh() int {
	l := &s.moderation.list
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.mu.fresh)
}

// Kick wakes the writing goroutine, as a submit does whose score a window has written already.
func (s *Service) Kick() { s.kick() }
