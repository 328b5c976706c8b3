package season_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
)

// follow is a watch that the test's end closes.
func (h *host) follow(s *session) *season.Watch {
	h.w.t.Helper()
	w, err := h.Watch(s)
	if err != nil {
		h.w.t.Fatalf("watch %s: %v", s.key, err)
	}
	h.w.t.Cleanup(w.Close)
	return w
}

// saw is a block in short: season, stats, owed, titles.
func saw(b season.Block, err error) string {
	if err != nil {
		return err.Error()
	}
	out := b.Season
	for _, stat := range []string{"fish", "streak", "bestStreak"} {
		if v, ok := b.Stats[stat]; ok {
			out += fmt.Sprintf(" %s=%d", stat, v)
		}
	}
	for id, stats := range b.Owed {
		out += fmt.Sprintf(" owed %s=%d", id, stats["fish"])
	}
	for _, title := range b.Titles {
		out += " " + title.Text
	}
	return out
}

// reader reads a watch to its end, on a goroutine of its own.
type reader struct {
	mu   sync.Mutex
	seen []string
	done chan struct{}
}

func read(ctx context.Context, w *season.Watch) *reader {
	r := &reader{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for {
			b, err := w.Next(ctx)
			r.mu.Lock()
			r.seen = append(r.seen, saw(b, err))
			r.mu.Unlock()
			if err != nil && !errors.Is(err, season.ErrBlock) {
				return
			}
		}
	}()
	return r
}

// news is what was seen since the last call, when everything is quiet.
func (r *reader) news() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := strings.Join(r.seen, "; ")
	r.seen = nil
	return out
}

func TestAWatchShowsEveryChange(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		r := read(t.Context(), h.follow(s))
		expect := func(what, want string) {
			t.Helper()
			if got := r.news(); got != want {
				t.Fatalf("%s: %q, want %q", what, got, want)
			}
		}
		expect("at first", "C1S1")
		h.play(s, "catch")
		expect("an event", "C1S1 fish=1 streak=1 bestStreak=1")
		h.play(s, "lose")
		expect("another", "C1S1 fish=1 streak=0 bestStreak=1")
		h.play(s, "lose")
		expect("one that changes nothing", "")
		set(t, s, "/coins", 7)
		expect("a change of something else", "")
		set(t, s, "/seasons/reef/stats/fish", 40)
		expect("an operator's edit", "C1S1 fish=40 streak=0 bestStreak=1")
		w.until(time.Hour - 1)
		expect("just before the boundary", "")
		commits := s.commits()
		w.until(time.Hour)
		expect("the boundary, although nothing has happened", "C1S2 owed C1S1=40")
		if s.commits() != commits {
			t.Fatal("a watch has written")
		}
		if _, err := h.View(s); err != nil {
			t.Fatal(err)
		}
		expect("the reset, which shows what was shown", "")
		h.window()
		w.pastGrace(0)
		h.closeDue()
		if _, err := h.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect("the title, and what was owed is settled", "C1S2 #1 SEA KING (S1)")
		if err := s.Change("odd", func(doc.Value) ([]doc.Op, error) { return []doc.Op{doc.Set("/seasons/reef", doc.Int(1))}, nil }); err != nil {
			t.Fatal(err)
		}
		if got := r.news(); !strings.HasPrefix(got, season.ErrBlock.Error()) {
			t.Fatalf("no block any more: %q", got)
		}
		if err := s.Change("odd", func(doc.Value) ([]doc.Op, error) { return []doc.Op{doc.Unset("/seasons/reef")}, nil }); err != nil {
			t.Fatal(err)
		}
		expect("and again one", "C1S2")
		h.play(s, "catch")
		s.crash()
		if got := r.news(); !strings.HasPrefix(got, "C1S2 fish=1 streak=1 bestStreak=1") || !strings.HasSuffix(got, season.ErrEnded.Error()+": ada") {
			t.Fatalf("the end: %q", got)
		}
		<-r.done
	})
}

// A reader that is slow finds the newest block, and holds up nobody.
func TestAWatchConflates(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		slow := h.follow(s)
		if got := saw(slow.Next(t.Context())); got != "C1S1" {
			t.Fatal(got)
		}
		for range 100_000 {
			if err := h.Record(s, season.Event{Name: "catch"}); err != nil {
				t.Fatal(err)
			}
		}
		if got := saw(slow.Next(t.Context())); got != "C1S1 fish=100000 streak=100000 bestStreak=100000" {
			t.Fatal(got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := slow.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("nothing was left: %v", err)
		}
		h.play(s, "catch")
		if got := saw(slow.Next(t.Context())); got != "C1S1 fish=100001 streak=100001 bestStreak=100001" {
			t.Fatalf("after a call that gave up: %s", got)
		}
	})
}

// Seasons pass by a watch, each once, and a block that is ahead waits until it is caught up with.
func TestAWatchAtManyBoundaries(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Length = 5 * time.Hour // longer than a watch rests
		h := w.host("a", hostOptions{skew: 3 * time.Minute})
		r := read(t.Context(), h.follow(h.join("ada")))
		ahead := w.profiles.load("bob")
		if err := ahead.Change("test", func(doc.Value) ([]doc.Op, error) {
			return []doc.Op{doc.Set("/seasons/reef/season", doc.MustString("C1S3")), doc.Set("/seasons/reef/stats/fish", doc.Int(2))}, nil
		}); err != nil {
			t.Fatal(err)
		}
		a := read(t.Context(), h.follow(ahead))
		want := []string{"C1S1", "C1S2", "C1S3", "C1S4"}
		wantAhead := []string{"C1S3 fish=2", "", "", "C1S4 owed C1S3=2"}
		for k := range 4 {
			w.until(time.Duration(k)*5*time.Hour + time.Second)
			if got, of := r.news(), a.news(); got != want[k] || of != wantAhead[k] {
				t.Errorf("in season %d: %q and %q, want %q and %q", k, got, of, want[k], wantAhead[k])
			}
			w.until(time.Duration(k+1)*5*time.Hour - time.Second)
			if got := r.news(); got != "" {
				t.Errorf("at the end of season %d: %q", k, got)
			}
		}
	})
}

func TestWatchesEnd(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		closed, cancelled, shut := h.follow(s), h.follow(s), h.follow(s)
		ctx, cancel := context.WithCancel(t.Context())
		r1, r2, r3 := read(t.Context(), closed), read(ctx, cancelled), read(t.Context(), shut)
		for _, r := range []*reader{r1, r2, r3} {
			if got := r.news(); got != "C1S1" {
				t.Fatal(got)
			}
		}
		closed.Close()
		closed.Close()
		if got := r1.news(); got != season.ErrWatchClosed.Error()+": ada" {
			t.Errorf("closed: %q", got)
		}
		cancel()
		if got := r2.news(); !strings.HasSuffix(got, context.Canceled.Error()) {
			t.Errorf("cancelled: %q", got)
		}
		h.play(s, "catch")
		if got := saw(cancelled.Next(t.Context())); got != "C1S1 fish=1 streak=1 bestStreak=1" {
			t.Errorf("goes on: %q", got)
		}
		r3.news()
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := r3.news(); got != season.ErrClosed.Error() {
			t.Errorf("the service is closed: %q", got)
		}
		if _, err := h.Watch(s); !errors.Is(err, season.ErrClosed) {
			t.Errorf("a watch of a closed service: %v", err)
		}
	})
}

// A session has so many watches, and those that are closed leave nothing behind.
func TestWatchesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s, other := h.join("ada"), h.join("bob")
		var open []*season.Watch
		for range season.MaxWatches {
			open = append(open, h.follow(s))
		}
		if _, err := h.Watch(s); !errors.Is(err, season.ErrBusy) {
			t.Fatalf("one more: %v", err)
		}
		h.follow(other)
		for range 3 {
			open[0].Close()
		}
		last := h.follow(s)
		if _, err := h.Watch(s); !errors.Is(err, season.ErrBusy) {
			t.Fatalf("one more, after one was closed three times: %v", err)
		}
		listeners := func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.mu.follow)
		}
		for _, w := range open {
			w.Close()
		}
		if n := listeners(); n != 1 {
			t.Errorf("%d listeners for one watch", n)
		}
		last.Close()
		if n := listeners(); n != 0 {
			t.Errorf("%d listeners for nobody", n)
		}
		again := h.follow(s)
		h.play(s, "catch")
		if b, err := again.Next(t.Context()); err != nil || b.Stats["fish"] != 1 || listeners() != 1 {
			t.Errorf("again: %+v, %v, %d listeners", b, err, listeners())
		}
	})
}

// Many readers, writers and ends at once.
func TestWatchesInACrowd(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{loops: true})
		var all sync.WaitGroup
		for i := range 20 {
			s := h.join(fmt.Sprint("u", i))
			for range 5 {
				watch := h.follow(s)
				all.Go(func() {
					last := int64(-1)
					for {
						b, err := watch.Next(t.Context())
						if err != nil {
							if !errors.Is(err, season.ErrEnded) {
								t.Error(err)
							}
							break
						}
						if b.K == 0 && b.Stats["fish"] < last {
							t.Errorf("%d after %d", b.Stats["fish"], last)
						}
						if b.K == 0 {
							last = b.Stats["fish"]
						}
					}
					if last != 50 {
						t.Errorf("the last was %d", last)
					}
				})
			}
			all.Go(func() {
				for range 50 {
					if err := h.Record(s, season.Event{Name: "catch"}); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second)
				}
				w.until(time.Hour + time.Minute)
				s.release()
			})
		}
		all.Wait()
	})
}
