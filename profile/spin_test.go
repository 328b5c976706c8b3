package profile_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// Whatever is down or hangs, with limits and without: nothing turns. Clock readings tell.
func TestNothingSpins(t *testing.T) {
	hang := func(part faultstore.Part) faultstore.Rule {
		return func(c faultstore.Call) faultstore.Fault {
			if c.Part&part != 0 {
				return faultstore.Fault{Kind: faultstore.Hang}
			}
			return faultstore.Fault{}
		}
	}
	fail := func(part faultstore.Part) faultstore.Rule {
		return func(c faultstore.Call) faultstore.Fault {
			if c.Part&part != 0 {
				return faultstore.Fault{Kind: faultstore.FailBefore}
			}
			return faultstore.Fault{}
		}
	}
	slow := func(part faultstore.Part) faultstore.Rule {
		return func(c faultstore.Call) faultstore.Fault {
			if c.Part&part != 0 {
				return faultstore.Fault{Delay: 1200 * time.Millisecond, Back: 300 * time.Millisecond}
			}
			return faultstore.Fault{}
		}
	}
	for _, limit := range []int{0, 60} {
		for name, rule := range map[string]faultstore.Rule{
			"fine": nil, "hung fast": hang(faultstore.Fast), "hung durable": hang(faultstore.Durable), "hung": hang(faultstore.Fast | faultstore.Durable),
			"no fast": fail(faultstore.Fast), "no durable": fail(faultstore.Durable), "none": fail(faultstore.Fast | faultstore.Durable),
			"slow fast": slow(faultstore.Fast), "slow": slow(faultstore.Fast | faultstore.Durable),
		} {
			for _, journal := range []time.Duration{-1, time.Second} {
				t.Run(fmt.Sprintf("%s, %d a minute, journal %v", name, limit, journal), func(t *testing.T) {
					bubble(t, func(t *testing.T, f *fleet) { spin(t, f, limit, journal, rule) })
				})
			}
		}
	}
}

func spin(t *testing.T, f *fleet, limit int, journal time.Duration, rule faultstore.Rule) {
	t.Helper()
	var n atomic.Int64
	o := &node.Options{Name: "a", Clock: countingClock{clock.Or(nil), &n}}
	if limit > 0 {
		o.Limits = perMinute(limit)
	}
	opts := &profile.Options{JournalEvery: journal, Autosave: 10 * time.Second, FallbackSave: 5 * time.Second}
	a := f.startWith(o, opts)
	b := f.start("b", opts)
	a.ended.Store(true)
	var all []*profile.Session
	for i := range 10 {
		all = append(all, a.load(fmt.Sprint("u", i), &profile.LoadOptions{Wait: time.Hour}))
		b.load(fmt.Sprint("v", i), nil)
	}
	b.faults.SetRule(func(c faultstore.Call) faultstore.Fault { // it lives and hears nothing
		if c.Op == "scan" || c.Part == faultstore.Bus {
			return faultstore.Fault{Kind: faultstore.FailBefore}
		}
		return faultstore.Fault{}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 10)
	for i := range 10 { // loads that wait for a live node
		go func() {
			_, _ = a.Load(ctx, fmt.Sprint("v", i), &profile.LoadOptions{Policy: profile.Wait})
			ended <- struct{}{}
		}()
	}
	time.Sleep(3 * time.Second)
	a.faults.SetRule(rule)
	for second := range 60 {
		before := n.Load()
		for i, sess := range all {
			if second > 10 && i == second%10 {
				go func() { _ = sess.Release(ctx) }()
			}
			_, _ = sess.Transact(game, doc.Increment("/coins", 1))
			if second%3 == 0 {
				go func() { _ = sess.Save(ctx) }()
			}
			if second%3 == 1 {
				go func() { _ = sess.Sync(ctx) }()
			}
		}
		time.Sleep(time.Second)
		if read := n.Load() - before; read > 700 {
			t.Fatalf("second %d: the clock was read %d times", second, read)
		}
	}
	cancel()
	for range 10 {
		<-ended
	}
	a.faults.SetRule(nil)
	time.Sleep(time.Minute)
}
