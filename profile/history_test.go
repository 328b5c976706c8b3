package profile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

func transact(t *testing.T, s *profile.Session, ops ...doc.Op) profile.Commit {
	t.Helper()
	c, err := s.Transact(game, ops...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUndoTakesOneCommitBack(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", nil).load("u", nil)
		transact(t, s, doc.Set("/name", doc.MustString("x")), doc.AppendTo("/bag", doc.Int(1)))
		sold := transact(t, s, doc.Increment("/coins", 5), doc.Unset("/name"))
		transact(t, s, doc.AppendTo("/bag", doc.Int(2)))
		undo, err := s.Undo(profile.Source{Kind: profile.SourceOperator, Actor: "ann"}, profile.Which{ID: sold.ID}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Data().String(); got != `{"bag":[1,2],"name":"x"}` || undo.Revision != 4 || undo.Source.Actor != "ann" || undo.Source.Note != "undo of "+sold.ID {
			t.Errorf("%s, %+v", got, undo)
		}
		redo, err := s.Undo(game, profile.Which{Revision: undo.Revision}, nil)
		if got := s.Data().String(); err != nil || got != `{"bag":[1,2],"coins":5}` {
			t.Errorf("redone: %s, %v", got, err)
		}
		if _, err := s.Undo(game, profile.Which{Revision: redo.Revision}, nil); err != nil || coins(s.Data()) != 0 {
			t.Errorf("and again: %v, %v", s.Data(), err)
		}
	})
}

func TestUndoRefusesOnConflict(t *testing.T) {
	for name, c := range map[string]struct {
		first, later []doc.Op
		paths        string // empty: no conflict
	}{
		"the same member":                {ops(doc.Set("/a", doc.Int(1))), ops(doc.Set("/a", doc.Int(2))), "/a"},
		"another member":                 {ops(doc.Set("/a", doc.Int(1))), ops(doc.Set("/b", doc.Int(2))), ""},
		"changed and changed back":       {ops(doc.Set("/a", doc.Int(1))), ops(doc.Set("/a", doc.Int(2)), doc.Set("/a", doc.Int(1))), ""},
		"inside what was put":            {ops(doc.Set("/a", doc.Must(map[string]any{"x": 1}))), ops(doc.Set("/a/y", doc.Int(2))), "/a"},
		"what it lies in was replaced":   {ops(doc.Set("/o/a", doc.Int(1))), ops(doc.Set("/o", doc.Int(2))), "/o/a"},
		"what it lies in was taken away": {ops(doc.Unset("/o/x")), ops(doc.Unset("/o")), "/o/x"},
		"the same list, elsewhere":       {ops(doc.Set("/l/0", doc.Int(9))), ops(doc.AppendTo("/l", doc.Int(2))), "/l"},
		"items that have moved":          {ops(doc.RemoveAt("/l", 0)), ops(doc.InsertAt("/l", 0, doc.Int(7))), "/l"},
		"deep in the same list":          {ops(doc.Set("/deep/0/in/0", doc.Int(9))), ops(doc.Set("/deep/1/in", doc.List())), "/deep"},
		"a list beside":                  {ops(doc.AppendTo("/l", doc.Int(9))), ops(doc.AppendTo("/m", doc.Int(2))), ""},
		"two of three":                   {ops(doc.Set("/a", doc.Int(1)), doc.Set("/b", doc.Int(1)), doc.Set("/c", doc.Int(1))), ops(doc.Unset("/a"), doc.Unset("/c")), "/a /c"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				template := doc.Must(map[string]any{"o": map[string]any{"x": 1}, "l": []any{1, 2}, "m": []any{}, "deep": []any{map[string]any{"in": []any{1}}, map[string]any{"in": []any{2}}}})
				s := f.start("a", &profile.Options{Template: template}).load("u", nil)
				first := transact(t, s, c.first...)
				for _, op := range c.later {
					transact(t, s, op)
				}
				before, revision := s.Data(), s.Revision()
				_, err := s.Undo(game, profile.Which{ID: first.ID}, nil)
				if c.paths == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				var conflict *profile.ConflictError
				if !errors.As(err, &conflict) || !errors.Is(err, profile.ErrChanged) || conflict.Commit != first.ID {
					t.Fatalf("%v, %v", s.Data(), err)
				}
				var names []string
				for _, p := range conflict.Paths {
					names = append(names, p.String())
				}
				if got := strings.Join(names, " "); got != c.paths {
					t.Errorf("conflicts at %s, want %s", got, c.paths)
				}
				if !s.Data().Equal(before) || s.Revision() != revision {
					t.Errorf("a refused undo left %v", s.Data())
				}
			})
		})
	}
}

func ops(list ...doc.Op) []doc.Op { return list }

// Undo and Rollback go through what a transaction goes through.
func TestUndoIsGuarded(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", &profile.Options{Validate: func(v doc.Value) error {
			if _, ok := v.Member("name"); !ok && coins(v) > 0 {
				return errors.New("who has coins has a name")
			}
			return nil
		}}).load("u", nil)
		named := transact(t, s, doc.Set("/name", doc.MustString("x")))
		transact(t, s, doc.Increment("/coins", 1))
		if _, err := s.Undo(game, profile.Which{ID: named.ID}, nil); !errors.Is(err, profile.ErrSchema) {
			t.Errorf("%v", err)
		}
		first, err := s.Undo(profile.Source{ID: "once"}, profile.Which{Revision: 2}, nil)
		again, err2 := s.Undo(profile.Source{ID: "once"}, profile.Which{Revision: 2}, nil)
		if err != nil || err2 != nil || !again.Repeated || again.Revision != first.Revision || coins(s.Data()) != 0 {
			t.Errorf("%+v, %v, %+v, %v", first, err, again, err2)
		}
		if _, err := s.Undo(game, profile.Which{ID: "nobody"}, nil); !errors.Is(err, profile.ErrForgotten) {
			t.Errorf("%v", err)
		}
		release(t, s)
		if _, err := s.Undo(game, profile.Which{Revision: 1}, nil); !errors.Is(err, profile.ErrEnded) {
			t.Errorf("%v", err)
		}
	})
}

func TestACommitWithAClaimIsNotSimplyTakenBack(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", nil).load("u", nil)
		add(t, s, 1)
		if err := grant(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Undo(game, profile.Which{Revision: 2}, nil); !errors.Is(err, profile.ErrClaimed) || coins(s.Data()) != 11 {
			t.Errorf("%v, %v", s.Data(), err)
		}
		if _, err := s.Undo(game, profile.Which{Revision: 2}, &profile.UndoOptions{Force: true}); err != nil || coins(s.Data()) != 1 {
			t.Errorf("%v, %v", s.Data(), err)
		}
		back, err := s.Rollback(game, 1)
		if err != nil || coins(s.Data()) != 1 || len(back.TakenBack) != 2 || len(back.Claimed) != 1 || back.Claimed[0].Claim != rowKey || back.Claimed[0].Revision != 2 {
			t.Errorf("%+v, %v", back, err)
		}
		if f.durable(rowKey).Missing() {
			t.Error("the receipt is gone")
		}
	})
}

func TestTheHistoryIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{History: 4, HistoryBytes: 8 << 10})
		s := a.load("u", nil)
		for range 10 {
			add(t, s, 1)
		}
		h := s.History()
		if len(h) != 4 || h[0].Revision != 7 || h[3].Revision != 10 || len(h[0].Edits) != 1 {
			t.Errorf("%+v", h)
		}
		if _, err := s.Rollback(game, 5); !errors.Is(err, profile.ErrForgotten) {
			t.Errorf("%v", err)
		}
		if back, err := s.Rollback(game, 6); err != nil || coins(s.Data()) != 6 || len(back.TakenBack) != 4 {
			t.Errorf("%+v, %v", back, err)
		}
		large := doc.MustString(strings.Repeat("x", 5000))
		transact(t, s, doc.Set("/text", large))
		if h := s.History(); len(h) != 4 {
			t.Errorf("%d", len(h))
		}
		transact(t, s, doc.Set("/text", doc.Int(1))) // it keeps the text that was there
		if h := s.History(); len(h) != 1 || h[0].Revision != 13 {
			t.Errorf("%d of at most 8 KiB", len(h))
		}
		transact(t, s, doc.Set("/text", doc.MustString(strings.Repeat("x", 9000))))
		if h := s.History(); len(h) != 0 {
			t.Errorf("%d of at most 8 KiB", len(h))
		}
		none := f.start("b", &profile.Options{History: -1}).load("v", nil)
		add(t, none, 1)
		if h := none.History(); len(h) != 0 {
			t.Errorf("%+v", h)
		}
	})
}

// Any sequence of transactions, undos and rollbacks equals the model: an undo without a
// conflict leaves every place that its commit touched as it was before it and everything else
// alone, and a rollback is the very state.
func TestUndoAndRollbackEqualTheModel(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		n := 0
		rapid.Check(timeless{t}, func(rt *rapid.T) {
			n++
			s := a.load(fmt.Sprint("u", n), nil)
			at := []doc.Value{s.Data()} // by revision
			for range rapid.IntRange(1, 25).Draw(rt, "steps") {
				now, rev := s.Data(), uint64(len(at)-1)
				switch rapid.IntRange(0, 4).Draw(rt, "what") {
				case 0:
					to := rapid.Uint64Range(0, rev).Draw(rt, "to")
					back, err := s.Rollback(game, to)
					if err != nil || !s.Data().Equal(at[to]) || uint64(len(back.TakenBack)) != rev-to {
						rt.Fatalf("rollback to %d: %v, want %v: %v", to, s.Data(), at[to], err)
					}
				case 1:
					if rev == 0 {
						continue
					}
					of := rapid.Uint64Range(1, rev).Draw(rt, "of")
					_, err := s.Undo(game, profile.Which{Revision: of}, nil)
					undoing{at[of-1], at[of], now, of == rev}.check(rt, s.Data(), err)
				default:
					_, _ = s.Transact(game, anyOps(rt, now)...)
				}
				if s.Revision() > rev {
					at = append(at, s.Data())
				} else if !s.Data().Equal(now) {
					rt.Fatalf("%v became %v without a commit", now, s.Data())
				}
			}
			release(t, s)
		})
	})
}

// undoing is an undo of a commit, with the data before and after it, and now.
type undoing struct {
	before, after, now doc.Value
	last               bool // nothing was committed since
}

// check compares what it made of the data with a model that looks at the whole documents.
func (u undoing) check(rt *rapid.T, got doc.Value, err error) {
	before, after, now, last := u.before, u.after, u.now, u.last
	if errors.Is(err, profile.ErrChanged) {
		if last {
			rt.Fatalf("the last commit conflicts: %v", err)
		}
		if !got.Equal(now) {
			rt.Fatalf("refused, and it left %v", got)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	if last && !got.Equal(before) {
		rt.Fatalf("the last commit undone: %v, want %v", got, before)
	}
	for _, name := range []string{"a", "b", "l", "m", "coins"} {
		was, had := before.Member(name)
		became, has := after.Member(name)
		if had == has && was.Equal(became) { // not touched
			was, had = now.Member(name)
		} else if x, ok := now.Member(name); x.Kind() != doc.KindObject && (ok != has || !x.Equal(became)) {
			rt.Fatalf("%s changed from %v to %v after the commit, and was undone", name, became, x)
		} else if x.Kind() == doc.KindObject { // touched in part: the rest is as it is now
			continue
		}
		is, ok := got.Member(name)
		if ok != had || !is.Equal(was) {
			rt.Fatalf("%s is %v, want %v", name, is, was)
		}
	}
}

// What is taken back is durable like any other commit, and journaled like any other.
func TestAnUndoSurvivesTheNode(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		add(t, s, 7)
		if _, err := s.Undo(game, profile.Which{Revision: s.Revision()}, nil); err != nil {
			t.Fatal(err)
		}
		add(t, s, 1)
		syncNow(t, s)
		recovered(t, a, b, 6)
	})
}
