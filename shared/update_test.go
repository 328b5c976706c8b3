package shared_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/shared"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/overlay"
)

func TestDocumentBeginsWithTheTemplate(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &shared.Options{Template: doc.MustObject(map[string]doc.Value{"n": doc.Int(40)})})
		if _, err := a.Read(t.Context(), "g"); !errors.Is(err, shared.ErrNoDocument) {
			t.Fatalf("read of a missing document: %v", err)
		}
		out, err := a.Transact(t.Context(), "g", shared.Source{Actor: "kim", Note: "why"}, doc.Increment("/n", 2))
		if err != nil {
			t.Fatal(err)
		}
		got := a.read("g")
		if count(got.Data) != 42 || got.Revision != 1 || got.Actor != "kim" || got.Note != "why" || got.Missing || got.Created.IsZero() {
			t.Errorf("stored %+v", got)
		}
		if out.Change != 1 || !out.Data.Equal(got.Data) {
			t.Errorf("answered %+v", out)
		}
	})
}

func TestNothingToChangeWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		out, err := a.Transact(t.Context(), "g", shared.Source{})
		if err != nil || out.Change != 0 || !out.Missing || out.Data.Kind() != doc.KindObject {
			t.Errorf("%+v, %v", out, err)
		}
		if !f.stored("g").Missing() {
			t.Error("a document was made of nothing")
		}
		a.add("g", "")
		before := f.stored("g").Version
		if out, err = a.Update(t.Context(), "g", shared.Source{}, func(doc.Value) ([]doc.Op, error) { return nil, nil }); err != nil || out.Change != 0 || count(out.Data) != 1 {
			t.Errorf("%+v, %v", out, err)
		}
		if f.stored("g").Version != before {
			t.Error("it was written again")
		}
	})
}

func TestRefusalsChangeNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		no := errors.New("not like this")
		a := f.start("a", &shared.Options{HardBytes: 64, Validate: func(v doc.Value) error {
			if n := count(v); n == 13 {
				return no
			} else if n == 14 {
				panic("boom")
			}
			return nil
		}})
		a.add("g", "")
		before := f.stored("g").Version
		ctx := t.Context()
		set := func(n int64) doc.Op { return doc.Set("/n", doc.Int(n)) }
		_, invalid := a.Transact(ctx, "g", shared.Source{}, set(13))
		_, panicked := a.Transact(ctx, "g", shared.Source{}, set(14))
		_, large := a.Transact(ctx, "g", shared.Source{}, doc.Set("/text", doc.MustString(strings.Repeat("x", 100))))
		_, wrong := a.Transact(ctx, "g", shared.Source{}, doc.AppendTo("/n", doc.Int(1)))
		_, own := a.Update(ctx, "g", shared.Source{}, func(doc.Value) ([]doc.Op, error) { return nil, no })
		_, key := a.Transact(ctx, "a/b", shared.Source{}, set(1))
		for name, c := range map[string]struct{ err, want error }{
			"invalid": {invalid, no}, "invalid too": {invalid, shared.ErrInvalid}, "panic": {panicked, shared.ErrInvalid},
			"large": {large, shared.ErrTooLarge}, "wrong type": {wrong, doc.ErrWrongType}, "own": {own, no},
		} {
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: %v, want %v", name, c.err, c.want)
			}
		}
		if key == nil {
			t.Error("a key with a slash was taken")
		}
		if f.stored("g").Version != before {
			t.Error("something was written")
		}
	})
}

func TestForeignValuesAreLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		f.plant("g", `{"hello":1}`)
		f.plant("h", `{"format":9}`)
		_, foreign := a.Transact(t.Context(), "g", shared.Source{}, doc.Set("/n", doc.Int(1)))
		_, later := a.Read(t.Context(), "h")
		if !errors.Is(foreign, shared.ErrForeign) || !errors.Is(later, shared.ErrNewerFormat) {
			t.Errorf("%v, %v", foreign, later)
		}
		if err := a.Delete(t.Context(), "h"); !errors.Is(err, shared.ErrNewerFormat) {
			t.Errorf("delete: %v", err)
		}
		if string(f.stored("g").Value) != `{"hello":1}` || string(f.stored("h").Value) != `{"format":9}` {
			t.Error("changed")
		}
	})
}

// Members of later releases come through a change byte by byte.
func TestUnknownMembersAreKept(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		f.plant("g", `{"commits":[{"id":"x","revision":3,"why":{"b": 1.50}}],"data":{"n":5},"format":1,"later":[1e2, 3],"revision":3}`)
		a.add("g", "")
		got := string(f.stored("g").Value)
		for _, part := range []string{`"later":[1e2, 3]`, `"why":{"b": 1.50}`, `"n":6`, `"revision":4`} {
			if !strings.Contains(got, part) {
				t.Errorf("lost %s in %s", part, got)
			}
		}
	})
}

func TestKnownIDIsAppliedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		a.add("g", "gift")
		out := b.add("g", "gift")
		if !out.Repeated || out.Change != 1 || count(out.Data) != 1 {
			t.Errorf("answered %+v", out)
		}
		if _, err := b.Transact(t.Context(), "g", shared.Source{ID: "gift"}, doc.Increment("/n", 2)); !errors.Is(err, shared.ErrRepeated) {
			t.Errorf("another request under the id: %v", err)
		}
		for i := range 63 {
			a.add("g", fmt.Sprint("other", i))
			a.add("g", "") // those without an id take no place
		}
		if out := a.add("g", "gift"); !out.Repeated {
			t.Error("forgotten among the last 64")
		}
		a.add("g", "one more")
		if out := a.add("g", "gift"); out.Repeated {
			t.Error("still known; the test expects the limit to be 64")
		}
	})
}

// Every answer in turn is lost in each way, and the caller asks again with the same id.
func TestEveryAnswerLostInTurn(t *testing.T) {
	faults := []faultstore.Fault{
		{Kind: faultstore.FailBefore},
		{Kind: faultstore.FailAfter},
		{Kind: faultstore.Hang},
		{Kind: faultstore.HangApplied},
		{Kind: faultstore.Late},
		{Kind: faultstore.Late, After: time.Millisecond},
		{Kind: faultstore.Late, After: 5 * time.Second},
	}
	for _, fault := range faults {
		for n := 1; n <= 12; n++ {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b := f.start("a", nil), f.start("b", nil)
				a.faults.SetRule(faultstore.Nth(n, about("g"), fault))
				for i := range 4 {
					a.add("g", fmt.Sprint("id", i)) // the library finds out by itself
					a.add("g", "")
					if i == 1 {
						b.add("g", "b")
					}
				}
				time.Sleep(10 * time.Second) // what is late has landed
				a.faults.Land()
				if got := count(b.read("g").Data); got != 9 {
					t.Errorf("%v at call %d: %d, want 9\n%s", fault, n, got, a.faults)
				}
			})
		}
	}
}

// A caller that is told "unknown" asks again, wherever, and its change is applied once.
func TestUnknownIsHonestAndTheIDDecides(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.FailAfter, faultstore.Late} {
		bubble(t, func(t *testing.T, f *fleet) {
			a, b := f.start("a", &shared.Options{MaxTries: 3}), f.start("b", nil)
			a.add("g", "")
			wrote := false
			a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
				switch {
				case writesTo("g")(c):
					wrote = true
					return faultstore.Fault{Kind: kind}
				case wrote && about("g")(c):
					return faultstore.Fault{Kind: faultstore.FailBefore}
				}
				return faultstore.Fault{}
			})
			_, err := a.Transact(t.Context(), "g", shared.Source{ID: "x"}, doc.Increment("/n", 1))
			if !errors.Is(err, shared.ErrUnknown) || store.OutcomeOf(err) != store.Unknown {
				t.Fatalf("%v: %v", kind, err)
			}
			b.add("g", "x")
			a.faults.Land()
			if got := count(b.read("g").Data); got != 2 {
				t.Errorf("%v: %d, want 2", kind, got)
			}
		})
	}
}

// Once an answer was lost, a later write that is refused for certain decides nothing.
func TestDoubtStays(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &shared.Options{MaxTries: 4})
		writes := 0
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			switch {
			case !about("g")(c):
			case c.Write && writes == 0:
				writes++
				return faultstore.Fault{Kind: faultstore.Late}
			case c.Write:
				writes++
				return faultstore.Fault{Kind: faultstore.FailBefore}
			case writes > 1:
				return faultstore.Fault{Kind: faultstore.FailBefore}
			}
			return faultstore.Fault{}
		})
		_, err := a.Transact(t.Context(), "g", shared.Source{}, doc.Increment("/n", 1))
		if !errors.Is(err, shared.ErrUnknown) || writes != 2 {
			t.Errorf("after %d writes: %v", writes, err)
		}
		if a.faults.Land(); f.stored("g").Missing() {
			t.Error("nothing landed: the test shows nothing")
		}
	})
}

// A write that did not get through, and that others have overtaken, is composed anew.
func TestOvertakenWriteIsComposedAnew(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", &shared.Options{CallTimeout: time.Second}), f.start("b", nil)
		a.faults.SetRule(faultstore.Nth(1, writesTo("g"), faultstore.Fault{Kind: faultstore.Hang}))
		var wg sync.WaitGroup
		wg.Go(func() {
			if out := a.add("g", "x"); count(out.Data) != 2 || out.Repeated || out.Change != 2 {
				t.Errorf("%+v", out)
			}
		})
		synctest.Wait()
		b.add("g", "")
		wg.Wait()
	})
}

func TestUnavailableIsNotUnknown(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.faults.Outage(faultstore.Durable, true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.Transact(ctx, "g", shared.Source{}, doc.Set("/n", doc.Int(1)))
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, shared.ErrUnknown) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		a.faults.Outage(faultstore.Durable, false)
		a.add("g", "")
	})
}

// Others win each time: the change gives up, and says that nothing was applied.
func TestContended(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", &shared.Options{MaxTries: 4}), f.start("b", nil)
		a.add("g", "")
		_, err := a.Update(t.Context(), "g", shared.Source{}, func(doc.Value) ([]doc.Op, error) {
			b.add("g", "")
			return []doc.Op{doc.Increment("/n", 100)}, nil
		})
		if !errors.Is(err, shared.ErrContended) || errors.Is(err, shared.ErrUnknown) {
			t.Errorf("%v", err)
		}
		if got := count(b.read("g").Data); got != 5 {
			t.Errorf("%d, want 5", got)
		}
	})
}

// A refusal counts only when it was found on what is stored now.
func TestRefusalIsFoundOnAFreshReading(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		a.add("g", "")
		hold, entered := make(chan struct{}), make(chan struct{})
		var once sync.Once
		var wg sync.WaitGroup
		wg.Go(func() { // keeps the lane, and its knowledge, in use
			_, err := a.Update(t.Context(), "g", shared.Source{}, func(doc.Value) ([]doc.Op, error) {
				once.Do(func() { close(entered); <-hold })
				return []doc.Op{doc.Set("/open", doc.Bool(false))}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-entered
		closed := errors.New("closed")
		wg.Go(func() {
			tried := 0
			_, err := a.Update(t.Context(), "g", shared.Source{}, func(v doc.Value) ([]doc.Op, error) {
				if tried++; tried == 1 { // what the lane knows; meanwhile b opens it
					if _, err := b.Transact(t.Context(), "g", shared.Source{}, doc.Set("/open", doc.Bool(true))); err != nil {
						t.Error(err)
					}
				}
				if open, _, _ := v.Lookup("/open"); !open.Equal(doc.Bool(true)) {
					return nil, closed
				}
				return []doc.Op{doc.Increment("/n", 1)}, nil
			})
			if err != nil {
				t.Errorf("refused by an old reading: %v", err)
			}
		})
		synctest.Wait() // the second one waits for its turn
		close(hold)
		wg.Wait()
	})
}

func TestDeletedStaysDeleted(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		a.add("g", "first")
		// A write of b's is on its way when the document is deleted.
		ctx, cancel := context.WithCancel(t.Context())
		b.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if writesTo("g")(c) {
				cancel()
				return faultstore.Fault{Kind: faultstore.Late}
			}
			return faultstore.Fault{}
		})
		if _, err := b.Transact(ctx, "g", shared.Source{ID: "late"}, doc.Increment("/n", 1)); !errors.Is(err, shared.ErrUnknown) {
			t.Fatal(err)
		}
		if err := a.Delete(t.Context(), "g"); err != nil {
			t.Fatal(err)
		}
		b.faults.Land()
		if _, err := a.Read(t.Context(), "g"); !errors.Is(err, shared.ErrNoDocument) {
			t.Errorf("read: %v", err)
		}
		version := f.stored("g").Version
		if err := a.Delete(t.Context(), "g"); err != nil || f.stored("g").Version != version {
			t.Errorf("deleted again: %v", err)
		}
		if out := a.add("g", "first"); !out.Repeated {
			t.Error("a known id was applied to the successor")
		}
		if out := a.add("g", "second"); count(out.Data) != 1 || out.Revision != 3 {
			t.Errorf("the successor is %+v", out)
		}
		if err := a.Delete(t.Context(), "never"); err != nil || !f.stored("never").Missing() {
			t.Errorf("delete of nothing: %v", err)
		}
	})
}

// Two nodes, many goroutines, answers lost and late: what was acknowledged is in the counter
// once, each with a value of its own, and what was not is at most "unknown".
func TestCounterIsConserved(t *testing.T) {
	for seed := range uint64(20) {
		bubble(t, func(t *testing.T, f *fleet) {
			odds := faultstore.Odds{FailBefore: 0.05, FailAfter: 0.1, Late: 0.1, Delay: 20 * time.Millisecond, Back: 20 * time.Millisecond, After: 200 * time.Millisecond}
			var tally tally
			var wg sync.WaitGroup
			for i, name := range []string{"a", "b"} {
				s := f.start(name, &shared.Options{MaxTries: 8, CallTimeout: time.Second})
				chance := faultstore.Chance(seed*2+uint64(i), odds)
				s.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
					if about("g")(c) {
						return chance(c)
					}
					return faultstore.Fault{}
				})
				for worker := range 6 {
					wg.Go(func() {
						for n := range 8 {
							tally.change(t, s, fmt.Sprintf("%s-%d-%d", name, worker, n), n%2 == 0)
						}
					})
				}
			}
			wg.Wait()
			time.Sleep(10 * time.Second)
			tally.check(t, count(f.start("c", nil).read("g").Data))
		})
	}
}

// tally counts what callers were told.
type tally struct {
	sync.Mutex
	acknowledged, unknown int64
	values                map[int64]string
}

// change adds one. With an id it asks until it knows.
func (y *tally) change(t *testing.T, s *server, id string, named bool) {
	t.Helper()
	src := shared.Source{}
	if named {
		src.ID = id
	}
	for {
		out, err := s.Transact(t.Context(), "g", src, doc.Increment("/n", 1))
		if named && err != nil {
			continue
		}
		y.Lock()
		defer y.Unlock()
		switch {
		case err == nil:
			y.acknowledged++
			if y.values == nil {
				y.values = make(map[int64]string)
			}
			if out.Repeated || out.Change != out.Revision {
				return // the value is not the one that this change made
			}
			if other := y.values[count(out.Data)]; other != "" {
				t.Errorf("%s and %s both made it %d", id, other, count(out.Data))
			}
			y.values[count(out.Data)] = id
		case errors.Is(err, shared.ErrUnknown):
			y.unknown++
		}
		return
	}
}

func (y *tally) check(t *testing.T, n int64) {
	t.Helper()
	if n < y.acknowledged || n > y.acknowledged+y.unknown {
		t.Errorf("counter is %d; %d acknowledged, %d unknown", n, y.acknowledged, y.unknown)
	}
	if y.acknowledged < 48 {
		t.Errorf("only %d acknowledged: the test shows nothing", y.acknowledged)
	}
}

// A copy for development begins with what is live and leaves it alone.
func TestThroughAnOverlay(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.start("a", nil).add("g", "")
		before := f.stored("g").Version
		dev := f.start("dev", &shared.Options{Through: func(live store.Records) store.Records { return overlay.Copy(live, nil) }})
		if out := dev.add("g", ""); count(out.Data) != 2 || count(dev.read("g").Data) != 2 {
			t.Errorf("%+v", out)
		}
		if f.stored("g").Version != before {
			t.Error("the live document was written")
		}
	})
}

func TestCallsGoThroughTheBudget(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startWith(&node.Options{Name: "a", Limits: node.Limits{Node: node.Rates{Read: node.Rate{Base: 6000}, Write: node.Rate{Base: 6000}}}}, nil)
		a.add("g", "")
		a.read("g")
		if got := a.node.Gate()[node.ClassLoad].Passed; got != 3 {
			t.Errorf("%d calls passed the gate, want 3", got)
		}
	})
}
