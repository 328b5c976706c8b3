package sim

import (
	"sync"
	"time"
)

// Score is what one run has shown, or many.
type Score struct {
	Violations []Violation
	Excused    int // losses by a declared double fault (PROTOCOL.md D S1)
	StepsLost  int // the most that one session lost, double faults apart
	Outbid     int
	Wrong      int           // verdicts on hosts that lived
	StaleOwner time.Duration // the longest that a session went on beside its successor
	Learned    time.Duration // the longest from a takeover to the news of it
	Unsafe     time.Duration // the longest that a step was in the memory of its server only
	Exposed    time.Duration // the longest that steps were held by nothing after the fast store had forgotten them
	SlowOpen   time.Duration
	Opens      int
	Failed     int
	Shutdown   time.Duration
	Played     time.Duration // all sessions together
	Tally      Tally
	Waits      []time.Duration // of the loads of seasons, until the end of the scenario
	Events     map[string]int
	Leaks      int // notes, beats and markers left at rest
	Journals   int // journals left at rest
	Steps      uint64
	Runs       int
	Hash       uint64
}

// scoring is the part of a score that is counted during a run.
type scoring struct {
	mu struct {
		sync.Mutex
		opens, failed, outbid int
		slowest               time.Duration
		shutdown              time.Duration
	}
}

// opened counts a load that opened.
func (s *scoring) opened(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.opens++
	s.mu.slowest = max(s.mu.slowest, after)
}

// refused counts a load that opened nothing.
func (s *scoring) refused(why Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch why {
	case Outbid:
		s.mu.outbid++
	case Failed:
		s.mu.failed++
	case Ended, Opened, Refused:
	}
}

// closed counts a server that closed in order.
func (s *scoring) closed(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.shutdown = max(s.mu.shutdown, after)
}

// scoreNow is what the run has shown so far.
func (f *Fleet) scoreNow() Score {
	out := f.Ledger.score()
	f.scoring.mu.Lock()
	defer f.scoring.mu.Unlock()
	c := &f.scoring.mu
	out.Opens, out.Failed, out.Outbid, out.SlowOpen, out.Shutdown = c.opens, c.failed, c.outbid, c.slowest, c.shutdown
	out.Tally, out.Runs = f.tally, 1
	return out
}

// score sums up the ledger.
func (l *Ledger) score() Score {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := Score{Excused: l.mu.excused, Wrong: l.mu.wrong, Learned: l.mu.learned, Exposed: l.mu.exposed, Unsafe: l.mu.unsafe, Events: make(map[string]int)}
	out.Violations = append(out.Violations, l.mu.violations...)
	out.Waits = append(out.Waits, l.mu.reef.waits...)
	for event, n := range l.mu.events {
		out.Events[event] = n
	}
	for _, pg := range l.mu.pages {
		for _, t := range pg.tenures {
			out.weigh(t, l.now())
		}
	}
	return out
}

// weigh adds what one session shows.
func (s *Score) weigh(t *Tenure, now time.Duration) {
	if t.unseen {
		return
	}
	end := now
	if t.over {
		end = t.ended
	}
	s.Played += end - t.opened
	if t.after == nil {
		return
	}
	if has := contained(t.after, t); t.forgotten <= has { // otherwise it is a double fault
		s.StepsLost = max(s.StepsLost, len(t.commits)-has)
	}
	if !t.over || t.end == Lost {
		s.StaleOwner = max(s.StaleOwner, end-t.after.opened)
	}
}

// Add sums up many runs: the worst, the sum, as the column wants.
func (s *Score) Add(o *Score) {
	s.Violations = append(s.Violations, o.Violations...)
	s.Excused += o.Excused
	s.StepsLost = max(s.StepsLost, o.StepsLost)
	s.Outbid += o.Outbid
	s.Wrong += o.Wrong
	s.StaleOwner = max(s.StaleOwner, o.StaleOwner)
	s.Learned = max(s.Learned, o.Learned)
	s.Unsafe = max(s.Unsafe, o.Unsafe)
	s.Exposed = max(s.Exposed, o.Exposed)
	s.SlowOpen = max(s.SlowOpen, o.SlowOpen)
	s.Opens += o.Opens
	s.Failed += o.Failed
	s.Shutdown = max(s.Shutdown, o.Shutdown)
	s.Played += o.Played
	s.Leaks += o.Leaks
	s.Journals += o.Journals
	s.Steps += o.Steps
	s.Waits = append(s.Waits, o.Waits...)
	s.Runs += o.Runs
	s.Tally.add(&o.Tally)
	if s.Events == nil {
		s.Events = make(map[string]int)
	}
	for event, n := range o.Events {
		s.Events[event] += n
	}
}

func (t *Tally) add(o *Tally) {
	for i := range t.Calls {
		t.Calls[i] += o.Calls[i]
	}
	for _, n := range []struct{ to, from *uint64 }{
		{&t.Unknown, &o.Unknown},
		{&t.Late, &o.Late},
		{&t.Refused, &o.Refused},
		{&t.Throttled, &o.Throttled},
		{&t.Conflict, &o.Conflict},
		{&t.Twins, &o.Twins},
		{&t.Messages, &o.Messages},
		{&t.Reads, &o.Reads},
		{&t.Writes, &o.Writes},
		{&t.FastCalls, &o.FastCalls},
		{&t.Clock, &o.Clock},
		{&t.Published, &o.Published},
	} {
		*n.to += *n.from
	}
}
