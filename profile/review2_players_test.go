package profile_test

import (
	"context"
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
