package node_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// records lets a test decide the fate of each commit of beats.
type records struct {
	store.Records
	fate atomic.Pointer[func(store.Tx) (apply bool, answer error)]
}

func (r *records) Commit(ctx context.Context, txs ...store.Tx) []error {
	fate := r.fate.Load()
	if fate == nil || !strings.HasPrefix(txs[0][0].Key, "node/") {
		return r.Records.Commit(ctx, txs...)
	}
	apply, answer := (*fate)(txs[0])
	if apply {
		if err := r.Records.Commit(ctx, txs...)[0]; err != nil && answer == nil {
			return []error{err}
		}
	}
	return []error{answer}
}

func (r *records) set(fate func(store.Tx) (bool, error)) { r.fate.Store(&fate) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

type fleet struct {
	t      *testing.T
	engine *memstore.Engine
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	return &fleet{t, memstore.New(nil)}
}

// start starts a node whose beats can be tampered with; the test's end closes it.
func (f *fleet) start(opts *node.Options) (*node.Node, *records) {
	f.t.Helper()
	parts := f.engine.Parts()
	rec := &records{Records: parts.Durable}
	parts.Durable = rec
	st, err := store.New(parts)
	if err != nil {
		f.t.Fatal(err)
	}
	if opts == nil {
		opts = &node.Options{}
	}
	opts.Logger = quiet()
	n, err := node.Start(f.t.Context(), st, opts)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		rec.fate.Store(nil)
		if _, err := n.Close(context.Background()); err != nil {
			f.t.Errorf("close: %v", err)
		}
	})
	return n, rec
}

// judgeBy has me look at holder twice, wait apart, and judges a session that vouches.
func judgeBy(t *testing.T, me *node.Node, holder string, wait time.Duration) (node.Verdict, node.Evidence) {
	t.Helper()
	first, err := me.Look(t.Context(), holder)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(wait)
	latest, err := me.Look(t.Context(), holder)
	if err != nil {
		t.Fatal(err)
	}
	return node.Judge(node.Held{Beating: true}, node.FirstLook(first, latest), latest, me.Rules())
}

func TestLiveNodeIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		b, _ := f.start(&node.Options{Name: "b"})
		time.Sleep(10 * time.Second)
		if v, e := judgeBy(t, b, a.ID(), 5*time.Second); v != node.Alive {
			t.Fatalf("a live node is %v (%s)", v, e)
		}
		if !a.Beating() {
			t.Error("a steady node is suspect")
		}
	})
}

func TestNodeWhoseBeatsFailIsDeadAfterDeadAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(&node.Options{Name: "a"})
		b, _ := f.start(&node.Options{Name: "b"})
		time.Sleep(5500 * time.Millisecond)
		tamper.set(func(store.Tx) (bool, error) { return false, store.ErrUnavailable })
		time.Sleep(3400 * time.Millisecond)
		if v, _ := judgeBy(t, b, a.ID(), 0); v != node.Alive {
			t.Fatalf("before DeadAfter: %v", v)
		}
		if a.Beating() {
			t.Error("not suspect although DeadAfter is near")
		}
		look, err := a.Look(t.Context(), b.ID())
		if err != nil || look.MayJudge {
			t.Errorf("a suspect node may judge (%v)", err)
		}
		time.Sleep(1300 * time.Millisecond)
		if v, e := judgeBy(t, b, a.ID(), 0); v != node.Dead || e != node.EvidenceAge {
			t.Fatalf("after DeadAfter: %v %q", v, e)
		}
	})
}

func TestFreshNodeDoesNotJudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(&node.Options{Name: "a"})
		tamper.set(func(store.Tx) (bool, error) { return false, store.ErrUnavailable })
		time.Sleep(time.Minute)
		b, _ := f.start(&node.Options{Name: "b"})
		if v, e := judgeBy(t, b, a.ID(), 0); v != node.Undecided {
			t.Fatalf("right after its start: %v (%s)", v, e)
		}
		time.Sleep(2600 * time.Millisecond)
		if v, e := judgeBy(t, b, a.ID(), 0); v != node.Dead || e != node.EvidenceAge {
			t.Fatalf("after 2.5 beats: %v %q", v, e)
		}
	})
}

func TestClockStepOfTheStoreKillsNobody(t *testing.T) {
	for name, step := range map[string]time.Duration{"forward": time.Minute, "backward": -time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				a, _ := f.start(&node.Options{Name: "a"})
				b, _ := f.start(&node.Options{Name: "b"})
				time.Sleep(5*time.Second + 500*time.Millisecond)
				f.engine.StepClock(memstore.Durable|memstore.Fast, step)
				for range 100 {
					if v, e := judgeBy(t, b, a.ID(), 0); v == node.Dead {
						t.Fatalf("a live node is dead by %s", e)
					}
					time.Sleep(100 * time.Millisecond)
				}
				if v, _ := judgeBy(t, b, a.ID(), 0); v != node.Alive {
					t.Errorf("long after the step: %v", v)
				}
			})
		})
	}
}

// The looker's own beat is stamped anew right after the step, and honest; the other's is not.
func TestClockStepBetweenTwoBeatsKillsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		time.Sleep(500 * time.Millisecond)
		b, _ := f.start(&node.Options{Name: "b"})
		for range 40 { // more than one change of marks
			time.Sleep(5*time.Second - 300*time.Millisecond)
			f.engine.StepClock(memstore.Durable|memstore.Fast, time.Minute) // after a's beat, before b's
			time.Sleep(400 * time.Millisecond)                              // after b's, before a's next
			if v, e := judgeBy(t, b, a.ID(), 0); v == node.Dead {
				t.Fatalf("a live node is dead by %s", e)
			}
			time.Sleep(900 * time.Millisecond)
		}
		time.Sleep(7 * time.Second)
		if v, _ := judgeBy(t, b, a.ID(), 0); v != node.Alive {
			t.Errorf("long after the steps: %v", v)
		}
	})
}

// A beat that is on its way when the node closes does not stay behind.
func TestCloseRemovesTheBeatThatWasOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(&node.Options{Name: "a"})
		tamper.set(func(store.Tx) (bool, error) { return true, store.ErrUnknown })
		time.Sleep(1500 * time.Millisecond)
		tamper.set(func(store.Tx) (bool, error) { return true, nil })
		if _, err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		st, _ := f.engine.Store()
		for rec, err := range st.Fast().Scan(t.Context(), store.Range{}) {
			t.Errorf("left behind: %s %v", rec.Key, err)
		}
	})
}

func TestStoreThatForgotBeatsKillsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		b, _ := f.start(&node.Options{Name: "b"})
		time.Sleep(5500 * time.Millisecond)
		f.engine.Forget(memstore.Durable | memstore.Fast)
		for range 60 {
			if v, e := judgeBy(t, b, a.ID(), 0); v == node.Dead {
				t.Fatalf("dead by %s", e)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if v, _ := judgeBy(t, b, a.ID(), 5*time.Second); v != node.Alive {
			t.Errorf("after the memory loss: %v", v)
		}
	})
}

func TestLostAnswersOfBeatsAreAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(&node.Options{Name: "a"})
		var n atomic.Int64
		tamper.set(func(store.Tx) (bool, error) {
			if n.Add(1)%2 == 0 {
				return true, fmt.Errorf("cut off: %w", store.ErrUnknown)
			}
			return true, nil
		})
		time.Sleep(30 * time.Second)
		select {
		case <-a.Failed():
			t.Fatal("a node took its own beat for another's")
		default:
		}
		if !a.Beating() {
			t.Error("suspect although every second beat lands")
		}
	})
}

func TestForeignBeatStopsTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		st, _ := f.engine.Store()
		if err := st.Fast().Commit(t.Context(), store.Tx{{Key: "node/" + a.ID(), Op: store.Put, Value: []byte(`{"format":1,"id":"x"}`), Version: 99}})[0]; err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		select {
		case <-a.Failed():
		default:
			t.Fatal("two processes beat under one id and nobody noticed")
		}
		recs, err := st.Fast().Get(t.Context(), "node/"+a.ID())
		if err != nil || recs[0].Version != 99 {
			t.Errorf("the other's beat was overwritten: %v %v", recs, err)
		}
	})
}

func TestIDIsNewAtEveryStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "same"})
		b, _ := f.start(&node.Options{Name: "same"})
		if a.ID() == b.ID() || !strings.HasPrefix(a.ID(), "same-") || len(a.ID()) != len("same-")+8 {
			t.Fatalf("ids %s and %s", a.ID(), b.ID())
		}
		if x, y := a.NewToken("test", "k"), a.NewToken("test", "k"); x == y || len(x) != 24 {
			t.Fatalf("tokens %s and %s", x, y)
		}
	})
}

func TestFleetTimeIsTheStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.engine.StepClock(memstore.Durable|memstore.Fast, 48*time.Hour)
		a, _ := f.start(nil)
		time.Sleep(30 * time.Second)
		want := time.Now().Add(48 * time.Hour)
		got, fresh := a.FleetTime()
		if diff := got.Sub(want); !fresh || diff > time.Second || diff < -time.Second {
			t.Fatalf("fleet time %v fresh %v, want about %v", got, fresh, want)
		}
	})
}

func TestNotesAndMessagesReachTheirSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		b, _ := f.start(&node.Options{Name: "b"})
		got := make(chan node.Note, 16)
		stop, err := a.Serve("players", func(n node.Note) { got <- n })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()

		if err := b.Tell(t.Context(), a.ID(), note); err != nil {
			t.Fatal(err)
		}
		if n := <-got; n != note {
			t.Fatalf("message %v, want %v", n, note)
		}
		left := note
		v, err := b.LeaveNote(t.Context(), a.ID(), note)
		if err != nil {
			t.Fatal(err)
		}
		left.Version = v
		n := <-got
		if n.Age > time.Second {
			t.Errorf("read %v after it was left", n.Age)
		}
		if n.Age = 0; n != left {
			t.Fatalf("note %v, want %v", n, left)
		}
		newer := note
		newer.Token = "newer"
		if _, err := b.LeaveNote(t.Context(), a.ID(), newer); err != nil {
			t.Fatal(err)
		}
		if err := b.RemoveNote(t.Context(), a.ID(), left); err != nil {
			t.Fatal(err)
		}
		for n := <-got; n.Token != "newer"; n = <-got {
			t.Log("an older read", n)
		}
		time.Sleep(1500 * time.Millisecond)
		if n := <-got; n.Token != "newer" {
			t.Fatalf("removing the old note removed the newer one: %v", n)
		}
	})
}

func TestCloseRunsTheStagesInOrderAndRemovesTheBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		order := make(chan string, 8)
		for _, s := range []node.Stage{node.StageBoards, node.StageSeasons, node.StageSessions} {
			a.OnClose(s, "service", func(context.Context) (int, error) {
				select {
				case <-a.Closing():
				default:
					t.Error("closing not announced")
				}
				time.Sleep(time.Second)
				order <- s.String()
				return 0, nil
			})
		}
		report, err := a.Close(t.Context())
		if err != nil || !report.Complete() || report.Took < 3*time.Second {
			t.Fatalf("report %+v, %v", report, err)
		}
		for _, want := range []string{"sessions", "seasons", "boards"} {
			if got := <-order; got != want {
				t.Fatalf("stage %s, want %s", got, want)
			}
		}
		st, _ := f.engine.Store()
		if recs, err := st.Fast().Get(t.Context(), "node/"+a.ID()); err != nil || !recs[0].Missing() {
			t.Errorf("the beat is still there: %v %v", recs, err)
		}
		if again, _ := a.Close(t.Context()); again.Took != report.Took {
			t.Error("a second Close has another report")
		}
	})
}

func TestCloseWithASessionLeftSaysClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		b, _ := f.start(&node.Options{Name: "b"})
		time.Sleep(5 * time.Second)
		hang := errors.New("hangs")
		a.OnClose(node.StageSessions, "players", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 3, hang
		})
		drained := false
		a.OnClose(node.StageBoards, "boards", func(ctx context.Context) (int, error) {
			drained = ctx.Err() == nil
			return 0, nil
		})
		report, err := a.Close(t.Context())
		if err != nil || len(report.Unfinished) != 1 || report.Unfinished[0].Left != 3 || !errors.Is(report.Unfinished[0].Err, hang) {
			t.Fatalf("report %+v, %v", report, err)
		}
		if report.Took > 26*time.Second || !drained {
			t.Errorf("took %v, boards had time: %v", report.Took, drained)
		}
		if v, e := judgeBy(t, b, a.ID(), 0); v != node.Dead || e != node.EvidenceClosed {
			t.Errorf("verdict %v %q, want dead at once by closed", v, e)
		}
	})
}

func TestCloseEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(nil)
		a.OnClose(node.StageSessions, "players", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 1, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		report, _ := a.Close(ctx)
		if report.Complete() || report.Took > 4*time.Second {
			t.Fatalf("report %+v", report)
		}
	})
}

func TestFleetListsMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(&node.Options{Name: "a"})
		b, _ := f.start(&node.Options{Name: "b"})
		tamper.set(func(store.Tx) (bool, error) { return false, store.ErrUnavailable })
		time.Sleep(10 * time.Second)
		members, err := b.Fleet(t.Context())
		if err != nil || len(members) != 2 {
			t.Fatalf("%v, %v", members, err)
		}
		for _, m := range members {
			if alive := m.ID == b.ID(); m.Alive != alive || m.Started.IsZero() {
				t.Errorf("%+v, want alive %v", m, alive)
			}
		}
		_ = a
	})
}

func TestOptionsReportEverythingWrong(t *testing.T) {
	st, _ := memstore.New(nil).Store()
	_, err := node.Start(t.Context(), st, &node.Options{Name: "a/b", Beat: time.Second, DeadAfter: time.Second, AskEvery: -1, CloseTimeout: -1})
	for _, field := range []string{"Name", "DeadAfter", "AskEvery", "CloseTimeout"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}
