package profile_test

import (
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// While a beat of the node takes long, what is only due waits for the answer. It goes on when there
// is none, and beats that hang for ever do not hold it up for ever. Who waits in Sync waits for no
// beat.
func TestJournalsGiveWayToASlowBeat(t *testing.T) {
	for name, c := range map[string]struct {
		beats    faultstore.Fault
		from, to time.Duration // since the beat, when what is due has landed
	}{
		"quick":   {faultstore.Fault{}, 550 * time.Millisecond, 560 * time.Millisecond},
		"slow":    {faultstore.Fault{Back: 700 * time.Millisecond}, 700 * time.Millisecond, 710 * time.Millisecond},
		"hanging": {faultstore.Fault{Kind: faultstore.Hang}, time.Second, 1010 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				w := newSlowBeats(t, f, 200*time.Millisecond, c.beats)
				appends := w.set.Stats().Appends
				w.pay()
				for w.set.Stats().Appends == appends {
					time.Sleep(time.Millisecond)
				}
				if at := w.sinceBeat(); at < c.from || at > c.to {
					t.Errorf("journaled %v after the beat, want %v to %v", at, c.from, c.to)
				}
			})
		})
		t.Run(name+", waited for", func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				w := newSlowBeats(t, f, time.Hour, c.beats)
				w.pay()
				if err := w.session.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
				if at := w.sinceBeat(); at > 510*time.Millisecond {
					t.Errorf("synced %v after the beat, want 500ms", at)
				}
			})
		})
	}
}

// slowBeats is half a second after a node has sent a beat that is slow.
type slowBeats struct {
	t       *testing.T
	set     *profile.Set
	session *profile.Session
	beat    time.Time
}

func newSlowBeats(t *testing.T, f *fleet, every time.Duration, beats faultstore.Fault) *slowBeats {
	t.Helper()
	begun := time.Now()
	a := f.start("a", &profile.Options{JournalEvery: every})
	w := &slowBeats{t: t, set: a.Set, session: a.load("u1", nil), beat: begun.Add(3 * time.Second)}
	for range 2 { // opens the journal
		w.pay()
		if err := w.session.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a.faults.SetRule(func(call faultstore.Call) faultstore.Fault {
		if on("commit", "node/")(call) {
			return beats
		}
		return faultstore.Fault{}
	})
	time.Sleep(time.Until(w.beat) + 500*time.Millisecond)
	return w
}

func (w *slowBeats) sinceBeat() time.Duration { return time.Since(w.beat) }

func (w *slowBeats) pay() {
	w.t.Helper()
	if _, err := w.session.Transact(game, doc.Increment("/coins", 1)); err != nil {
		w.t.Fatal(err)
	}
}
