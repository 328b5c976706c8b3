package storecopy_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/internal/storecopy"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// Each call of a pass in turn fails, loses its answer, or ends the copier before or after it; the
// pass after it makes the copy whole, and takes nothing of the first for somebody else's.
func TestAPassMayBeCutAnywhere(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.FailAfter, faultstore.Late, faultstore.Crash, faultstore.CrashAfter} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				struck := true
				for n := 1; struck; n++ {
					struck = cutAt(t, n, kind)
				}
			})
		})
	}
}

// cutAt makes a pass whose n-th call has the fault, and one after it. It tells whether there was
// an n-th call.
func cutAt(t *testing.T, n int, kind faultstore.Kind) (struck bool) {
	t.Helper()
	source, engine := memstore.New(&memstore.Options{Apart: true}), memstore.New(&memstore.Options{Apart: true})
	from, to := wrapped(t, source.Parts()), wrapped(t, engine.Parts())
	from.fill(5)
	first := storecopy.Options{From: from.Store, To: to.Store}
	pass(t, first)
	from.put("profile/players/u_0003", free(33))
	from.remove("mail/players/u_0001/m1")
	from.put("receipt/players/r2", `{"format":1}`)
	from.merge("Kills", entry("a", 1))
	from.drop("Empty")

	f := faultstore.New(&faultstore.Options{Rule: faultstore.Nth(n, nil, faultstore.Fault{Kind: kind})})
	cut := wrapped(t, f.Wrap(engine.Parts()))
	_, err := storecopy.Copy(t.Context(), storecopy.Options{From: from.Store, To: cut.Store, Prune: true})
	f.Land()
	struck = f.Calls() >= uint64(n)
	if err == nil && f.Crashed() {
		t.Errorf("call %d ended the copier, and it does not say so", n)
	}
	sum, found := pass(t, storecopy.Options{From: from.Store, To: to.Store, Prune: true})
	if !sum.Complete() || len(found) > 0 {
		t.Fatalf("after call %d (%v): %+v, found %v\n%s", n, err, sum, found, f)
	}
	wantCopy(t, from, to)
	if t.Failed() {
		t.Fatalf("after call %d (%v)\n%s", n, err, f)
	}
	return struck
}

// The source is read while it is written; once it holds still, one pass makes the copy whole.
func TestTheSourceIsInUseMeanwhile(t *testing.T) {
	from, to := placeOf(t), sqlite(t)
	from.fill(900)
	stop := make(chan struct{})
	var playing sync.WaitGroup
	playing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			from.put(fmt.Sprintf("profile/players/u_%04d", i*37%1200), free(i))
			from.merge("Kills", entry(fmt.Sprintf("k%d", i%50), int64(i%9)))
			if i%5 == 0 {
				from.remove(fmt.Sprintf("profile/players/u_%04d", i*41%1200))
			}
		}
	})
	for range 3 {
		pass(t, storecopy.Options{From: from.Store, To: to.Store, Prune: true})
	}
	close(stop)
	playing.Wait()
	if sum, found := pass(t, storecopy.Options{From: from.Store, To: to.Store, Prune: true}); !sum.Complete() || len(found) > 0 {
		t.Errorf("%+v, found %v", sum, found)
	}
	wantCopy(t, from, to)
}

// A store that comes back is waited for; one that does not ends the pass with its error.
func TestAStoreThatGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, side := range []string{"source", "target"} {
			for _, forGood := range []bool{false, true} {
				f := faultstore.New(nil)
				from, to := placeOf(t), placeOf(t)
				from.fill(600)
				o := storecopy.Options{From: from.Store, To: to.Store}
				engine := memstore.New(&memstore.Options{Apart: true})
				broken := wrapped(t, f.Wrap(engine.Parts()))
				if side == "target" {
					o.To, to = broken.Store, broken
				} else {
					broken.fill(600)
					o.From, from = broken.Store, broken
				}
				once := sync.OnceFunc(func() {
					f.Outage(faultstore.All, true)
					if !forGood {
						time.AfterFunc(time.Second, func() { f.Outage(faultstore.All, false) })
					}
				})
				o.Progress = func(storecopy.Sum) { once() }
				_, err := storecopy.Copy(t.Context(), o)
				if forGood == (err == nil) || err != nil && !strings.Contains(err.Error(), store.ErrUnavailable.Error()) {
					t.Errorf("%s away for good %v: %v", side, forGood, err)
				}
				f.Outage(faultstore.All, false)
				if !forGood {
					wantCopy(t, from, to)
				}
			}
		}
	})
}

// A pass is held to its rate.
func TestAPassIsHeldToItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := placeOf(t), placeOf(t)
		from.fill(594) // and 6, and 36 entries
		begun := time.Now()
		pass(t, storecopy.Options{From: from.Store, To: to.Store, Rate: 100})
		if took := time.Since(begun); took < 5*time.Second || took > 7*time.Second {
			t.Errorf("636 writes at 100 a second took %v", took)
		}
	})
}
