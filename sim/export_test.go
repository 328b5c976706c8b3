package sim

import "github.com/shoalworks/shoal/doc"

// Excused is how many losses were declared ones so far.
func (l *Ledger) Excused() int { return l.score().Excused }

// At has a step be released.
func (l *Ledger) At(step uint64) { l.step = func() uint64 { return step } }

// Staged is the deed of a line of a transcript: see Perform.
func Staged(verb, id string, args ...string) *Deed { return staged(verb, id, args) }

// OpsFor is what a deed does to a profile.
func (d *Deed) OpsFor(key string) []doc.Op {
	if key == d.to {
		return d.letter.ops()
	}
	return d.hands[key].ops()
}
