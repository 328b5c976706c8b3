package profile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// everyFault is every way in which one call can go wrong, and a slow one.
func everyFault() []faultstore.Fault {
	return []faultstore.Fault{
		{Kind: faultstore.FailBefore},
		{Kind: faultstore.FailAfter},
		{Kind: faultstore.Late},
		{Kind: faultstore.Late, After: 3 * time.Second},
		{Kind: faultstore.Hang},
		{Kind: faultstore.HangApplied},
		{Delay: 2 * time.Second},
	}
}

// deliver grants ten coins for a receipt.
func deliver(ctx context.Context, s *profile.Session, id string) (profile.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return s.Grant(ctx, id, profile.Source{Kind: "shop"}, doc.Increment("/coins", 10))
}

func TestAReceiptIsGrantedOnce(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		_, b, s := journaled(t, f)
		first, err := deliver(t.Context(), s, "r1")
		if err != nil || first.Repeated || first.Revision == 0 {
			t.Fatalf("%+v, %v", first, err)
		}
		if v, rev := s.Stored(); coins(v) != 15 || rev != first.Revision {
			t.Errorf("answered before it was stored: %v at %d", v, rev)
		}
		again, err := deliver(t.Context(), s, "r1")
		if want := first; err != nil || !again.Repeated || again.Revision != want.Revision || again.Commit != want.Commit || coins(s.Data()) != 15 {
			t.Errorf("delivered again: %+v, %v; first %+v, data %v", again, err, first, s.Data())
		}
		release(t, s)
		next := b.load("u", nil)
		if again, err := deliver(t.Context(), next, "r1"); err != nil || !again.Repeated || coins(next.Data()) != 15 {
			t.Errorf("elsewhere: %+v, %v, %v", again, err, next.Data())
		}
		r, err := b.Receipt(t.Context(), "r1")
		if err != nil || !r.Of("u") || r.Of("v") || r.Revision != first.Revision || r.Epoch != 1 || r.Commit != first.Commit || !r.At.Equal(first.At.Truncate(time.Millisecond)) {
			t.Errorf("%+v, %v; granted %+v", r, err, first)
		}
		if row := string(f.durable("receipt/players/r1").Value); strings.Contains(row, `"u"`) {
			t.Errorf("the row names the player: %s", row)
		}
		if _, err := b.Receipt(t.Context(), "r2"); !errors.Is(err, profile.ErrNoReceipt) {
			t.Errorf("%v", err)
		}
	})
}

// An id is one profile's; whoever else delivers it gets nothing, and plays on.
func TestAReceiptOfAnotherProfileIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		other := a.load("v", nil)
		if _, err := deliver(t.Context(), s, "r1"); err != nil {
			t.Fatal(err)
		}
		_, err := deliver(t.Context(), other, "r1")
		if !errors.Is(err, profile.ErrReceiptTaken) || coins(other.Data()) != 0 || other.Revision() != 0 || other.Reason() != 0 {
			t.Errorf("%v, %v, %v", err, other.Data(), other.Reason())
		}
		for row, want := range map[string]error{`{"format":2}`: profile.ErrNewerSchema, `[]`: profile.ErrForeign} {
			f.plant(f.raw.Durable(), "receipt/players/r2", row)
			if _, err := deliver(t.Context(), other, "r2"); !errors.Is(err, want) || coins(other.Data()) != 0 {
				t.Errorf("%s: %v", row, err)
			}
		}
	})
}

// Two profiles on two nodes get the same receipt in the same moment: one has it, the other
// ends without it, and with everything from before.
func TestAReceiptTakenInTheSameMoment(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		other := b.load("v", nil)
		add(t, other, 3)
		a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Delay: time.Second}))
		lost := make(chan error, 1)
		go func() { _, err := deliver(context.Background(), s, "r1"); lost <- err }()
		time.Sleep(time.Millisecond)
		if _, err := deliver(t.Context(), other, "r1"); err != nil {
			t.Fatal(err)
		}
		if err := <-lost; !errors.Is(err, profile.ErrReceiptTaken) || store.OutcomeOf(err) != store.NotDone {
			t.Errorf("%v", err)
		}
		<-s.Done()
		next := b.load("u", nil)
		if coins(next.Data()) != 5 || coins(other.Data()) != 13 {
			t.Errorf("%v and %v", next.Data(), other.Data())
		}
	})
}

// case P28: what is refused is not granted, and stays open.
func TestARefusedGrantIsNotGranted(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		o := journaling()
		o.Validate = func(v doc.Value) error {
			if coins(v) > 20 {
				return errors.New("a full purse")
			}
			return nil
		}
		s := f.start("a", o).load("u", nil)
		for _, c := range []struct {
			op   doc.Op
			want error
		}{{doc.Increment("/coins", 21), profile.ErrSchema}, {doc.Increment("/nowhere/coins", 1), doc.ErrNoPath}} {
			g, err := s.Grant(t.Context(), "r1", game, c.op)
			if !errors.Is(err, c.want) || g != (profile.Grant{}) || s.Revision() != 0 || !f.durable("receipt/players/r1").Missing() {
				t.Errorf("%+v, %v, %v", g, err, s.Data())
			}
		}
		if g, err := deliver(t.Context(), s, "r1"); err != nil || g.Repeated || coins(s.Data()) != 10 {
			t.Errorf("when it fits: %+v, %v, %v", g, err, s.Data())
		}
	})
}

// case P24: an older state of the data does not make a receipt grantable again.
func TestARestoredProfileKeepsItsReceipts(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, b, s := journaled(t, f)
		old := s.Data()
		if _, err := deliver(t.Context(), s, "r1"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Transact(game, doc.Set("", old)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			g, err := deliver(t.Context(), s, "r1")
			if err != nil || !g.Repeated || coins(s.Data()) != 5 {
				t.Errorf("%+v, %v, %v", g, err, s.Data())
			}
			release(t, s)
			s = b.load("u", nil)
		}
	})
}

func TestBadReceiptIDs(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		for _, id := range []string{"", "a/b", "a b", "ü", "a\x00b", strings.Repeat("r", 129)} {
			if _, err := deliver(t.Context(), s, id); !errors.Is(err, store.ErrInvalid) || coins(s.Data()) != 5 {
				t.Errorf("%q: %v", id, err)
			}
			if _, err := a.Receipt(t.Context(), id); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

// Deliveries at once: one grants, all are answered when it is stored.
func TestDeliveriesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Delay: time.Second}))
		answers := make(chan profile.Grant, 20)
		for range 20 {
			go func() {
				g, err := deliver(context.Background(), s, "r1")
				if err != nil {
					t.Error(err)
				}
				answers <- g
			}()
		}
		fresh := 0
		for range 20 {
			if g := <-answers; !g.Repeated {
				fresh++
			}
		}
		if v, _ := s.Stored(); fresh != 1 || coins(v) != 15 {
			t.Errorf("%d grants, %v stored", fresh, v)
		}
	})
}

// A delivery that gives up leaves its claim; the next one waits for that, and grants nothing.
func TestARedeliveryJoinsWhatIsBeingStored(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		a.faults.Outage(faultstore.Durable, true)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := s.Grant(ctx, "r1", game, doc.Increment("/coins", 10)); store.OutcomeOf(err) != store.NotDone || coins(s.Data()) != 5 {
			t.Fatalf("it could not be looked up: %v, %v", err, s.Data())
		}
		a.faults.Outage(faultstore.Durable, false)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := s.Grant(ctx, "r1", game, doc.Increment("/coins", 10)); store.OutcomeOf(err) != store.Unknown || coins(s.Data()) != 15 {
			t.Fatalf("%v, %v", err, s.Data())
		}
		joined := make(chan error, 1)
		go func() {
			g, err := s.Grant(context.Background(), "r1", game, doc.Increment("/coins", 10))
			if !g.Repeated {
				t.Errorf("%+v", g)
			}
			joined <- err
		}()
		synctest.Wait()
		a.faults.SetRule(nil)
		if err := <-joined; err != nil || coins(s.Data()) != 15 || f.durable("receipt/players/r1").Missing() {
			t.Errorf("%v, %v", err, s.Data())
		}
	})
}

// Every durable call of a delivery goes wrong in every way, and the holder dies at that moment
// or lives on; the platform delivers until it is told that it is granted. The coins are there
// once, and are there once that was said.
func TestEveryCallOfAGrantGoesWrongOnce(t *testing.T) {
	for _, fault := range everyFault() {
		for n := 1; n <= 3; n++ {
			for _, dies := range []bool{false, true} {
				t.Run(fmt.Sprint(fault, " ", n, " ", dies), func(t *testing.T) {
					bubble(t, func(t *testing.T, f *fleet) {
						a, b, s := journaled(t, f)
						time.Sleep(6 * time.Second)
						here := s
						a.faults.SetRule(faultstore.Nth(n, func(c faultstore.Call) bool { return c.Part == faultstore.Durable && c.Op != "now" }, fault))
						if dies {
							go func() { time.Sleep(10 * time.Millisecond); a.kill() }()
						}
						told := 0
						for try := 0; told < 2 && try < 10; try++ {
							if _, err := deliver(t.Context(), here, "r1"); err == nil {
								told++
							}
							if here.Reason() != 0 || a.faults.Crashed() && here == s {
								here = b.load("u", nil)
							}
						}
						a.faults.Land()
						time.Sleep(time.Minute)
						if a.faults.Crashed() && here == s {
							here = b.load("u", nil)
						}
						if told < 2 || coins(here.Data()) != 15 {
							t.Errorf("told %d times, %v", told, here.Data())
						}
						release(t, here)
						if c := coins(f.storedData("u")); c != 15 {
							t.Errorf("%d coins stored", c)
						}
					})
				})
			}
		}
	}
}
