package profile_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// Loads on the reaping node and on others, while the reapers are at work: every profile is
// opened once, with everything that was acknowledged.
func TestReapersBesideLoads(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 24)
		var others []*server
		for i := range 3 {
			o := journaling()
			o.ReapEvery = 500 * time.Millisecond
			others = append(others, f.start(fmt.Sprint("b", i), o))
		}
		for i, b := range others {
			b.faults.SetRule(faultstore.Chance(uint64(i), faultstore.Odds{FailBefore: 0.05, FailAfter: 0.05, Late: 0.05, Delay: 50 * time.Millisecond, After: 3 * time.Second}))
		}
		time.Sleep(5 * time.Second)
		a.kill()
		type result struct {
			i    int
			sess *profile.Session
			err  error
		}
		done := make(chan result)
		for i := range 24 {
			go func() {
				time.Sleep(3*time.Second + time.Duration(i)*100*time.Millisecond)
				s, err := others[i%3].Load(context.Background(), fmt.Sprint("u", i), nil)
				done <- result{i, s, err}
			}()
		}
		for range 24 {
			r := <-done
			if r.err != nil {
				t.Errorf("u%d: %v", r.i, r.err)
				continue
			}
			if coins(r.sess.Data()) != 5 {
				t.Errorf("u%d: %v", r.i, r.sess.Data())
			}
			add(t, r.sess, 1)
			syncOrSave(t, r.sess)
		}
		time.Sleep(time.Minute)
		for i := range 24 {
			s, ok := others[i%3].Session(fmt.Sprint("u", i))
			if !ok || s.Reason() != 0 || coins(s.Data()) != 6 {
				t.Errorf("u%d: %v", i, ok)
			}
		}
	})
}

// The fast store forgets while the opening save is refused and the journal grows: nothing that
// only stood there is acknowledged afterwards.
func TestTheFastStoreForgetsWhileTheDurableOneIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", journaling()), f.start("b", journaling())
		s := a.load("u", nil)
		time.Sleep(6 * time.Second)
		a.faults.Outage(faultstore.Durable, true)
		for range 10 {
			add(t, s, 1)
			time.Sleep(time.Second)
		}
		f.engine.Forget(memstore.Fast)
		a.faults.Outage(faultstore.Durable, false)
		add(t, s, 1)
		if err := s.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Second)
		a.kill()
		next := b.load("u", &profile.LoadOptions{Wait: 10 * time.Minute, Policy: profile.Wait})
		if coins(next.Data()) != 11 || next.Loaded().Evidence == node.NoEvidence {
			t.Errorf("%v %+v", next.Data(), next.Loaded())
		}
	})
}
