package profile_test

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
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// case P7.
func TestCloseWithNothingOpenReturnsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		for i := range 20 {
			release(t, a.load(fmt.Sprint("u", i), nil))
		}
		var r profile.Report
		if d := took(func() { r, _ = a.Close(t.Context()) }); d != 0 {
			t.Errorf("it took %v", d)
		}
		if !r.Complete() || r.Released != 0 {
			t.Errorf("%+v", r)
		}
		if d := took(func() { _, _ = a.node.Close(t.Context()) }); d > 10*time.Millisecond {
			t.Errorf("the node took %v", d)
		}
	})
}

func TestCloseReleasesEverythingInParallel(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.OnLeave(func(_ context.Context, s *profile.Session) {
			time.Sleep(time.Second)
			add(t, s, 1)
		})
		var all []*profile.Session
		for i := range 50 {
			s := a.load(fmt.Sprint("u", i), nil)
			add(t, s, 10)
			all = append(all, s)
		}
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: 3 * time.Second}))
		reports := make(chan profile.Report, 3)
		d := took(func() {
			var wg sync.WaitGroup
			for range 3 { // callers share one closing and one report
				wg.Go(func() {
					r, err := a.Close(context.Background())
					if err != nil {
						t.Errorf("close: %v", err)
					}
					reports <- r
				})
			}
			wg.Wait()
		})
		if d != 4*time.Second {
			t.Errorf("it took %v", d)
		}
		for range 3 {
			if r := <-reports; r.Released != 50 || !r.Complete() || r.Took != 4*time.Second {
				t.Errorf("%+v", r)
			}
		}
		for _, s := range all {
			if s.Reason() != profile.Closed {
				t.Errorf("%s: %v", s.Key(), s.Reason())
			}
			if r := f.stored(s.Key()); r.Session != nil || string(r.Data) != `{"coins":11}` {
				t.Errorf("%s: %+v %s", s.Key(), r, r.Data)
			}
		}
	})
}

// case P6.
func TestFailingLoadsDoNotHoldUpClose(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.faults.SetRule(always(on("get", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if _, err := a.Load(context.Background(), fmt.Sprint("u", i), nil); !errors.Is(err, profile.ErrClosing) {
					t.Errorf("load: %v", err)
				}
			})
		}
		time.Sleep(5 * time.Second)
		if d := took(func() { _, _ = a.node.Close(t.Context()) }); d > time.Second {
			t.Errorf("close took %v", d)
		}
		wg.Wait()
	})
}

// case P9: a listener that blocks at shutdown holds nothing up, loses nothing, writes nothing
// afterwards, and is named.
func TestBlockingListenerAtShutdown(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		block, after := make(chan struct{}), make(chan error, 1)
		s.OnCommit(func(c profile.Commit) {
			<-block
			_, err := s.Transact(game, doc.Increment("/coins", 100))
			after <- err
		})
		go func() { _, _ = s.Transact(game, doc.Increment("/coins", 5)) }()
		synctest.Wait()
		r, err := a.Close(t.Context())
		if err == nil || r.Complete() || len(r.Left) != 0 || len(r.Running) != 1 || !strings.Contains(r.Running[0], "TestBlockingListenerAtShutdown") || !strings.HasSuffix(r.Running[0], "for u") {
			t.Errorf("%+v, %v", r, err)
		}
		version := f.durable(profileKey("u")).Version
		close(block)
		if err := <-after; !errors.Is(err, profile.ErrEnded) {
			t.Errorf("a change after the release: %v", err)
		}
		time.Sleep(time.Minute)
		if rec := f.durable(profileKey("u")); rec.Version != version || string(f.stored("u").Data) != `{"coins":5}` {
			t.Errorf("stored %s", rec.Value)
		}
	})
}

// case P9: the same with a leave function that never returns.
func TestBlockingLeaveHookAtShutdown(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		block := make(chan struct{})
		t.Cleanup(func() { close(block) })
		a.OnLeave(func(context.Context, *profile.Session) { <-block })
		s := a.load("u", nil)
		add(t, s, 5)
		var r profile.Report
		if d := took(func() { r, _ = a.Close(t.Context()) }); d != 5*time.Second {
			t.Errorf("it took %v", d)
		}
		if len(r.Running) != 1 || !strings.Contains(r.Running[0], "OnLeave") || r.Released != 1 {
			t.Errorf("%+v", r)
		}
		f.free("u")
	})
}

// What cannot be stored before the deadline is left, and named; the node says that it is
// closed, so that others need not wait for its beat to grow old.
func TestCloseReportsWhatIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		fault faultstore.Fault
		why   string
	}{
		"refused": {faultstore.Fault{Kind: faultstore.FailBefore}, "refuses"},
		"hanging": {faultstore.Fault{Kind: faultstore.Hang}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", nil)
				s, clean := a.load("u", nil), a.load("v", nil)
				add(t, s, 5)
				a.faults.SetRule(always(on("commit", "profile/"), c.fault))
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				defer cancel()
				var (
					r   profile.Report
					err error
				)
				if d := took(func() { r, err = a.Close(ctx) }); d > 8*time.Second+10*time.Millisecond {
					t.Errorf("it took %v", d)
				}
				if err == nil || len(r.Left) != 2 || r.Left[0].Key != "u" || r.Left[0].Stored || !r.Left[1].Stored || !strings.Contains(r.Left[0].Why, c.why) {
					t.Errorf("%+v, %v", r, err)
				}
				if s.Reason() != profile.Closed || clean.Reason() != profile.Closed || a.Stats().Left != 2 {
					t.Errorf("%v, %v, %+v", s.Reason(), clean.Reason(), a.Stats())
				}
				if _, err := a.node.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if rec := f.fast("node/" + a.node.ID()); !strings.Contains(string(rec.Value), `"closed":true`) {
					t.Errorf("the node says %s", rec.Value)
				}
			})
		})
	}
}

// case P10: whatever comes first, the leave of a player or the end of the node, there is one
// release.
func TestLeaveAndCloseInBothOrders(t *testing.T) {
	for _, first := range []string{"leave", "close"} {
		t.Run(first, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", nil)
				hooks := 0
				a.OnLeave(func(context.Context, *profile.Session) { hooks++ })
				s := a.load("u", nil)
				add(t, s, 5)
				writes := &count{match: on("commit", "profile/")}
				a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
					writes.rule(c)
					return always(writes.match, faultstore.Fault{Delay: time.Second})(c)
				})
				leave := func() { _ = s.Release(context.Background()) }
				end := func() { _, _ = a.node.Close(context.Background()) }
				one, two := leave, end
				if first == "close" {
					one, two = end, leave
				}
				var wg sync.WaitGroup
				wg.Go(one)
				time.Sleep(time.Millisecond)
				wg.Go(two)
				wg.Wait()
				if n := writes.take(); n != 1 || hooks != 1 {
					t.Errorf("%d writes, %d leave functions", n, hooks)
				}
				f.free("u")
				if r := f.stored("u"); string(r.Data) != `{"coins":5}` {
					t.Errorf("stored %s", r.Data)
				}
			})
		})
	}
}

func TestCloseTakesTransientFailuresInItsStride(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		for i := range 10 {
			add(t, a.load(fmt.Sprint("u", i), nil), 1)
		}
		a.faults.SetRule(faultstore.Chance(7, faultstore.Odds{FailBefore: 0.2, FailAfter: 0.2, Delay: 100 * time.Millisecond}))
		r, err := a.Close(t.Context())
		if err != nil || r.Released != 10 {
			t.Errorf("%+v, %v", r, err)
		}
		for i := range 10 {
			f.free(fmt.Sprint("u", i))
		}
	})
}

// A player who is asked for while the node closes is handed over, not just released.
func TestAskedForWhileClosing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		a.OnLeave(func(context.Context, *profile.Session) { time.Sleep(2 * time.Second) })
		b := f.start("b", nil)
		closed := make(chan profile.Report, 1)
		go func() {
			r, _ := a.Close(context.Background())
			closed <- r
		}()
		time.Sleep(100 * time.Millisecond)
		next := b.load("u", nil)
		handedOver(t, s, next)
		if r := <-closed; r.HandedOver != 1 || r.Released != 0 || !r.Complete() {
			t.Errorf("%+v", r)
		}
	})
}
