package profile_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

func TestTransactIsAllOrNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", nil).load("u", nil)
		add(t, s, 5)
		before := s.Data()
		_, err := s.Transact(game, doc.Increment("/coins", 1), doc.Increment("/gems/deep", 1))
		var op *doc.OpError
		if !errors.As(err, &op) || op.Index != 1 {
			t.Errorf("transact: %v", err)
		}
		if !s.Data().Equal(before) || s.Revision() != 1 {
			t.Errorf("a refused transaction left %v, revision %d", s.Data(), s.Revision())
		}
		c, err := s.Transact(profile.Source{Kind: profile.SourceOperator, Actor: "ann", Note: "gift"}, doc.Increment("/coins", 1), doc.Set("/name", doc.MustString("x")))
		if err != nil {
			t.Fatal(err)
		}
		if c.Revision != 2 || c.ID != "1-2" || c.Source.Actor != "ann" || c.Time.IsZero() || !c.Data.Equal(s.Data()) {
			t.Errorf("commit %+v", c)
		}
		if again, err := doc.ApplyEdits(before, c.Edits); err != nil || !again.Equal(s.Data()) {
			t.Errorf("the edits make %v, %v", again, err)
		}
	})
}

// case P11.
func TestWhatIsHandedOutCannotChangeTheProfile(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		add(t, s, 5)
		save(t, s)
		seen, ok := s.Data().Any().(map[string]any)
		if !ok {
			t.Fatal("no object")
		}
		seen["coins"] = 0
		v, err := a.Read(t.Context(), "u")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := doc.Apply(v.Data, doc.Set("/coins", doc.Int(0))); err != nil {
			t.Fatal(err)
		}
		if coins(s.Data()) != 5 || coins(v.Data) != 5 {
			t.Errorf("%v, %v", s.Data(), v.Data)
		}
	})
}

func TestChangeIsReadModifyWrite(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", nil).load("u", nil)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				_, err := s.Change(game, func(v doc.Value) ([]doc.Op, error) {
					now := coins(v)
					runtime.Gosched()
					return []doc.Op{doc.Set("/coins", doc.Int(now+1))}, nil
				})
				if err != nil {
					t.Errorf("change: %v", err)
				}
			})
		}
		wg.Wait()
		if coins(s.Data()) != 100 || s.Revision() != 100 {
			t.Errorf("%v, revision %d", s.Data(), s.Revision())
		}
		no := errors.New("no")
		if _, err := s.Change(game, func(doc.Value) ([]doc.Op, error) { return nil, no }); !errors.Is(err, no) || s.Revision() != 100 {
			t.Errorf("change: %v", err)
		}
	})
}

func TestPanicInChangeLeavesTheSessionUsable(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", nil).load("u", nil)
		func() {
			defer func() { _ = recover() }()
			_, _ = s.Change(game, func(doc.Value) ([]doc.Op, error) { panic("boom") })
		}()
		add(t, s, 1)
	})
}

func TestCommitIDsMakeATransactionSafeToRepeat(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		src := profile.Source{ID: "buy-1"}
		first, err := s.Transact(src, doc.Increment("/coins", 5))
		if err != nil || first.Repeated {
			t.Fatalf("%+v, %v", first, err)
		}
		again, err := s.Transact(src, doc.Increment("/coins", 5))
		if err != nil || !again.Repeated || again.Revision != first.Revision || coins(s.Data()) != 5 {
			t.Errorf("again: %+v, %v, %v", again, err, s.Data())
		}
		if _, err := s.Transact(src, doc.Increment("/coins", 6)); !errors.Is(err, profile.ErrRepeated) || coins(s.Data()) != 5 {
			t.Errorf("another body: %v", err)
		}
		if _, err := s.Transact(profile.Source{ID: "noop"}, doc.Unset("/nothing")); err != nil || s.Revision() != 2 {
			t.Errorf("an id without effect is not remembered: %v, revision %d", err, s.Revision())
		}
		release(t, s)
		b := f.start("b", nil)
		s = b.load("u", nil)
		again, err = s.Transact(src, doc.Increment("/coins", 5))
		if err != nil || !again.Repeated || coins(s.Data()) != 5 {
			t.Errorf("after the hand-over: %+v, %v, %v", again, err, s.Data())
		}
		for i := range 64 {
			if _, err := s.Transact(profile.Source{ID: fmt.Sprint("other-", i)}, doc.Increment("/coins", 1)); err != nil {
				t.Fatal(err)
			}
		}
		if c, err := s.Transact(src, doc.Increment("/coins", 5)); err != nil || c.Repeated {
			t.Errorf("the 65th id back is still known: %+v, %v", c, err)
		}
	})
}

// case P18.
func TestOverTheHardBudget(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{SoftBytes: 100, HardBytes: 200})
		s := a.load("u", nil)
		if _, err := s.Transact(game, doc.Set("/bag/items", doc.MustString(strings.Repeat("x", 120)))); err != nil {
			t.Fatal(err)
		}
		if st := a.Stats(); st.OverSoft != 1 {
			t.Errorf("no warning: %+v", st)
		}
		save(t, s)
		before := s.Data()
		_, err := s.Transact(game, doc.Set("/name", doc.MustString("y")), doc.Set("/bag/items", doc.MustString(strings.Repeat("x", 220))))
		var size *profile.SizeError
		if !errors.As(err, &size) || !errors.Is(err, profile.ErrTooLarge) || size.Path.String() != "/bag/items" || size.Limit != 200 {
			t.Errorf("transact: %v", err)
		}
		if !s.Data().Equal(before) || s.Reason() != 0 {
			t.Errorf("%v, %v", s.Data(), s.Reason())
		}
		add(t, s, 1)
		save(t, s)
		if r := f.stored("u"); r.Revision != 2 {
			t.Errorf("stored %+v", r)
		}
	})
}

func TestOverTheHardBudgetCanBeMended(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.plant(f.raw.Durable(), profileKey("u"), `{"format":1,"data":{"bag":"`+strings.Repeat("x", 300)+`"},"epoch":1,"revision":1,"schema":1,"session":null}`)
		s := f.start("a", &profile.Options{HardBytes: 200}).load("u", nil)
		if _, err := s.Transact(game, doc.Set("/coins", doc.Int(1))); !errors.Is(err, profile.ErrTooLarge) {
			t.Errorf("larger still: %v", err)
		}
		if _, err := s.Transact(game, doc.Set("/bag", doc.MustString(strings.Repeat("x", 250)))); err != nil {
			t.Errorf("smaller, but still over: %v", err)
		}
		save(t, s) // smaller than what was stored
		if _, err := s.Transact(game, doc.Unset("/bag"), doc.Set("/coins", doc.Int(1))); err != nil {
			t.Errorf("mended: %v", err)
		}
		save(t, s)
	})
}

func TestValidateRefusesTransactions(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{Validate: func(v doc.Value) error {
			switch n := coins(v); {
			case n > 100:
				panic("too rich")
			case n > 10:
				return errors.New("at most 10")
			}
			return nil
		}})
		s := a.load("u", nil)
		add(t, s, 10)
		for _, n := range []int64{1, 1000} {
			if _, err := s.Transact(game, doc.Increment("/coins", n)); !errors.Is(err, profile.ErrSchema) {
				t.Errorf("%d more: %v", n, err)
			}
		}
		var p *profile.PanicError
		if _, err := s.Transact(game, doc.Increment("/coins", 1000)); !errors.As(err, &p) || p.Value != "too rich" {
			t.Errorf("panic: %v", err)
		}
		if coins(s.Data()) != 10 || s.Revision() != 1 {
			t.Errorf("%v, revision %d", s.Data(), s.Revision())
		}
	})
}

func TestListenersHearEveryCommitInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		var heard, second []uint64
		s.OnCommit(func(c profile.Commit) {
			heard = append(heard, c.Revision)
			if c.Source.Note == "test" && coins(c.Data)%10 == 0 { // a listener may transact; its commit comes after this one
				if _, err := s.Transact(profile.Source{Note: "tens"}, doc.Increment("/tens", 1)); err != nil {
					t.Errorf("inside a listener: %v", err)
				}
			}
		})
		s.OnCommit(func(profile.Commit) { panic("boom") })
		stop := s.OnCommit(func(c profile.Commit) { second = append(second, c.Revision) })
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { add(t, s, 1) })
		}
		wg.Wait()
		var want []uint64
		for i := range s.Revision() {
			want = append(want, i+1)
		}
		if d := cmp.Diff(want, heard); d != "" || len(want) < 55 {
			t.Errorf("%d heard: %s", len(heard), d)
		}
		if d := cmp.Diff(want, second); d != "" {
			t.Error(d)
		}
		stop()
		stop()
		add(t, s, 1)
		if len(second) != len(want) {
			t.Error("a stopped listener was called")
		}
		if n := a.Stats().Panics; int(n) < len(want) {
			t.Errorf("%d panics counted", n)
		}
	})
}

func TestAListenerThatDoesNotReturnMakesTheSessionBusy(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", nil).load("u", nil)
		block, heard := make(chan struct{}), 0
		s.OnCommit(func(profile.Commit) {
			heard++
			<-block
		})
		go func() { _, _ = s.Transact(game, doc.Increment("/coins", 1)) }()
		synctest.Wait()
		for range 1024 {
			add(t, s, 1)
		}
		if _, err := s.Transact(game, doc.Increment("/coins", 1)); !errors.Is(err, profile.ErrBusy) {
			t.Errorf("the queue has no end: %v", err)
		}
		close(block)
		synctest.Wait()
		add(t, s, 1)
		if heard != 1026 {
			t.Errorf("heard %d", heard)
		}
	})
}

// case P17.
func TestSessionsLeaveNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", journaling())
		cycle := func(n int) {
			for i := range n {
				s := a.load(fmt.Sprintf("u%d", i%100), nil)
				s.OnCommit(func(profile.Commit) {})
				add(t, s, 1)
				if i%3 == 0 {
					syncNow(t, s)
				}
				release(t, s)
			}
		}
		heap := func() uint64 {
			synctest.Wait()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		cycle(1000)
		goroutines, before := runtime.NumGoroutine(), heap()
		cycle(10_000)
		time.Sleep(time.Second)
		after := heap()
		if n := runtime.NumGoroutine(); n > goroutines {
			t.Errorf("%d goroutines, were %d", n, goroutines)
		}
		if after > before+1<<20 {
			t.Errorf("heap grew from %d to %d", before, after)
		}
		if left := f.keysUnder("journal"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}
