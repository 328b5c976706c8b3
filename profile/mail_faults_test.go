package profile_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// withCrashes is every fault, and the end of the process before and after the call.
func withCrashes() []faultstore.Fault {
	return append(everyFault(), faultstore.Fault{Kind: faultstore.Crash}, faultstore.Fault{Kind: faultstore.CrashAfter})
}

// inTurn runs a test with each of the first n matching calls of a node going wrong in every
// way. strike arms the fault.
func inTurn(t *testing.T, calls int, match func(faultstore.Call) bool, test func(t *testing.T, f *fleet, strike func(*server))) {
	t.Helper()
	for _, fault := range withCrashes() {
		for n := 1; n <= calls; n++ {
			t.Run(fmt.Sprint(fault, " ", n), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					test(t, f, func(s *server) { s.faults.SetRule(faultstore.Nth(n, match, fault)) })
				})
			})
		}
	}
}

// aboutMail matches the calls that a mail makes.
func aboutMail(c faultstore.Call) bool {
	for _, k := range c.Keys {
		for _, prefix := range []string{"mail/", "profile/", "note/", "receipt/", "node/"} {
			if strings.HasPrefix(k, prefix) && (prefix != "node/" || c.Op == "publish") {
				return true
			}
		}
	}
	return false
}

// insist sends until it is told that the mail is sent, from another node when this one dies.
func insist(t *testing.T, from, other *server, key string, m profile.Mail) {
	t.Helper()
	for try := 0; ; try++ {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		_, err := from.Send(ctx, key, m)
		cancel()
		if err == nil {
			return
		}
		if from.faults.Crashed() {
			from = other
		}
		if try == 20 {
			t.Fatalf("never sent: %v", err)
		}
	}
}

// Every call of a sender goes wrong in every way, and it dies before and after each of them;
// it sends until it is told that the mail is sent. The mail has its effect once.
func TestEveryCallOfASenderGoesWrongOnce(t *testing.T) {
	inTurn(t, 7, aboutMail, func(t *testing.T, f *fleet, strike func(*server)) {
		_, b, s := journaled(t, f)
		c := f.start("c", journaling())
		strike(b)
		insist(t, b, c, "u", coinMail("m1", 10))
		time.Sleep(20 * time.Second)
		if coins(s.Data()) != 15 && !b.faults.Crashed() {
			t.Errorf("nobody told the holder: %v", s.Data())
		}
		b.faults.Land()
		release(t, s)
		s = c.load("u", nil)
		time.Sleep(time.Second)
		if v, _ := s.Stored(); coins(v) != 15 || len(f.box("u")) != 0 {
			t.Errorf("%v, %v", v, f.box("u"))
		}
	})
}

// Every call of a holder goes wrong in every way, and it dies before and after each of them:
// another node loads the profile. The mail has its effect once.
func TestEveryCallOfAHolderGoesWrongOnce(t *testing.T) {
	inTurn(t, 6, aboutMail, func(t *testing.T, f *fleet, strike func(*server)) {
		a, b, s := journaled(t, f)
		var calls atomic.Int32
		handle := func(context.Context, *profile.Session, profile.Mail) ([]doc.Op, error) {
			if calls.Add(1) == 1 {
				panic("the first time")
			}
			return []doc.Op{doc.Increment("/coins", 10)}, nil
		}
		a.HandleMail("k", handle)
		b.HandleMail("k", handle)
		time.Sleep(5 * time.Second)
		strike(a)
		b.send("u", profile.Mail{ID: "m1", Kind: "k"})
		b.send("u", coinMail("m2", 100))
		time.Sleep(time.Minute)
		a.faults.Land()
		if a.faults.Crashed() {
			s = b.load("u", nil)
			time.Sleep(10 * time.Second)
		}
		if v, _ := s.Stored(); coins(v) != 115 || len(f.box("u")) != 0 {
			t.Errorf("%v, %v, %d calls", v, f.box("u"), calls.Load())
		}
		b.send("u", coinMail("m1", 10))
		b.send("u", coinMail("m2", 100))
		time.Sleep(5 * time.Second)
		if coins(s.Data()) != 115 {
			t.Errorf("sent again: %v", s.Data())
		}
	})
}

// give sends coins from one profile to another until it is told that they are sent; the sender
// is loaded on another node when its own dies.
func gift(t *testing.T, s *profile.Session, other *server, to string, m profile.Mail) *profile.Session {
	t.Helper()
	for try := 0; ; try++ {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		_, err := s.SendMail(ctx, game, to, m, doc.Increment("/coins", -10).AtLeast(doc.Int(0)))
		cancel()
		if err == nil {
			return s
		}
		if s.Reason() != 0 || try >= 2 {
			if next, ok := other.Session(s.Key()); ok {
				s = next
			} else if next, err := other.Load(t.Context(), s.Key(), nil); err == nil {
				s = next
			}
		}
		if try == 20 {
			t.Fatalf("never sent: %v", err)
		}
	}
}

// Every call of a gift goes wrong in every way, and the giver dies before and after each of
// them. The coins move once.
func TestEveryCallOfAGiftGoesWrongOnce(t *testing.T) {
	inTurn(t, 6, aboutMail, func(t *testing.T, f *fleet, strike func(*server)) {
		a, b, s := journaled(t, f)
		add(t, s, 10)
		save(t, s)
		to := b.load("v", nil)
		c := f.start("c", journaling())
		time.Sleep(5 * time.Second)
		strike(a)
		s = gift(t, s, c, "v", coinMail("m1", 10))
		a.faults.Land()
		time.Sleep(20 * time.Second)
		if a.faults.Crashed() {
			if s, _ = c.Session("u"); s == nil {
				s = c.load("u", nil)
			}
		}
		release(t, to)
		to = c.load("v", nil)
		time.Sleep(time.Second)
		if coins(s.Data()) != 5 || coins(to.Data()) != 10 || len(f.box("v")) != 0 {
			t.Errorf("%v, %v, %v", s.Data(), to.Data(), f.box("v"))
		}
		if sent, err := s.SendMail(t.Context(), game, "v", coinMail("m1", 10), doc.Increment("/coins", -10).AtLeast(doc.Int(0))); err != nil || !sent.Repeated || coins(s.Data()) != 5 {
			t.Errorf("again: %+v, %v, %v", sent, err, s.Data())
		}
	})
}

// A gift that is refused is not sent, and costs nothing; a gift to oneself arrives.
func TestGifts(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		a.load("v", nil)
		for i, c := range []struct {
			to   string
			op   doc.Op
			want string
		}{
			{"v", doc.Increment("/coins", -10).AtLeast(doc.Int(0)), doc.ErrBounds.Error()},
			{"nobody", doc.Increment("/coins", -1), profile.ErrNoProfile.Error()},
		} {
			_, err := s.SendMail(t.Context(), game, c.to, coinMail(fmt.Sprint("m", i), 10), c.op)
			if err == nil || !strings.Contains(err.Error(), c.want) || coins(s.Data()) != 5 || len(f.box(c.to)) != 0 {
				t.Errorf("%v, %v", err, s.Data())
			}
		}
		a.send("v", coinMail("x", 1))
		if _, err := s.SendMail(t.Context(), game, "u", coinMail("self", 3), doc.Increment("/coins", -3)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if v, _ := s.Stored(); coins(v) != 5 || len(f.box("u")) != 0 {
			t.Errorf("%v, %v", v, f.box("u"))
		}
	})
}
