package profile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// follower keeps a copy of a session by its watch alone.
type follower struct {
	data     doc.Value
	revision uint64
	resyncs  int
	missed   int
}

// step takes in one event.
func (f *follower) step(e profile.WatchEvent) error {
	if e.Commit == nil {
		f.resyncs++
		f.missed += e.Missed
		f.data, f.revision = e.Snapshot, e.Revision
		return nil
	}
	if e.Revision != f.revision+1 || e.Commit.Revision != e.Revision {
		return fmt.Errorf("revision %d after %d", e.Revision, f.revision)
	}
	now, err := doc.ApplyEdits(f.data, e.Commit.Edits)
	if err != nil {
		return err
	}
	if !now.Equal(e.Commit.Data) {
		return fmt.Errorf("revision %d is %v, the edits make %v", e.Revision, e.Commit.Data, now)
	}
	f.data, f.revision = now, e.Revision
	return nil
}

// drain reads everything that is there.
func (f *follower) drain(w *profile.Watch) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		e, err := w.Next(ctx)
		if err != nil {
			return err
		}
		if err := f.step(e); err != nil {
			return err
		}
	}
}

// What a watch shows, replayed, is the live value at every revision, however slow its reader.
func TestAWatchReplaysTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		n := 0
		rapid.Check(timeless{t}, func(rt *rapid.T) {
			n++
			s := a.load(fmt.Sprint("u", n), nil)
			at := map[uint64]doc.Value{s.Revision(): s.Data()}
			bound := rapid.IntRange(1, 5).Draw(rt, "buffer")
			w, err := s.Watch(bound)
			if err != nil {
				rt.Fatal(err)
			}
			var copied follower
			steps := rapid.IntRange(0, 40).Draw(rt, "steps")
			for range steps {
				if rapid.IntRange(0, 3).Draw(rt, "what") == 0 {
					if err := copied.drain(w); !errors.Is(err, context.Canceled) {
						rt.Fatal(err)
					}
					if !copied.data.Equal(s.Data()) || copied.revision != s.Revision() {
						rt.Fatalf("at %d: %v, the session at %d: %v", copied.revision, copied.data, s.Revision(), s.Data())
					}
					continue
				}
				if _, err := s.Transact(game, anyOps(rt, s.Data())...); err == nil {
					at[s.Revision()] = s.Data()
				}
			}
			release(t, s)
			for {
				e, err := w.Next(t.Context())
				var ended *profile.EndedError
				if errors.As(err, &ended) && ended.Reason == profile.Released {
					break
				}
				if err == nil {
					err = copied.step(e)
				}
				if err == nil && !copied.data.Equal(at[copied.revision]) {
					err = fmt.Errorf("at %d: %v, it was %v", copied.revision, copied.data, at[copied.revision])
				}
				if err != nil {
					rt.Fatal(err)
				}
			}
			if !copied.data.Equal(s.Data()) {
				rt.Fatalf("in the end %v, the session %v", copied.data, s.Data())
			}
		})
		if n := a.Stats().Watches; n != 0 {
			t.Errorf("%d watches left", n)
		}
	})
}

// anyOps draws operations on a small document with members, lists and lists in lists.
func anyOps(rt *rapid.T, v doc.Value) []doc.Op {
	small := rapid.Map(rapid.IntRange(0, 4), func(i int) doc.Value {
		return []doc.Value{doc.Int(1), doc.Int(2), doc.MustString("x"), doc.Must(map[string]any{"n": 1}), doc.List(doc.Int(1), doc.Int(2))}[i]
	})
	place := rapid.SampledFrom([]string{"/a", "/b", "/a/n", "/b/c", "/l", "/l/0", "/l/1/n", "/m/l", "/m/l/0/k", "/coins"})
	var ops []doc.Op
	for range rapid.IntRange(1, 3).Draw(rt, "ops") {
		at := doc.MustPath(place.Draw(rt, "at"))
		switch rapid.IntRange(0, 5).Draw(rt, "op") {
		case 0:
			if at.Len() > 0 {
				ops = append(ops, doc.Unset(at))
			}
		case 1:
			ops = append(ops, doc.AppendTo(at, small.Draw(rt, "item")))
		case 2:
			if list, ok := v.Get(at); ok && list.Len() > 0 {
				ops = append(ops, doc.RemoveAt(at, rapid.IntRange(0, list.Len()-1).Draw(rt, "index")))
			}
		case 3:
			ops = append(ops, doc.InsertAt(at, 0, small.Draw(rt, "item")))
		case 4:
			ops = append(ops, doc.Increment(doc.MustPath("/coins"), 1))
		default:
			ops = append(ops, doc.Set(at, small.Draw(rt, "value")))
		}
	}
	return ops
}

func TestASlowReaderIsResynchronised(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		w, err := s.Watch(4)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := w.Next(t.Context()); err != nil || e.Commit != nil || e.Revision != 0 {
			t.Fatalf("%+v, %v", e, err)
		}
		for range 7 {
			add(t, s, 1)
		}
		e, err := w.Next(t.Context())
		if err != nil || e.Commit != nil || e.Missed != 5 || e.Revision != 5 || coins(e.Snapshot) != 5 {
			t.Errorf("%+v, %v", e, err)
		}
		for want := uint64(6); want <= 7; want++ {
			if e, err := w.Next(t.Context()); err != nil || e.Commit == nil || e.Revision != want {
				t.Errorf("%+v, %v", e, err)
			}
		}
		got := make(chan profile.WatchEvent, 1)
		go func() {
			e, _ := w.Next(t.Context())
			got <- e
		}()
		synctest.Wait()
		add(t, s, 1)
		if e := <-got; e.Revision != 8 {
			t.Errorf("%+v", e)
		}
		if st := a.Stats(); st.Resyncs != 1 || st.Watches != 1 {
			t.Errorf("%+v", st)
		}
	})
}

func TestAWatchEndsWithItsReaderOrItsSession(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		s := a.load("u", nil)
		closed, err := s.Watch(0)
		if err != nil {
			t.Fatal(err)
		}
		waits := make(chan error, 1)
		go func() {
			_, _ = closed.Next(context.Background())
			_, err := closed.Next(context.Background())
			waits <- err
		}()
		synctest.Wait()
		closed.Close()
		closed.Close()
		if err := <-waits; !errors.Is(err, profile.ErrWatchClosed) {
			t.Errorf("%v", err)
		}
		w, err := s.Watch(0)
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, 1)
		b.load("u", nil) // handed over
		for range 2 {
			if _, err := w.Next(t.Context()); err != nil {
				t.Errorf("what was there before the end: %v", err)
			}
		}
		_, err = w.Next(t.Context())
		var ended *profile.EndedError
		if !errors.As(err, &ended) || ended.Reason != profile.HandedOver {
			t.Errorf("%v", err)
		}
		if _, err := s.Watch(0); !errors.Is(err, profile.ErrEnded) {
			t.Errorf("a watch of an ended session: %v", err)
		}
	})
}

func TestWatchesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", nil).load("u", nil)
		var last *profile.Watch
		for range 256 {
			w, err := s.Watch(0)
			if err != nil {
				t.Fatal(err)
			}
			last = w
		}
		if _, err := s.Watch(0); !errors.Is(err, profile.ErrBusy) {
			t.Errorf("one more: %v", err)
		}
		last.Close()
		if _, err := s.Watch(0); err != nil {
			t.Error(err)
		}
	})
}

// A claim that the store refuses takes the session back to before it; a watch shows that.
func TestAWatchShowsWhatAClaimTookBack(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, _, s := journaled(t, f)
		add(t, s, 1)
		f.plant(f.raw.Durable(), rowKey, `{"by":"another"}`)
		w, err := s.Watch(0)
		if err != nil {
			t.Fatal(err)
		}
		_ = grant(t.Context(), s)
		<-s.Done()
		var copied follower
		if err := copied.drain(w); !errors.Is(err, profile.ErrLost) {
			t.Error(err)
		}
		if !copied.data.Equal(s.Data()) || coins(copied.data) != 6 {
			t.Errorf("%v, the session %v", copied.data, s.Data())
		}
	})
}

// case P11: what listeners, watches and the caller get cannot change what the others get.
func TestWhatFollowersGetIsTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", nil).load("u", nil)
		spoil := func(c *profile.Commit) {
			for i := range c.Edits {
				c.Edits[i] = doc.Edit{}
			}
		}
		s.OnCommit(func(c profile.Commit) { spoil(&c) })
		heard := 0
		s.OnCommit(func(c profile.Commit) { heard = len(c.Edits[0].Path.String()) })
		w, _ := s.Watch(0)
		other, _ := s.Watch(0)
		_, _ = w.Next(t.Context())
		_, _ = other.Next(t.Context())
		c, err := s.Transact(game, doc.Increment("/coins", 1))
		if err != nil {
			t.Fatal(err)
		}
		spoil(&c)
		e, _ := w.Next(t.Context())
		spoil(e.Commit)
		spoil(&s.History()[0])
		e, _ = other.Next(t.Context())
		if heard == 0 || e.Commit.Edits[0].Kind != doc.EditSet || s.History()[0].Edits[0].Kind != doc.EditSet {
			t.Errorf("%d, %+v, %+v", heard, e.Commit, s.History())
		}
		if _, err := s.Undo(game, profile.Which{Revision: 1}, nil); err != nil || coins(s.Data()) != 0 {
			t.Errorf("%v, %v", s.Data(), err)
		}
	})
}

// A listener that is slow is named once, and counted each time; the one that holds up the
// queue is named in the refusal.
func TestASlowListenerIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{ListenerTimeout: time.Second})
		s := a.load("u", nil)
		s.OnCommit(slowly)
		for range 3 {
			add(t, s, 1)
		}
		s.OnCommit(func(profile.Commit) { time.Sleep(900 * time.Millisecond) })
		for range 5 {
			add(t, s, 10) // sleeps less
		}
		if n := a.Stats().Slow; n != 3 {
			t.Errorf("%d slow calls counted", n)
		}
		if n := strings.Count(a.log.String(), "listener is slow"); n != 1 || !strings.Contains(a.log.String(), "slowly") {
			t.Errorf("named %d times:\n%s", n, a.log)
		}
	})
}

// slowly is a listener that takes 5 s for a coin.
func slowly(c profile.Commit) {
	if coins(c.Data) < 10 {
		time.Sleep(5 * time.Second)
	}
}

func TestTheRefusalNamesTheListener(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", nil).load("u", nil)
		s.OnCommit(slowly)
		go func() { _, _ = s.Transact(game, doc.Increment("/coins", 1)) }()
		synctest.Wait()
		for range 1024 {
			add(t, s, 1)
		}
		_, err := s.Transact(game, doc.Increment("/coins", 1))
		if !errors.Is(err, profile.ErrBusy) || !strings.Contains(err.Error(), "slowly") {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Minute)
	})
}
