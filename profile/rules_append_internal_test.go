package profile

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/store"
)

// journalHoldAt is the hold of the session "mine" in epoch 3; when it is opening, by the very
// version at which it stands.
func journalHoldAt(state journalState, version store.Version, rev uint64, sent ...store.Version) journalHold {
	h := journalHold{token: "mine", epoch: 3, state: state, version: version, rev: rev, sent: sent}
	if state == journalOpening {
		h.opening = version
	}
	return h
}

// openingBy is a hold whose opening append had another version than what stands there now.
func openingBy(opening, version store.Version, rev uint64, sent ...store.Version) journalHold {
	h := journalHoldAt(journalOpening, version, rev, sent...)
	h.opening = opening
	return h
}

// stands is a reading of a journal of the session "mine" in epoch 3, changed.
func stands(version store.Version, change func(*journal)) journalReading {
	j := journal{epoch: 3, token: "mine", base: 4, rev: 7, schema: 2}
	change(&j)
	return journalReading{version: version, journal: j}
}

func diffHolds(want, got journalHold) string {
	return cmp.Diff(want, got, cmp.AllowUnexported(journalHold{}), cmpopts.EquateEmpty())
}

func TestAppendAnswered(t *testing.T) {
	conflict := fmt.Errorf("x: %w", &store.ConflictError{Key: "k"})
	a := appended{version: 20, rev: 8}
	closed, opening, open := journalHoldAt(journalClosed, 10, 0), journalHoldAt(journalOpening, 10, 6), journalHoldAt(journalOpen, 10, 6)
	for name, c := range map[string]struct {
		h    journalHold
		a    appended
		err  error
		want journalHold
		step appendStep
	}{
		"open, done":                      {open, a, nil, journalHoldAt(journalOpen, 20, 8), appendDone},
		"open, done, nothing newer in it": {open, appended{20, 5}, nil, journalHoldAt(journalOpen, 20, 6), appendDone},
		"open, done after a lost answer":  {journalHoldAt(journalOpen, 10, 6, 15), a, nil, journalHoldAt(journalOpen, 20, 8), appendDone},
		"closed, done: it opens":          {closed, a, nil, journalHoldAt(journalOpening, 20, 8), appendSave},
		"opening, done: still opening":    {opening, a, nil, openingBy(10, 20, 8), appendDone},
		"opening, unknown":                {opening, a, store.ErrUnknown, openingBy(10, 10, 6, 20), appendReadBack},
		"unavailable":                     {open, a, store.ErrUnavailable, open, appendRefused},
		"too large":                       {open, a, store.ErrTooLarge, open, appendRefused},
		"conflict":                        {open, a, conflict, open, appendReadBack},
		"closed, conflict":                {closed, a, conflict, closed, appendReadBack},
		"unknown":                         {open, a, store.ErrUnknown, journalHoldAt(journalOpen, 10, 6, 20), appendReadBack},
		"closed, unknown":                 {closed, a, store.ErrUnknown, journalHoldAt(journalClosed, 10, 0, 20), appendReadBack},
		"bare context error":              {open, a, errors.New("context canceled"), journalHoldAt(journalOpen, 10, 6, 20), appendReadBack},
		"unknown, the second":             {journalHoldAt(journalOpen, 10, 6, 15), a, store.ErrUnknown, journalHoldAt(journalOpen, 10, 6, 15, 20), appendReadBack},
	} {
		t.Run(name, func(t *testing.T) {
			got, step := appendAnswered(c.h, c.a, c.err)
			if step != c.step {
				t.Errorf("step %d, want %d", step, c.step)
			}
			if d := diffHolds(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAppendAnsweredKeepsTheHoldItWasGiven(t *testing.T) {
	sent := make([]store.Version, 1, 4)
	sent[0] = 15
	h := journalHoldAt(journalOpen, 10, 6, sent...)
	one, _ := appendAnswered(h, appended{version: 20, rev: 7}, store.ErrUnknown)
	two, _ := appendAnswered(h, appended{version: 21, rev: 7}, store.ErrUnknown)
	if one.sent[1] != 20 || two.sent[1] != 21 || len(h.sent) != 1 {
		t.Errorf("two holds share their memory: %v %v %v", h.sent, one.sent, two.sent)
	}
}

func TestAppendReadBack(t *testing.T) {
	same := func(*journal) {}
	closed, open := journalHoldAt(journalClosed, 10, 0), journalHoldAt(journalOpen, 10, 6)
	opening, unsure := journalHoldAt(journalOpening, 10, 6), journalHoldAt(journalOpen, 10, 6, 15, 20)
	for name, c := range map[string]struct {
		h    journalHold
		j    journalReading
		want journalHold
		step appendStep
	}{
		"the last one sent":             {unsure, stands(20, same), journalHoldAt(journalOpen, 20, 7), appendDone},
		"one sent before":               {unsure, stands(15, same), journalHoldAt(journalOpen, 15, 7), appendDone},
		"an older one of them":          {unsure, stands(15, func(j *journal) { j.rev = 5 }), journalHoldAt(journalOpen, 15, 6), appendDone},
		"none of them applied":          {unsure, stands(10, same), unsure, appendAgain},
		"open, older than known":        {open, stands(9, same), journalHoldAt(journalClosed, 9, 0), appendAgain},
		"open, unsure, older than all":  {unsure, stands(9, same), journalHoldAt(journalClosed, 9, 0), appendAgain},
		"opening, where it was":         {opening, stands(10, same), opening, appendAgain},
		"opening, one sent since":       {openingBy(10, 10, 6, 20), stands(20, same), openingBy(10, 20, 7), appendDone},
		"opening, none of them applied": {openingBy(9, 10, 6, 20), stands(10, same), openingBy(9, 10, 6, 20), appendAgain},
		"opening, older":                {opening, stands(9, same), journalHoldAt(journalClosed, 9, 0), appendAgain},
		"closed, the opening one":       {journalHoldAt(journalClosed, 10, 0, 20), stands(20, same), journalHoldAt(journalOpening, 20, 7), appendSave},
		"closed, mine from before":      {closed, stands(10, same), journalHoldAt(journalClosed, 10, 0), appendAgain},
		"absent":                        {unsure, journalReading{}, journalHoldAt(journalClosed, 0, 0), appendAgain},
		"absent, opening":               {opening, journalReading{}, journalHoldAt(journalClosed, 0, 0), appendAgain},
		"lower epoch":                   {open, stands(9, func(j *journal) { j.epoch, j.token = 2, "old" }), journalHoldAt(journalClosed, 9, 0), appendAgain},
		"lower epoch, sealed":           {closed, stands(9, func(j *journal) { j.epoch, j.token, j.sealedBy = 2, "old", "x" }), journalHoldAt(journalClosed, 9, 0), appendAgain},
		"higher epoch":                  {open, stands(30, func(j *journal) { j.epoch, j.token = 4, "next" }), open, appendVerify},
		"higher epoch, sealed":          {open, stands(30, func(j *journal) { j.epoch, j.token, j.sealedBy = 4, "next", "x" }), open, appendVerify},
		"higher epoch with my token":    {open, stands(30, func(j *journal) { j.epoch = 4 }), open, appendVerify},
		"my epoch, another token":       {open, stands(30, func(j *journal) { j.token = "twin" }), open, appendVerify},
		"sealed":                        {open, stands(30, func(j *journal) { j.sealedBy = "x" }), open, appendLetGo},
		"closed, sealed":                {closed, stands(30, func(j *journal) { j.sealedBy = "x" }), closed, appendLetGo},
		"foreign":                       {open, journalReading{version: 30, problem: errors.New("x")}, journalHoldAt(journalBarred, 10, 6), appendBarred},
		"of a later format":             {closed, journalReading{version: 30, problem: errLaterFormat}, journalHoldAt(journalBarred, 10, 0), appendBarred},
		"sealed at a version I sent":    {unsure, stands(20, func(j *journal) { j.sealedBy = "x" }), unsure, appendLetGo},
		"lower epoch at a version sent": {unsure, stands(20, func(j *journal) { j.epoch = 2 }), journalHoldAt(journalClosed, 20, 0), appendAgain},
	} {
		t.Run(name, func(t *testing.T) {
			got, step := appendReadBackStep(c.h, c.j)
			if step != c.step {
				t.Errorf("step %d, want %d", step, c.step)
			}
			if d := diffHolds(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestChained(t *testing.T) {
	for name, c := range map[string]struct {
		h      journalHold
		opened store.Version
		want   journalHold
	}{
		"a save sent after it":              {journalHoldAt(journalOpening, 10, 6), 10, journalHoldAt(journalOpen, 10, 6)},
		"a save sent before it":             {journalHoldAt(journalOpening, 10, 6), 0, journalHoldAt(journalOpening, 10, 6)},
		"a save for an opening one before":  {journalHoldAt(journalOpening, 10, 6), 9, journalHoldAt(journalOpening, 10, 6)},
		"closed again since":                {journalHoldAt(journalClosed, 10, 0), 10, journalHoldAt(journalClosed, 10, 0)},
		"closed, nothing there":             {journalHoldAt(journalClosed, 0, 0), 0, journalHoldAt(journalClosed, 0, 0)},
		"appended to since":                 {openingBy(10, 12, 7), 10, journalHoldAt(journalOpen, 12, 7)},
		"a save for what was appended":      {openingBy(10, 12, 7), 12, openingBy(10, 12, 7)},
		"open already":                      {journalHoldAt(journalOpen, 10, 6), 0, journalHoldAt(journalOpen, 10, 6)},
		"barred meanwhile":                  {journalHoldAt(journalBarred, 10, 6), 10, journalHoldAt(journalBarred, 10, 6)},
		"open, unknown outcomes are kept":   {journalHoldAt(journalOpen, 10, 6, 15), 0, journalHoldAt(journalOpen, 10, 6, 15)},
		"chained, unknown outcomes as well": {journalHoldAt(journalOpening, 10, 6, 15), 10, journalHoldAt(journalOpen, 10, 6, 15)},
	} {
		t.Run(name, func(t *testing.T) {
			if d := diffHolds(c.want, c.h.chained(c.opened)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOpened(t *testing.T) {
	for state, want := range map[journalState]store.Version{
		journalClosed: 0, journalOpening: 10, journalOpen: 0, journalBarred: 0,
	} {
		if got := journalHoldAt(state, 10, 6).opened(); got != want {
			t.Errorf("state %d: a save takes %v along, want %v", state, got, want)
		}
	}
	if got := openingBy(10, 12, 7).opened(); got != 10 {
		t.Errorf("a save takes %v along, want the opening append's version", got)
	}
}

func TestAppendStart(t *testing.T) {
	closed, open := journalHoldAt(journalClosed, 10, 0), journalHoldAt(journalOpen, 10, 6)
	small := appendFacts{revision: 7, base: 5, size: 10, limit: 10}
	with := func(change func(*appendFacts)) appendFacts {
		f := small
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		h    journalHold
		f    appendFacts
		want appendStart
	}{
		"open, newer":                  {open, small, appendSend},
		"closed, newer":                {closed, small, appendSend},
		"all of it saved":              {closed, with(func(f *appendFacts) { f.base = 7 }), appendNothing},
		"all of it saved, and more":    {closed, with(func(f *appendFacts) { f.base = 8 }), appendNothing},
		"all of it journaled":          {open, with(func(f *appendFacts) { f.revision = 6 }), appendNothing},
		"opening":                      {journalHoldAt(journalOpening, 10, 6), small, appendNothing},
		"opening, saves do not land":   {journalHoldAt(journalOpening, 10, 6), with(func(f *appendFacts) { f.refused = true }), appendSend},
		"open, saves do not land":      {open, with(func(f *appendFacts) { f.refused = true }), appendSend},
		"opening, all of it there":     {journalHoldAt(journalOpening, 10, 7), with(func(f *appendFacts) { f.refused = true }), appendNothing},
		"a final save is under way":    {open, with(func(f *appendFacts) { f.frozen = true }), appendNothing},
		"too large":                    {open, with(func(f *appendFacts) { f.size = 11 }), appendOver},
		"too large, nothing newer":     {open, with(func(f *appendFacts) { f.size, f.revision = 11, 5 }), appendNothing},
		"barred":                       {journalHoldAt(journalBarred, 10, 0), small, appendOver},
		"barred, all of it saved":      {journalHoldAt(journalBarred, 10, 0), with(func(f *appendFacts) { f.base = 7 }), appendNothing},
		"an unknown outcome is no bar": {journalHoldAt(journalOpen, 10, 6, 15), small, appendSend},
	} {
		t.Run(name, func(t *testing.T) {
			if got := appendStartOf(c.h, c.f); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestSynced(t *testing.T) {
	for name, c := range map[string]struct {
		h              journalHold
		base, revision uint64
		want           bool
	}{
		"saved":                        {journalHoldAt(journalClosed, 0, 0), 7, 7, true},
		"saved, barred":                {journalHoldAt(journalBarred, 10, 0), 7, 7, true},
		"journaled":                    {journalHoldAt(journalOpen, 10, 7), 5, 7, true},
		"journaled, not all":           {journalHoldAt(journalOpen, 10, 6), 5, 7, false},
		"opening counts for nothing":   {journalHoldAt(journalOpening, 10, 7), 5, 7, false},
		"opening, but saved":           {journalHoldAt(journalOpening, 10, 7), 7, 7, true},
		"forgotten":                    {journalHoldAt(journalClosed, 10, 7), 5, 7, false},
		"barred with what was in it":   {journalHoldAt(journalBarred, 10, 7), 5, 7, false},
		"an unknown outcome is no bar": {journalHoldAt(journalOpen, 10, 7, 15), 5, 7, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.h.synced(c.base, c.revision); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
