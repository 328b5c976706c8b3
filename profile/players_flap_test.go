package profile_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// A player who comes back again and again while the release of the first stay cannot be stored
// leaves no join behind.
func TestAJoinThatLeftWhileItWaitedIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		l := newLobby(t, a, &profile.PlayersOptions{MaxJoining: 4})
		p := l.in("u")
		add(t, p.Session(), 1)
		a.faults.Outage(faultstore.Durable, true)
		p.Leave()
		synctest.Wait()
		var waited []*profile.Player
		for range 6 { // the connection flaps
			next, err := l.Join("u")
			if err != nil {
				t.Errorf("join: %v", err)
				break
			}
			next.Leave()
			waited = append(waited, next)
		}
		a.faults.Outage(faultstore.Durable, false)
		time.Sleep(time.Minute)
		for i, next := range waited {
			select {
			case <-next.Gone():
			default:
				t.Errorf("stay %d is not gone a minute after all have left", i)
			}
		}
		if _, err := l.Join("v"); err != nil {
			t.Errorf("nobody is here: %v", err)
		}
		_, _ = l.Close(context.Background())
	})
}

// Connections flap while the store fails now and then: in the end every stay is over, and
// nothing is counted that is not there.
func TestPlayersThatFlap(t *testing.T) {
	for seed := range uint64(6) {
		bubble(t, func(t *testing.T, f *fleet) {
			a, b := f.start("a", nil), f.start("b", nil)
			l := newLobby(t, a, &profile.PlayersOptions{MaxJoining: 8})
			a.faults.SetRule(faultstore.Chance(seed, faultstore.Odds{
				FailBefore: 0.1, FailAfter: 0.05, Late: 0.02, Hang: 0.01, Delay: 60 * time.Millisecond, Back: 60 * time.Millisecond, After: 3 * time.Second,
			}))
			rng := rand.New(rand.NewPCG(seed, 1))
			var stays []*profile.Player
			for range 2000 {
				key := fmt.Sprint("u", rng.IntN(6))
				switch rng.IntN(8) {
				case 0, 1, 2, 3:
					if p, err := l.Join(key); err == nil {
						stays = append(stays, p)
					} else if errors.Is(err, profile.ErrFull) {
						t.Fatalf("seed %d: 6 players, and %v", seed, err)
					}
				case 4, 5, 6:
					if p, ok := l.Player(key); ok {
						p.Leave()
						l.mu.Lock()
						l.left[p] = false // a callback that had begun may be under way
						l.mu.Unlock()
					}
				case 7:
					if rng.IntN(10) == 0 {
						go func() {
							if sess, err := b.Load(t.Context(), key, nil); err == nil {
								_ = sess.Release(t.Context())
							}
						}()
					}
				}
				time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
			}
			a.faults.SetRule(nil)
			for _, p := range stays {
				p.Leave()
			}
			time.Sleep(3 * time.Minute)
			for i, p := range stays {
				select {
				case <-p.Gone():
				default:
					t.Errorf("seed %d: stay %d of %s is not over", seed, i, p.Key())
				}
			}
			if n := l.Len(); n != 0 {
				t.Errorf("seed %d: %d players are left", seed, n)
			}
			if r, err := l.Close(context.Background()); err != nil {
				t.Errorf("seed %d: %+v, %v", seed, r, err)
			}
		})
	}
}
