package profile_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// act is one thing that a game does to a session, or that happens to it.
type act struct {
	what   string            // set, grant, undo, rollback, sync, save, wait, release or crash
	values map[string]*int64 // of set and grant: a member, and its value; nil takes it away
	back   int               // of undo and rollback: how many commits ago
}

// drawActs makes any sequence of them.
func drawActs(t *rapid.T) []act {
	one := rapid.Custom(func(t *rapid.T) act {
		a := act{what: rapid.SampledFrom([]string{"set", "set", "set", "grant", "undo", "undo", "rollback", "sync", "save", "wait", "release", "crash"}).Draw(t, "what")}
		switch a.what {
		case "set", "grant":
			a.values = rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.Ptr(rapid.Int64Range(0, 3), true), 1, 2).Draw(t, "values")
		case "undo", "rollback":
			a.back = rapid.IntRange(0, 3).Draw(t, "back")
		}
		return a
	})
	return rapid.SliceOfN(one, 1, 25).Draw(t, "acts")
}

// ops are the operations of an act.
func (a act) ops() (ops []doc.Op) {
	for name, v := range a.values {
		at := doc.P(name)
		if v == nil {
			ops = append(ops, doc.Merge(doc.P(), doc.MustObject(map[string]doc.Value{name: doc.Null()}))) // there, so that it can be unset
			ops = append(ops, doc.Unset(at))
			continue
		}
		ops = append(ops, doc.Set(at, doc.Int(*v)))
	}
	return ops
}

// model is what must be: the data at each revision, and what was promised to be kept.
type model struct {
	states map[uint64]doc.Value
	now    uint64
	kept   uint64 // acknowledged through this revision
	past   []change
}

// change is a commit of this session that can be taken back.
type change struct {
	revision uint64
	touched  map[string][2]doc.Value // what was there, and what it became; null: nothing
	claim    bool
}

// apply is the model's idea of a transaction.
func (m *model) apply(to doc.Value, claim bool) change {
	was, c := m.states[m.now], change{touched: make(map[string][2]doc.Value), claim: claim}
	for _, name := range []string{"a", "b", "c"} {
		before, _ := was.Member(name)
		after, _ := to.Member(name)
		if !before.Equal(after) {
			c.touched[name] = [2]doc.Value{before, after}
		}
	}
	if len(c.touched) == 0 && !claim {
		return c
	}
	m.now++
	c.revision, m.states[m.now] = m.now, to
	m.past = append(m.past, c)
	return c
}

// undone is what taking back a commit makes of the data; false when something has come between.
func (m *model) undone(c change) (doc.Value, bool) {
	v := m.states[m.now]
	for name, t := range c.touched {
		if now, _ := v.Member(name); !now.Equal(t[1]) {
			return v, false
		}
		op := doc.Set(doc.P(name), t[0])
		if t[0].IsNull() {
			op = doc.Unset(doc.P(name))
		}
		v = must(doc.Apply(v, op))
	}
	return v, true
}

// Any sequence of transactions, grants, undos, rollbacks, syncs, saves, hand-backs and crashes:
// the data is at each moment what the model says; after a crash it is what it was at some
// revision, not before the last that was acknowledged; and a receipt is granted once.
func TestAnySequenceIsAsTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		acts := drawActs(rt)
		var problem error
		bubble(t, func(t *testing.T, f *fleet) { problem = playActs(f, acts) })
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

func playActs(f *fleet, acts []act) error {
	opts := func() *profile.Options {
		return &profile.Options{JournalEvery: time.Second, Template: doc.Must(map[string]any{"level": 1})}
	}
	home := f.start("n", opts())
	s := home.load("u", nil)
	m := &model{states: map[uint64]doc.Value{0: s.Data()}}
	granted := 0
	for i, a := range acts {
		switch a.what {
		case "set":
			if _, err := s.Transact(game, a.ops()...); err != nil {
				return fmt.Errorf("act %d: %w", i, err)
			}
			m.apply(must(doc.Apply(m.states[m.now], a.ops()...)), false)
		case "grant":
			g, err := s.Grant(f.t.Context(), fmt.Sprint("r", granted/2), game, a.ops()...)
			if err != nil || g.Repeated != (granted%2 == 1) {
				return fmt.Errorf("act %d: granted %+v, %w", i, g, err)
			}
			if !g.Repeated {
				m.apply(must(doc.Apply(m.states[m.now], a.ops()...)), true)
				m.kept = m.now
			}
			granted++
		case "undo":
			if err := m.undo(s, a.back); err != nil {
				return fmt.Errorf("act %d: %w", i, err)
			}
		case "rollback":
			if a.back < len(m.past) {
				to := m.past[len(m.past)-1-a.back].revision - 1
				if _, err := s.Rollback(game, to); err != nil {
					return fmt.Errorf("act %d: %w", i, err)
				}
				m.apply(m.states[to], false)
			}
		case "sync":
			if err := s.Sync(f.t.Context()); err != nil {
				return fmt.Errorf("act %d: %w", i, err)
			}
			m.kept = m.now
		case "save":
			if err := s.Save(f.t.Context()); err != nil {
				return fmt.Errorf("act %d: %w", i, err)
			}
			m.kept = m.now
		case "wait":
			time.Sleep(1700 * time.Millisecond)
		case "release":
			if err := s.Release(f.t.Context()); err != nil {
				return fmt.Errorf("act %d: %w", i, err)
			}
			m.kept = m.now
			s = home.load("u", nil)
			m.past = nil
		case "crash":
			home.kill()
			home = f.start("n", opts())
			s = home.load("u", nil)
			if s.Revision() < m.kept || s.Revision() > m.now {
				return fmt.Errorf("act %d: revision %d after a crash, %d to %d expected", i, s.Revision(), m.kept, m.now)
			}
			m.now, m.past = s.Revision(), nil
			m.kept = m.now
		}
		if got, want := s.Data(), m.states[m.now]; !got.Equal(want) || s.Revision() != m.now {
			return fmt.Errorf("act %d (%s): revision %d with %v, want %d with %v", i, a.what, s.Revision(), got, m.now, want)
		}
	}
	return nil
}

// undo takes a commit back, in the session and in the model.
func (m *model) undo(s *profile.Session, back int) error {
	if back >= len(m.past) {
		return nil
	}
	c := m.past[len(m.past)-1-back]
	want, free := m.undone(c)
	_, err := s.Undo(game, profile.Which{Revision: c.revision}, nil)
	switch {
	case c.claim:
		if !errors.Is(err, profile.ErrClaimed) {
			return fmt.Errorf("undo of a grant: %w", err)
		}
	case !free:
		if !errors.Is(err, profile.ErrChanged) {
			return fmt.Errorf("undo of what has changed since: %w", err)
		}
	case err != nil:
		return err
	default:
		m.apply(want, false)
	}
	return nil
}
