package board

import "time"

// Stats are the numbers of a service since it began.
type Stats struct {
	Boards map[string]Counts // of each board that is defined
	// Total is the sum over the boards, the refused submits to no board included; Oldest is
	// the oldest of all.
	Total Counts
}

// Counts are the numbers of a board.
type Counts struct {
	Submitted uint64 // accepted submits
	Written   uint64 // values that the store has acknowledged; several submits make one value
	Failed    uint64 // values that failed to be written, counted each time
	Dropped   uint64 // values given up after MaxWriteAttempts
	Refused   uint64 // refused submits, and values that the store will never take
	Removed   uint64 // values taken out of the queue by Remove or Drop

	Queued   int           // values that wait
	InFlight int           // values that are being written, or whose outcome is unknown
	Oldest   time.Duration // age of the oldest value that waits or is being written, give or take a window; 0 when none
}

// Stats are the numbers as of now. It looks into each queue, one part at a time.
func (s *Service) Stats() Stats {
	now := s.uptime()
	out := Stats{Boards: make(map[string]Counts)}
	out.Total.Refused = s.strays.Load()
	for _, b := range s.boards.Load().sorted {
		n := b.stats(now)
		out.Boards[b.name] = n
		out.Total.add(n)
	}
	return out
}

func (b *board) stats(now time.Duration) Counts {
	submitted, oldest, waits := b.queue.measure()
	all, unsettled := b.unwritten()
	out := Counts{
		Submitted: submitted,
		Written:   b.counts.written.Load(),
		Failed:    b.counts.failed.Load(),
		Dropped:   b.counts.dropped.Load(),
		Refused:   b.counts.refused.Load(),
		Removed:   b.counts.removed.Load(),
		Queued:    all - unsettled,
		InFlight:  unsettled,
	}
	if held, ok := b.oldestHeld(); ok && (!waits || held < oldest) {
		oldest, waits = held, true
	}
	if waits {
		out.Oldest = max(0, now-oldest)
	}
	return out
}

func (t *Counts) add(n Counts) {
	t.Submitted += n.Submitted
	t.Written += n.Written
	t.Failed += n.Failed
	t.Dropped += n.Dropped
	t.Refused += n.Refused
	t.Removed += n.Removed
	t.Queued += n.Queued
	t.InFlight += n.InFlight
	t.Oldest = max(t.Oldest, n.Oldest)
}
