package profile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

const rowKey = "receipt/players/r1"

// grant commits ten coins together with a receipt.
func grant(ctx context.Context, s *profile.Session) error {
	_, err := s.Claim(ctx, []store.Write{{Key: rowKey, Op: store.Put, Value: []byte(`{}`), If: store.Absent(), Version: 4711}}, doc.Increment("/coins", 10))
	return err
}

// together checks that the coins are there if and only if the receipt is.
func (f *fleet) together(t *testing.T, v doc.Value) {
	t.Helper()
	if row, got := !f.durable(rowKey).Missing(), coins(v) >= 10; row != got {
		t.Errorf("receipt stored: %v; the profile has %v", row, v)
	}
}

// The commit with the claim, and every later one, stay out of the journal until both are
// stored; what was before it is journaled as ever.
func TestAClaimStaysOutOfTheJournal(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		add(t, s, 1)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.Hang}))
		claimed := make(chan error, 1)
		go func() { claimed <- grant(context.Background(), s) }()
		time.Sleep(time.Millisecond)
		add(t, s, 1)
		synced := make(chan error, 1)
		go func() { synced <- s.Sync(context.Background()) }()
		time.Sleep(5 * time.Second)
		if got := coins(s.Data()); got != 17 {
			t.Fatalf("%d coins in memory", got)
		}
		if j := string(f.fast("journal/players/u").Value); !strings.Contains(j, `"/coins":6`) || !strings.Contains(j, `"rev":2`) {
			t.Errorf("the journal: %s", j)
		}
		select {
		case err := <-synced:
			t.Errorf("synced before the claim was stored: %v", err)
		default:
		}
		a.kill()
		_, _ = <-claimed, <-synced
		next := b.load("u", nil)
		if coins(next.Data()) != 6 {
			t.Errorf("recovered %v", next.Data())
		}
		f.together(t, next.Data())
	})
}

func TestAClaimIsStoredWithItsCommit(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		if err := grant(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if v, _ := s.Stored(); coins(v) != 15 {
			t.Errorf("stored %v", v)
		}
		f.together(t, s.Data())
		add(t, s, 1)
		syncNow(t, s)
		next := recovered(t, a, b, 16)
		f.together(t, next.Data())
	})
}

// Every write of a claim goes wrong once, in every way, and the holder dies or lives on: coins
// and receipt stay together.
func TestEveryWriteOfAClaimGoesWrongOnce(t *testing.T) {
	for _, fault := range []faultstore.Fault{
		{Kind: faultstore.FailBefore},
		{Kind: faultstore.FailAfter},
		{Kind: faultstore.Late},
		{Kind: faultstore.Late, After: time.Second},
		{Kind: faultstore.Hang},
		{Kind: faultstore.HangApplied},
	} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprint(fault, dies), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					a, b, s := journaled(t, f)
					a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), fault))
					if dies {
						go func() { time.Sleep(10 * time.Millisecond); a.kill() }()
						_ = grant(t.Context(), s)
						a.faults.Land()
						time.Sleep(time.Minute)
						next := b.load("u", nil)
						f.together(t, next.Data())
						return
					}
					for try := 0; grant(t.Context(), s) != nil; try++ {
						if f.together(t, f.storedData("u")); coins(s.Data()) >= 10 || try > 3 {
							break // it goes on by itself
						}
					}
					time.Sleep(time.Minute)
					a.faults.Land()
					if coins(s.Data()) != 15 {
						t.Errorf("%v in memory", s.Data())
					}
					release(t, s)
					f.together(t, f.storedData("u"))
				})
			})
		}
	}
}

func (f *fleet) storedData(key string) doc.Value {
	f.t.Helper()
	v, err := doc.Parse(f.stored(key).Data, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

// The receipt exists: another profile used its id. The session ends without the coins, and
// with everything that was there before.
func TestARefusedClaimEndsTheSession(t *testing.T) {
	for name, final := range map[string]bool{"save": false, "release": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b, s := journaled(t, f)
				add(t, s, 1)
				f.plant(f.raw.Durable(), rowKey, `{"by":"another"}`)
				if final {
					a.faults.SetRule(nth(1, on("commit", "profile/"), faultstore.FailBefore))
				}
				err := grant(t.Context(), s)
				if final {
					if !errors.Is(err, store.ErrUnavailable) {
						t.Fatalf("%v", err)
					}
					err = s.Release(t.Context())
				} else if !errors.Is(err, profile.ErrVoid) {
					t.Errorf("%v", err)
				}
				<-s.Done()
				if s.Reason() != profile.Lost {
					t.Errorf("%v", s.Reason())
				}
				if final && !errors.Is(err, profile.ErrLost) {
					t.Errorf("release: %v", err)
				}
				f.free("u")
				next := b.load("u", nil)
				if coins(next.Data()) != 6 || next.Loaded().How != profile.Free {
					t.Errorf("%v %+v", next.Data(), next.Loaded())
				}
			})
		})
	}
}

// One claim of a record at a time, and none while the durable store is known to be down: nothing of it
// happens.
func TestClaimsAreRefusedUnapplied(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.Hang}))
		go func() { _ = grant(context.Background(), s) }()
		time.Sleep(time.Millisecond)
		if err := grant(t.Context(), s); !errors.Is(err, profile.ErrBusy) || coins(s.Data()) != 15 {
			t.Errorf("a second claim: %v, %v", err, s.Data())
		}
		a.faults.SetRule(nil)
		time.Sleep(20 * time.Second)
		f.together(t, f.storedData("u"))
		a.faults.Outage(faultstore.Durable, true)
		add(t, s, 1)
		_ = s.Save(t.Context())
		if err := grant(t.Context(), s); !errors.Is(err, store.ErrUnavailable) || coins(s.Data()) != 16 {
			t.Errorf("while the store is down: %v, %v", err, s.Data())
		}
		a.faults.Outage(faultstore.Durable, false)
	})
}
