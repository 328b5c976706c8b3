package profile_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// case P10: the node closes while players are in, joining and leaving: one release each.
func TestNodeCloseEndsEveryStay(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		l := newLobby(t, a, nil)
		a.OnLeave(func(_ context.Context, s *profile.Session) { add(t, s, 1) })
		for i := range 20 {
			add(t, l.in(fmt.Sprint("in", i)).Session(), 10)
		}
		releases := &count{match: on("commit", "profile/players/in")}
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			releases.rule(c)
			return faultstore.Fault{Delay: 300 * time.Millisecond}
		})
		l.join("joining")
		leaving, _ := l.Player("in0")
		l.leave(leaving)
		report, err := a.node.Close(context.Background())
		if err != nil || !report.Complete() || report.Took > 5*time.Second {
			t.Errorf("%+v %v", report, err)
		}
		l.expect("joining", "failed: the node is closing")
		l.expect("in0", "joined", "left")
		for i := range 20 {
			key := fmt.Sprint("in", i)
			if i > 0 {
				l.expect(key, "joined", "kicked: closed")
			}
			f.free(key)
			if r := f.stored(key); string(r.Data) != `{"coins":11}` {
				t.Errorf("%s: %s", key, r.Data)
			}
		}
		if n := releases.take(); n != 20 {
			t.Errorf("%d writes for 20 releases", n)
		}
		if _, err := l.Join("late"); !errors.Is(err, profile.ErrClosing) {
			t.Errorf("join after the end: %v", err)
		}
		if r, err := l.Close(t.Context()); err != nil || !r.Complete() {
			t.Errorf("%+v %v", r, err)
		}
	})
}

func TestCloseOfPlayersLeavesTheSetOpen(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		l := newLobby(t, a, nil)
		for i := range 5 {
			l.in(fmt.Sprint("u", i))
		}
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: time.Second}))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if r, err := l.Close(ctx); err == nil || len(r.Remaining) != 5 || r.Took != 100*time.Millisecond {
			t.Errorf("%+v %v", r, err)
		}
		time.Sleep(2 * time.Second)
		for i := range 5 {
			f.free(fmt.Sprint("u", i))
		}
		if _, err := l.Join("u1"); !errors.Is(err, profile.ErrClosing) {
			t.Errorf("join: %v", err)
		}
		release(t, a.load("u1", nil))
	})
}

func TestClosesOfPlayersShareOneEnd(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		l := newLobby(t, a, nil)
		for i := range 5 {
			l.in(fmt.Sprint("u", i))
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if r, err := l.Close(t.Context()); err != nil || !r.Complete() {
					t.Errorf("%+v %v", r, err)
				}
			})
		}
		wg.Wait()
		for i := range 5 {
			l.expect(fmt.Sprint("u", i), "joined", "left")
		}
	})
}
