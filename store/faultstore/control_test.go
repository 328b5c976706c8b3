package faultstore_test

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

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// outcomesOf does one write on every part and one read of the durable records.
func outcomesOf(ctx context.Context, p store.Parts, key string) map[string]error {
	answers := map[string]error{
		"durable": p.Durable.Commit(ctx, put(key))[0],
		"fast":    p.Fast.Commit(ctx, put(key))[0],
		"bus":     p.Bus.Publish(ctx, "topic", []byte(key)),
	}
	_, answers["boards"] = p.Boards.Merge(ctx, "board", store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: key, Score: 1}}})
	_, answers["read"] = p.Durable.Get(ctx, key)
	return answers
}

func TestOutageOfParts(t *testing.T) {
	w := newWorld(t, nil)
	for i, c := range []struct {
		parts faultstore.Part
		down  []string
	}{
		{faultstore.Fast, []string{"fast"}},
		{faultstore.Fast | faultstore.Bus, []string{"bus", "fast"}},
		{faultstore.Durable, []string{"durable", "read"}},
		{faultstore.Boards, []string{"boards"}},
		{faultstore.All, []string{"boards", "bus", "durable", "fast", "read"}},
	} {
		w.faults.Outage(c.parts, true)
		down := failing(t, outcomesOf(t.Context(), w.parts, fmt.Sprint("during/", i)))
		if !slices.Equal(down, c.down) {
			t.Errorf("outage of %v: down are %v, want %v", c.parts, down, c.down)
		}
		if applied := w.stored(fmt.Sprint("during/", i)); applied == slices.Contains(c.down, "durable") {
			t.Errorf("outage of %v: stored is %v", c.parts, applied)
		}
		w.faults.Outage(c.parts, false)
		if down := failing(t, outcomesOf(t.Context(), w.parts, fmt.Sprint("after/", i))); len(down) > 0 {
			t.Errorf("after the outage of %v: down are %v", c.parts, down)
		}
	}
}

// failing is the names of the parts that answered ErrUnavailable, sorted; any other error
// fails the test.
func failing(t *testing.T, answers map[string]error) []string {
	t.Helper()
	var down []string
	for part, err := range answers {
		if err == nil {
			continue
		}
		down = append(down, part)
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want unavailable", part, err)
		}
	}
	slices.Sort(down)
	return down
}

// An overlapping outage ends for the parts that are named only.
func TestOutageEndsPartByPart(t *testing.T) {
	w := newWorld(t, nil)
	w.faults.Outage(faultstore.Fast|faultstore.Boards, true)
	w.faults.Outage(faultstore.Boards, false)
	if down := failing(t, outcomesOf(t.Context(), w.parts, "key")); !slices.Equal(down, []string{"fast"}) {
		t.Errorf("down are %v, want fast", down)
	}
}

func TestCrashEndsTheProcess(t *testing.T) {
	w := newWorld(t, nil)
	w.faults.Crash()
	w.faults.Crash()
	if down := failing(t, outcomesOf(t.Context(), w.parts, "key")); !slices.Equal(down, []string{"boards", "bus", "durable", "fast", "read"}) {
		t.Errorf("after a crash down are %v, want everything", down)
	}
	if w.stored("key") || w.entered("key") || !w.faults.Crashed() {
		t.Error("something was applied after the crash")
	}
	if down := failing(t, outcomesOf(t.Context(), w.plain, "key")); len(down) > 0 {
		t.Errorf("for another process down are %v", down)
	}
}

// Calls of every state meet the crash: on the way, hanging, on the way back, waiting to land.
func TestCrashCutsWhatIsPending(t *testing.T) {
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("keep late %v", keep), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &faultstore.Options{KeepLate: keep, Rule: byKey(map[string]faultstore.Fault{
					"way":     {Delay: time.Hour},
					"hang":    {Kind: faultstore.Hang},
					"applied": {Kind: faultstore.HangApplied},
					"back":    {Back: time.Hour},
					"late":    {Kind: faultstore.Late, After: time.Minute},
					"held":    {Kind: faultstore.Late},
				})})
				keys := []string{"way", "hang", "applied", "back", "late", "held"}
				outcomes := make(chan string, len(keys))
				for _, key := range keys {
					go func() {
						outcomes <- key + " " + commitKeys(t.Context(), w.parts.Durable, key)[0].String()
					}()
				}
				synctest.Wait()
				crashed := time.Now()
				w.faults.Crash()
				var got []string
				for range keys {
					got = append(got, <-outcomes)
				}
				slices.Sort(got)
				want := []string{"applied unknown", "back unknown", "hang unknown", "held unknown", "late unknown", "way not done"}
				if !slices.Equal(got, want) {
					t.Errorf("outcomes %q, want %q", got, want)
				}
				if since := time.Since(crashed); since != 0 {
					t.Errorf("the last one answered %v after the crash", since)
				}
				time.Sleep(2 * time.Hour)
				w.faults.Land()
				for key, applied := range map[string]bool{"way": false, "hang": false, "applied": true, "back": true, "late": keep, "held": keep} {
					if w.stored(key) != applied {
						t.Errorf("%s is stored: %v, want %v", key, !applied, applied)
					}
				}
			})
		})
	}
}

// deliveries subscribes a decorated and a plain handle and publishes from the plain one.
func TestMessagesStopWithOutageAndCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var here, there atomic.Int32
		for b, n := range map[store.Bus]*atomic.Int32{w.parts.Bus: &here, w.plain.Bus: &there} {
			if _, err := b.Subscribe(t.Context(), "topic", func([]byte) { n.Add(1) }); err != nil {
				t.Fatal(err)
			}
		}
		publish := func(wantHere, wantThere int32) {
			t.Helper()
			if err := w.plain.Bus.Publish(t.Context(), "topic", nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if here.Load() != wantHere || there.Load() != wantThere {
				t.Errorf("received %d here and %d there, want %d and %d", here.Load(), there.Load(), wantHere, wantThere)
			}
		}
		publish(1, 1)
		w.faults.Outage(faultstore.Bus, true)
		publish(1, 2)
		w.faults.Outage(faultstore.Bus, false)
		publish(2, 3)
		w.faults.Crash()
		publish(2, 4)
	})
}

func TestPublishUnderEachFault(t *testing.T) {
	for _, c := range []struct {
		kind             faultstore.Kind
		word             error
		received, landed int32
	}{
		{faultstore.Pass, nil, 1, 1},
		{faultstore.FailBefore, store.ErrUnavailable, 0, 0},
		{faultstore.FailAfter, store.ErrUnknown, 1, 1},
		{faultstore.Late, nil, 0, 1},
		{faultstore.Hang, store.ErrUnknown, 0, 0},
		{faultstore.HangApplied, store.ErrUnknown, 1, 1},
		{faultstore.Crash, store.ErrUnavailable, 0, 0},
		{faultstore.CrashAfter, store.ErrUnknown, 1, 1},
		{faultstore.Lose, nil, 0, 0},
		{faultstore.Twice, nil, 2, 2},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &faultstore.Options{Rule: always("publish", faultstore.Fault{Kind: c.kind})})
				var received atomic.Int32
				if _, err := w.plain.Bus.Subscribe(t.Context(), "topic", func(payload []byte) {
					if string(payload) == "payload" {
						received.Add(1)
					}
				}); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				payload := []byte("payload")
				err := w.parts.Bus.Publish(ctx, "topic", payload)
				clear(payload)
				if !errors.Is(err, c.word) {
					t.Errorf("Publish = %v, want %v", err, c.word)
				}
				synctest.Wait()
				if n := received.Load(); n != c.received {
					t.Errorf("%d received, want %d", n, c.received)
				}
				w.faults.Land()
				synctest.Wait()
				if n := received.Load(); n != c.landed {
					t.Errorf("%d received in the end, want %d", n, c.landed)
				}
			})
		})
	}
}

func TestDeliveryUnderEachFault(t *testing.T) {
	for kind, want := range map[faultstore.Kind]int32{
		faultstore.Pass: 1, faultstore.Twice: 2, faultstore.Lose: 0, faultstore.FailBefore: 0, faultstore.FailAfter: 0,
		faultstore.Late: 0, faultstore.Hang: 0, faultstore.HangApplied: 0, faultstore.Crash: 0, faultstore.CrashAfter: 0,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &faultstore.Options{Rule: always("deliver", faultstore.Fault{Kind: kind})})
				var received atomic.Int32
				if _, err := w.parts.Bus.Subscribe(t.Context(), "topic", func([]byte) { received.Add(1) }); err != nil {
					t.Fatal(err)
				}
				if err := w.plain.Bus.Publish(t.Context(), "topic", nil); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if n := received.Load(); n != want {
					t.Errorf("%d received, want %d", n, want)
				}
				if crash := kind == faultstore.Crash || kind == faultstore.CrashAfter; w.faults.Crashed() != crash {
					t.Errorf("crashed: %v", w.faults.Crashed())
				}
			})
		})
	}
}

// A subscription whose answer is lost is not left behind: TestMain would find its goroutine,
// and its receiver is never called.
func TestSubscribeWithLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.FailAfter, faultstore.Late, faultstore.Hang, faultstore.HangApplied, faultstore.Crash, faultstore.CrashAfter} {
			w := newWorld(t, &faultstore.Options{Rule: always("subscribe", faultstore.Fault{Kind: kind})})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			s, err := w.parts.Bus.Subscribe(ctx, "topic", func([]byte) { t.Errorf("%v: received", kind) })
			cancel()
			if !errors.Is(err, store.ErrUnavailable) || s != nil {
				t.Errorf("%v: Subscribe = %v, %v, want unavailable", kind, s, err)
			}
			w.faults.Land()
			if err := w.plain.Bus.Publish(t.Context(), "topic", nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
	})
}

func TestScanBreaksOffInTheMiddle(t *testing.T) {
	w := newWorld(t, &faultstore.Options{Rule: always("scan", faultstore.Fault{Kind: faultstore.FailAfter})})
	commitKeys(t.Context(), w.parts.Durable, "a", "b", "c")
	var seen []string
	var failed error
	for rec, err := range w.parts.Durable.Scan(t.Context(), store.Range{}) {
		if failed != nil {
			t.Fatal("the sequence goes on after its error")
		}
		if failed = err; err == nil {
			seen = append(seen, rec.Key)
		}
	}
	if !slices.Equal(seen, []string{"a"}) || !errors.Is(failed, store.ErrUnavailable) {
		t.Errorf("Scan yields %q and %v, want a and unavailable", seen, failed)
	}
	w.faults.SetRule(nil)
	seen = nil
	for rec, err := range w.parts.Durable.Scan(t.Context(), store.Range{}) {
		if err != nil {
			failed = err
			continue
		}
		seen = append(seen, rec.Key)
		if len(seen) == 2 {
			w.faults.Crash()
		}
	}
	if !slices.Equal(seen, []string{"a", "b"}) || !errors.Is(failed, store.ErrUnavailable) {
		t.Errorf("a Scan with a crash in it yields %q and %v", seen, failed)
	}
}

// Close does not wait for what hangs, and stops what is late.
func TestCloseCutsWhatIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &faultstore.Options{Rule: byKey(map[string]faultstore.Fault{
			"way": {Delay: time.Hour}, "hang": {Kind: faultstore.Hang}, "late": {Kind: faultstore.Late, After: time.Minute}, "held": {Kind: faultstore.Late},
		})})
		outcomes := make(chan store.Outcome, 4)
		for _, key := range []string{"way", "hang", "late", "held"} {
			go func() { outcomes <- commitKeys(t.Context(), w.parts.Durable, key)[0] }()
		}
		synctest.Wait()
		other := commitKeys(t.Context(), w.parts.Fast, "late") // of another handle: it stays
		if err := w.parts.Durable.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if o := <-outcomes; o == store.Done {
				t.Errorf("outcome %v", o)
			}
		}
		if got := w.parts.Durable.Commit(t.Context(), put("after"))[0]; !errors.Is(got, store.ErrClosed) {
			t.Errorf("after Close: %v, want closed", got)
		}
		time.Sleep(time.Hour)
		w.faults.Land()
		for _, key := range []string{"way", "hang", "late", "held"} {
			if w.stored(key) {
				t.Errorf("%s is stored", key)
			}
		}
		found, err := w.plain.Fast.Get(t.Context(), "late")
		if err != nil || found[0].Missing() || other[0] != store.Unknown {
			t.Errorf("the late one of another handle: %v, %+v, %v", other, found, err)
		}
	})
}

func TestWrapKeepsOneRecordMapOne(t *testing.T) {
	for apart, want := range map[bool]bool{false: true, true: false} {
		e := memstore.New(&memstore.Options{Apart: apart})
		s, err := store.New(faultstore.New(nil).Wrap(e.Parts()))
		if err != nil {
			t.Fatal(err)
		}
		if s.OneRecords() != want {
			t.Errorf("apart %v: OneRecords = %v, want %v", apart, s.OneRecords(), want)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	e := memstore.New(nil)
	p := e.Parts()
	p.Fast = p.Durable
	if wrapped := faultstore.New(nil).Wrap(p); wrapped.Fast != nil && wrapped.Fast != wrapped.Durable {
		t.Error("the same handle twice became two")
	}
}

func TestLogTellsWhatHappened(t *testing.T) {
	w := newWorld(t, &faultstore.Options{Rule: byKey(map[string]faultstore.Fault{
		"after": {Kind: faultstore.FailAfter, Delay: time.Nanosecond}, "late": {Kind: faultstore.Late},
	})})
	absent := put("a")
	absent[0].If = store.Absent()
	w.parts.Durable.Commit(t.Context(), absent)
	w.parts.Durable.Commit(t.Context(), absent, put("after"), put("late"))
	if _, err := w.parts.Fast.Get(t.Context(), "k1", "k2", "k3", "k4", "k5", "k6"); err != nil {
		t.Fatal(err)
	}
	w.faults.Land()
	w.faults.Outage(faultstore.Fast|faultstore.Bus, true)
	_, _ = w.parts.Fast.Now(t.Context())
	w.faults.Crash()
	want := []string{
		"#1 durable commit a: pass: done",
		"#2 durable commit a: pass: conflict at a",
		"#3 durable commit after: fail after delay=1ns: done, answer lost: failed after",
		"#4 durable commit late" + ": late: to be applied",
		"#5 fast get k1 k2 k3 k4 and 2 more: pass: done",
		"#4 durable commit late" + ": late: landed, done",
		"outage of fast+bus: true",
		"#6 fast now: fail before: not applied",
		"crash",
	}
	if got := w.faults.Log(); !slices.Equal(got, want) {
		t.Errorf("log:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if w.faults.String() != strings.Join(want, "\n") || w.faults.Calls() != 6 {
		t.Errorf("String:\n%s\nand %d calls", w.faults, w.faults.Calls())
	}
}

func TestLogIsBounded(t *testing.T) {
	for limit, kept := range map[int]int{3: 3, 0: faultstore.DefaultLog, -1: 0} {
		w := newWorld(t, &faultstore.Options{Log: limit})
		const calls = faultstore.DefaultLog + 10
		for range calls {
			if _, err := w.parts.Durable.Now(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		lines := w.faults.Log()
		if len(lines) != kept {
			t.Errorf("limit %d keeps %d lines, want %d", limit, len(lines), kept)
		}
		if kept == 0 {
			continue
		}
		if want := fmt.Sprintf("#%d durable now: pass: done", calls); lines[kept-1] != want {
			t.Errorf("limit %d: the last line is %q, want %q", limit, lines[kept-1], want)
		}
		if head := fmt.Sprintf("(%d lines before)\n", calls-kept); !strings.HasPrefix(w.faults.String(), head) {
			t.Errorf("limit %d: the text begins %.40q, want %q", limit, w.faults, head)
		}
	}
}
