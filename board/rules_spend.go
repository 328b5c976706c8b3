package board

import "time"

// spend is a budget of so much in any stretch of time. A negative limit is none.
type spend struct {
	limit  int
	within time.Duration
	spent  []payment // not yet old, in the order of time
	sum    int
}

type payment struct {
	at time.Time
	n  int
}

// left is how much may be spent now.
func (s *spend) left(now time.Time) int {
	if s.limit < 0 {
		return 1<<31 - 1
	}
	old := 0
	for ; old < len(s.spent) && now.Sub(s.spent[old].at) >= s.within; old++ {
		s.sum -= s.spent[old].n
	}
	s.spent = s.spent[old:]
	return s.limit - s.sum
}

// pay spends n, which is left.
func (s *spend) pay(now time.Time, n int) {
	if s.limit >= 0 {
		s.spent = append(s.spent, payment{now, n})
		s.sum += n
	}
}
