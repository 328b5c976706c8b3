package sim

// Excused is how many losses were declared ones so far.
func (l *Ledger) Excused() int { return l.score().Excused }

// At has a step be released.
func (l *Ledger) At(step uint64) { l.step = func() uint64 { return step } }
