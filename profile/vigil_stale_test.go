package profile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// looks matches the looks at beats.
func looks(c faultstore.Call) bool {
	return c.Op == "get" && len(c.Keys) > 2 && strings.HasPrefix(c.Keys[0], "node/")
}

// A look that does not come back does not have the record read all the time.
func TestAWaitDoesNotSpinWhileALookHangs(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		a.load("u", nil)
		a.faults.Outage(faultstore.All, true) // it lives and does not hear
		time.Sleep(time.Second)
		reads := &count{match: on("get", "profile/")}
		begun := time.Now()
		b.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			reads.rule(c)
			if looks(c) && time.Since(begun) > time.Second {
				return faultstore.Fault{Kind: faultstore.Hang}
			}
			return faultstore.Fault{}
		})
		_, err := b.Load(t.Context(), "u", &profile.LoadOptions{Wait: 10 * time.Second, Policy: profile.Wait})
		if err == nil {
			t.Error("loaded")
		}
		if n := reads.take(); n > 100 {
			t.Errorf("%d reads of the record in 10 s of waiting", n)
		}
	})
}

// A look at the beat is answered at once, and the record, which is read beside it, only after
// nine seconds. Meanwhile the holder has come back, and its record, written after that look,
// vouches for its beats.
func TestALookFromBeforeTheRecordIsNoVerdict(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		sess := a.load("u", nil)
		time.Sleep(10*time.Second - 100*time.Millisecond)
		down := time.Now()
		a.faults.Outage(faultstore.All, true)
		b.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if since := time.Since(down); on("get", "profile/")(c) && since > 3700*time.Millisecond && since < 5*time.Second {
				return faultstore.Fault{Delay: 9500 * time.Millisecond}
			}
			return faultstore.Fault{}
		})
		time.Sleep(2500 * time.Millisecond)
		done := make(chan error, 1)
		go func() {
			_, err := b.Load(t.Context(), "u", &profile.LoadOptions{Policy: profile.Wait, Wait: 20 * time.Second})
			done <- err
		}()
		time.Sleep(2100 * time.Millisecond) // the look has said that the beat is too old
		if len(done) > 0 {
			return // b had seen the beat stand still for long before the load: it took over at once, and rightly
		}
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if c.Op == "scan" || c.Part == faultstore.Bus { // it hears no asks
				return faultstore.Fault{Kind: faultstore.FailBefore}
			}
			return faultstore.Fault{}
		})
		a.faults.Outage(faultstore.All, false)
		time.Sleep(7500 * time.Millisecond)
		if s := f.stored("u").Session; s == nil || s.Node != a.node.ID() || !s.Beating || !a.node.Beating() {
			t.Fatalf("the holder is back, and is not held: %+v", s)
		}
		err := <-done
		if sess.Reason() == profile.Lost || f.stored("u").TookFrom != nil {
			t.Errorf("the session of a node that beats was taken: %v, %+v", err, f.stored("u").TookFrom)
		}
	})
}

// The newest load asks, slowly; meanwhile it sees the note of the one before.
func TestAReadFromBeforeTheAskDoesNotOutbid(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, c := f.start("a", nil), f.start("b", nil), f.start("c", nil)
		a.load("u", nil)
		time.Sleep(5300 * time.Millisecond)                         // between two of a's reads of its notes
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault { // it hears late
			if c.Op == "scan" || c.Part == faultstore.Bus {
				return faultstore.Fault{Kind: faultstore.FailBefore}
			}
			return faultstore.Fault{}
		})
		older := make(chan error, 1)
		go func() {
			_, err := b.Load(t.Context(), "u", nil)
			older <- err
		}()
		time.Sleep(time.Second)
		c.faults.SetRule(always(on("commit", "note/"), faultstore.Fault{Delay: 700 * time.Millisecond}))
		newer := make(chan error, 1)
		go func() {
			_, err := c.Load(t.Context(), "u", nil)
			newer <- err
		}()
		time.Sleep(3 * time.Second)
		a.faults.SetRule(nil)
		if err := <-newer; err != nil {
			t.Errorf("the newest load: %v", err)
		}
		if err := <-older; !errors.Is(err, profile.ErrOutbid) {
			t.Errorf("the older load: %v", err)
		}
	})
}
