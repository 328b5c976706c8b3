package profile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// journey moves a player from a to b and back, with a save on the way: create, save,
// hand-over, save, release, claim. One write of one of the nodes goes wrong.
func journey(t *testing.T, f *fleet, rule func(node string) faultstore.Rule) {
	t.Helper()
	a, b := f.start("a", nil), f.start("b", nil)
	a.faults.SetRule(rule("a"))
	b.faults.SetRule(rule("b"))
	s := a.load("u", nil)
	add(t, s, 1)
	errA := s.Save(context.Background())
	add(t, s, 10)
	s2 := b.load("u", nil)
	if errA == nil && coins(s2.Data()) < 1 {
		t.Errorf("an acknowledged save is missing: %v", s2.Data())
	}
	if s.Reason() == profile.HandedOver && coins(s2.Data()) != 11 {
		t.Errorf("handed over as %v", s2.Data())
	}
	add(t, s2, 100)
	_ = s2.Save(context.Background())
	add(t, s2, 1000)
	release(t, s2)
	s3 := a.load("u", nil)
	if coins(s3.Data()) != 1111 {
		t.Errorf("came back with %v; %v, then %v", s3.Data(), s.Reason(), s2.Reason())
	}
	release(t, s3)
	a.faults.Land()
	b.faults.Land()
	time.Sleep(3 * time.Minute)
	f.free("u")
	if r := f.stored("u"); string(r.Data) != `{"coins":1111}` {
		t.Errorf("stored %s", r.Data)
	}
	for _, x := range []*server{a, b} {
		if st := x.Stats(); st.Disowned != 0 || st.Sessions != 0 || st.Loading != 0 {
			t.Errorf("%s: %+v", x.node.ID(), st)
		}
	}
	if left := f.leftovers(); len(left) > 0 {
		t.Errorf("left in the fast store: %v", left)
	}
}

// Every write of the journey goes wrong in turn, in every way: refused, answer lost, applied
// late, hanging. Nothing may be missing, and nobody may be left holding the profile.
func TestEveryWriteOfAJourneyGoesWrongOnce(t *testing.T) {
	faults := []faultstore.Fault{
		{Kind: faultstore.FailBefore},
		{Kind: faultstore.FailAfter},
		{Kind: faultstore.Late},
		{Kind: faultstore.Late, After: 20 * time.Millisecond},
		{Kind: faultstore.Late, After: 5 * time.Second},
		{Kind: faultstore.Hang},
		{Kind: faultstore.HangApplied},
		{Back: 3 * time.Second},
		{Delay: 3 * time.Second},
	}
	for _, prefix := range []string{"profile/", "note/"} {
		for _, node := range []string{"a", "b"} {
			for _, fault := range faults {
				t.Run(fmt.Sprintf("%s%s %v", prefix, node, fault), func(t *testing.T) {
					for n := 1; ; n++ {
						struck := false
						bubble(t, func(t *testing.T, f *fleet) {
							journey(t, f, func(name string) faultstore.Rule {
								if name != node {
									return nil
								}
								one := faultstore.Nth(n, on("commit", prefix), fault)
								return func(c faultstore.Call) faultstore.Fault {
									x := one(c)
									struck = struck || x != faultstore.Fault{}
									return x
								}
							})
						})
						if t.Failed() {
							t.Fatalf("with write %d", n)
						}
						if !struck {
							t.Logf("%d writes", n-1)
							break
						}
					}
				})
			}
		}
	}
}

// The same with every read.
func TestEveryReadOfAJourneyFailsOnce(t *testing.T) {
	for _, node := range []string{"a", "b"} {
		for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.Hang} {
			for n := 1; n <= 12; n++ {
				t.Run(fmt.Sprintf("%s %v %d", node, kind, n), func(t *testing.T) {
					bubble(t, func(t *testing.T, f *fleet) {
						journey(t, f, func(name string) faultstore.Rule {
							if name != node {
								return nil
							}
							return nth(n, func(c faultstore.Call) bool {
								return c.Op == "get" && !strings.HasPrefix(c.Keys[0], "node/")
							}, kind)
						})
					})
				})
			}
		}
	}
}

// A claim whose answer is lost and whose load then gives up is freed, whenever it lands.
func TestGivenUpClaimIsDisowned(t *testing.T) {
	for name, fault := range map[string]faultstore.Fault{
		"landed":         {Kind: faultstore.FailAfter},
		"lands soon":     {Kind: faultstore.Late, After: time.Second},
		"lands late":     {Kind: faultstore.Late, After: time.Minute},
		"lands too late": {Kind: faultstore.Late, After: 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				seed(t, f, "u", 5)
				a := f.start("a", nil)
				a.faults.SetRule(faultstore.First(
					faultstore.Nth(1, on("commit", "profile/"), fault),
					afterFirst(on("get", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}),
				))
				a.fails("u", &profile.LoadOptions{Wait: 500 * time.Millisecond}, profile.ErrTimeout)
				a.faults.SetRule(nil)
				time.Sleep(11 * time.Minute)
				b := f.start("b", nil)
				var next *profile.Session
				if d := took(func() { next = b.load("u", nil) }); d > 2*time.Second {
					t.Errorf("it took %v", d)
				}
				if coins(next.Data()) != 5 {
					t.Errorf("loaded %v", next.Data())
				}
				if st := a.Stats(); st.Freed != 1 || st.Disowned != 0 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// afterFirst is the fault of every matching call but the first.
func afterFirst(match func(faultstore.Call) bool, f faultstore.Fault) faultstore.Rule {
	seen := false
	return func(c faultstore.Call) faultstore.Fault {
		if !match(c) {
			return faultstore.Fault{}
		}
		if !seen {
			seen = true
			return faultstore.Fault{}
		}
		return f
	}
}

// The answer of a takeover's seal or claim is lost.
func TestEveryWriteOfATakeoverGoesWrongOnce(t *testing.T) {
	for _, prefix := range []string{"profile/", "journal/", "note/"} {
		for _, fault := range []faultstore.Fault{
			{Kind: faultstore.FailBefore},
			{Kind: faultstore.FailAfter},
			{Kind: faultstore.Late},
			{Kind: faultstore.Late, After: time.Second},
			{Kind: faultstore.Hang},
			{Kind: faultstore.HangApplied},
		} {
			t.Run(fmt.Sprint(prefix, fault), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					a, _ := held(t, f, nil)
					plantJournal(t, f, nil)
					b := f.start("b", nil)
					time.Sleep(5500 * time.Millisecond)
					a.kill()
					b.faults.SetRule(faultstore.Nth(1, on("commit", prefix), fault))
					next := b.load("u", nil)
					if coins(next.Data()) != 9 || next.Loaded().How != profile.Recovered {
						t.Errorf("%v, %+v", next.Data(), next.Loaded())
					}
					add(t, next, 1)
					save(t, next)
					b.faults.Land()
					release(t, next)
					if r := f.stored("u"); string(r.Data) != `{"coins":10}` || r.Session != nil {
						t.Errorf("stored %+v %s", r, r.Data)
					}
				})
			})
		}
	}
}

// Two newcomers race for a dead holder's profile: one gets it, the other asks the winner.
func TestTwoTakersOneWinner(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _ := held(t, f, nil)
		plantJournal(t, f, nil)
		b, c := f.start("b", nil), f.start("c", nil)
		time.Sleep(5500 * time.Millisecond)
		a.kill()
		for _, x := range []*server{b, c} {
			x.faults.SetRule(always(on("commit", ""), faultstore.Fault{Delay: 50 * time.Millisecond}))
		}
		type result struct {
			s   *profile.Session
			err error
		}
		results := make(chan result, 2)
		for _, x := range []*server{b, c} {
			go func() {
				s, err := x.Load(context.Background(), "u", nil)
				results <- result{s, err}
			}()
		}
		one, two := <-results, <-results
		if one.err != nil {
			one, two = two, one
		}
		if one.err != nil || two.err != nil && !errors.Is(two.err, profile.ErrOutbid) {
			t.Fatalf("%v, %v", one.err, two.err)
		}
		if coins(one.s.Data()) != 9 {
			t.Errorf("loaded %v", one.s.Data())
		}
		if two.err == nil && (coins(two.s.Data()) != 9 || one.s.Reason() == 0) {
			t.Errorf("two live sessions: %v, %v", one.s.Reason(), two.s.Reason())
		}
	})
}
