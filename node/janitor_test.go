package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// slow is a node whose hours pass quickly in a test.
func slow(name string) *node.Options {
	return &node.Options{Name: name, Beat: 10 * time.Minute, AskEvery: 10 * time.Minute}
}

// keys are all keys of the fast store under the prefixes.
func (f *fleet) keys(prefixes ...string) []string {
	f.t.Helper()
	st, err := f.engine.Store()
	if err != nil {
		f.t.Fatal(err)
	}
	var out []string
	for _, p := range prefixes {
		for rec, err := range st.Fast().Scan(context.Background(), store.Prefix(p)) {
			if err != nil {
				f.t.Fatal(err)
			}
			out = append(out, rec.Key)
		}
	}
	return out
}

func (f *fleet) put(key string) {
	f.t.Helper()
	st, err := f.engine.Store()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := st.Fast().Commit(context.Background(), store.Tx{{Key: key, Op: store.Put, Value: []byte("{}"), Version: 7}})[0]; err != nil {
		f.t.Fatal(err)
	}
}

func about(keys []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !strings.Contains(k, id) })
}

func TestDeadNodesAreForgottenAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(slow("a"))
		b, _ := f.start(slow("b"))
		c, _ := f.start(slow("c"))
		time.Sleep(time.Hour)
		for i := range 600 { // more than is removed in one go
			f.put(node.NoteKey(a.ID(), "players", fmt.Sprint("u", i)))
		}
		f.put(node.NoteKey(b.ID(), "players", "u"))
		f.put(node.EstatePrefix(a.ID()) + "players/u1")
		tamper.set(refuse)
		time.Sleep(23 * time.Hour)
		if got := about(f.keys("node/", "mark/", "note/"), a.ID()); len(got) != 1+2+600 {
			t.Fatalf("before a day: %d records are left", len(got))
		}
		time.Sleep(72 * time.Hour)
		if got := about(f.keys("node/"), a.ID()); len(got) != 1 {
			t.Fatalf("something is left to be done, and the beat is gone")
		}
		st, _ := f.engine.Store()
		if err := st.Fast().Commit(t.Context(), store.Tx{{Key: node.EstatePrefix(a.ID()) + "players/u1", Op: store.Delete}})[0]; err != nil {
			t.Fatal(err)
		}
		time.Sleep(72 * time.Hour)
		if got := about(f.keys("node/", "mark/", "note/"), a.ID()); len(got) != 0 {
			t.Errorf("left behind: %d, such as %v", len(got), got[:min(3, len(got))])
		}
		for _, n := range []*node.Node{b, c} {
			if got := about(f.keys("node/", "mark/"), n.ID()); len(got) != 3 {
				t.Errorf("of a living node: %v", got)
			}
			if dead := n.Dead(); len(dead) != 0 {
				t.Errorf("dead still: %v", dead)
			}
		}
		if got := about(f.keys("note/"), b.ID()); len(got) != 1 {
			t.Errorf("the note for a living node is gone")
		}
		tamper.set(func(store.Tx) (bool, error) { return true, nil })
		time.Sleep(3 * time.Hour)
		if !a.Beating() {
			t.Error("a node that comes back after days does not beat")
		}
	})
}

func TestNothingIsForgottenWhereThatIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(slow("a"))
		o := slow("b")
		o.ForgetAfter = -1
		f.start(o)
		time.Sleep(time.Hour)
		tamper.set(refuse)
		time.Sleep(72 * time.Hour)
		if got := about(f.keys("node/", "mark/"), a.ID()); len(got) != 3 {
			t.Errorf("%v", got)
		}
	})
}

// What was on its way when its node closed has no owner: it is found by the folder.
func TestRecordsWithoutAnOwnerAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		b, _ := f.start(slow("b"))
		for i := range 700 {
			f.put(fmt.Sprintf("mark/gone-%d/0", i))
		}
		for i := range 5 {
			f.put(node.NoteKey("gone", "players", fmt.Sprint("u", i)))
			f.put(node.EstatePrefix("gone") + fmt.Sprint("players/u", i))
		}
		f.put(node.NoteKey(b.ID(), "players", "u"))
		for day := range 100 {
			f.put("mark/just/0")
			time.Sleep(23 * time.Hour)
			if got := f.keys("mark/just"); len(got) != 1 {
				t.Fatalf("day %d: swept before a day has passed", day)
			}
		}
		if got := f.keys("mark/", "note/", "journaled/"); len(got) != 4 {
			t.Errorf("%d are left, such as %v", len(got), got[:min(5, len(got))])
		}
	})
}

// A step of the store's clock makes all beats old, and the janitor takes none away.
func TestClockStepMakesTheJanitorTakeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		nodes := make([]*node.Node, 3)
		var lost atomic.Int64
		for i := range nodes {
			var r *records
			nodes[i], r = f.start(slow("n"))
			r.set(func(tx store.Tx) (bool, error) {
				if tx[0].Op == store.Delete {
					lost.Add(1)
				}
				return true, nil
			})
			time.Sleep(3 * time.Minute)
		}
		for range 50 {
			time.Sleep(71*time.Minute + 10*time.Second)
			f.engine.StepClock(memstore.Durable|memstore.Fast, 48*time.Hour)
		}
		if n := lost.Load(); n != 0 {
			t.Errorf("%d beats of living nodes were removed", n)
		}
	})
}

// tardy applies each commit a while after it was sent, whether the caller waits or not; what
// removes goes faster than what puts.
type tardy struct{ store.Records }

func (r tardy) Commit(ctx context.Context, txs ...store.Tx) []error {
	done := make(chan []error, 1)
	go func() {
		time.Sleep(10 * time.Millisecond)
		if txs[0][0].Op == store.Put {
			time.Sleep(400 * time.Millisecond)
		}
		done <- r.Records.Commit(context.WithoutCancel(ctx), txs...)
	}()
	select {
	case errs := <-done:
		return errs
	case <-ctx.Done():
		return slices.Repeat([]error{store.ErrUnknown}, len(txs))
	}
}

// Whatever moment a node closes at, and whatever is on its way then, nothing stays behind.
func TestCloseLeavesNothingBehind(t *testing.T) {
	for ms := 0; ms < 5000; ms += 50 {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			parts := f.engine.Parts()
			parts.Durable = tardy{parts.Durable}
			st, err := store.New(parts)
			if err != nil {
				t.Fatal(err)
			}
			n, err := node.Start(t.Context(), st, &node.Options{Logger: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(ms) * time.Millisecond)
			for i := range 3 {
				f.put(node.NoteKey(n.ID(), "players", fmt.Sprint("u", i)))
				f.put(node.EstatePrefix(n.ID()) + fmt.Sprint("players/u", i))
			}
			report, err := n.Close(t.Context())
			if err != nil || report.Took > time.Second {
				t.Errorf("closed after %d ms: %+v %v", ms, report, err)
			}
			time.Sleep(time.Minute)
			if got := f.keys(""); len(got) != 0 {
				t.Errorf("closed after %d ms: left behind %v", ms, got)
			}
		})
	}
}

// Lost answers while closing: what cannot be known is looked at again.
func TestCloseWithLostAnswersLeavesNothingBehind(t *testing.T) {
	for nth := range 6 {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			faults := faultstore.New(nil)
			st, err := store.New(faults.Wrap(f.engine.Parts()))
			if err != nil {
				t.Fatal(err)
			}
			n, err := node.Start(t.Context(), st, &node.Options{Logger: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10500 * time.Millisecond)
			faults.SetRule(faultstore.Nth(nth+1, faultstore.Writes, faultstore.Fault{Kind: faultstore.FailBefore}))
			if _, err := n.Close(t.Context()); err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Error(err)
			}
			if got := f.keys(""); len(got) != 0 {
				t.Errorf("write %d lost: left behind %v", nth+1, got)
			}
		})
	}
}

// A session that is left is left with all that tells of it.
func TestCloseKeepsTheEstateOfASessionThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(nil)
		a.OnClose(node.StageSessions, "players", func(context.Context) (int, error) { return 1, nil })
		f.put(node.EstatePrefix(a.ID()) + "players/u")
		f.put(node.NoteKey(a.ID(), "players", "u"))
		if _, err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := f.keys(""); !slices.Equal(got, []string{node.EstatePrefix(a.ID()) + "players/u", "node/" + a.ID()}) {
			t.Errorf("%v", got)
		}
	})
}

func TestServeRefusesASecondOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(nil)
		heard := [2]int{}
		stop, err := a.Serve("players", func(node.Note) { heard[0]++ })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Serve("players", func(node.Note) { heard[1]++ }); !errors.Is(err, node.ErrServed) {
			t.Errorf("a second owner: %v", err)
		}
		if _, err := a.Serve("guilds", func(node.Note) {}); err != nil {
			t.Errorf("another set: %v", err)
		}
		note := node.Note{Kind: node.NoteAsk, Set: "players", Key: "u", Token: "t", Node: a.ID(), For: "x"}
		tell := func() {
			if err := a.Tell(t.Context(), a.ID(), note); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		tell()
		stop()
		if _, err := a.Serve("players", func(node.Note) { heard[1]++ }); err != nil {
			t.Errorf("the owner has gone: %v", err)
		}
		stop() // again: it must not end the next one
		tell()
		if heard != [2]int{1, 1} {
			t.Errorf("heard %v", heard)
		}
	})
}
