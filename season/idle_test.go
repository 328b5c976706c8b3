package season_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// idle is a tool on the store.
func (w *world) idle(cfg season.Config) *season.Service {
	w.t.Helper()
	st, err := w.engine.Store()
	if err != nil {
		w.t.Fatal(err)
	}
	n, err := node.Start(w.t.Context(), st, &node.Options{Name: "cli", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if _, err := n.Close(context.WithoutCancel(w.t.Context())); err != nil {
			w.t.Errorf("close: %v", err)
		}
	})
	s, err := season.NewIdle(n, "reef", cfg, season.Deps{Profiles: w.profiles})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// seasonsIn are the keys of the store's records about seasons.
func (w *world) seasonsIn() (keys []string) {
	w.t.Helper()
	for rec, err := range w.engine.Records().Scan(w.t.Context(), store.Prefix("season/")) {
		if err != nil {
			w.t.Fatal(err)
		}
		keys = append(keys, rec.Key)
	}
	return keys
}

// whys are what keeps seasons from being closed.
func whys(t *testing.T, s *season.Service) (out []string) {
	t.Helper()
	list, err := s.Unclosed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		out = append(out, w.Season+": "+w.Why)
	}
	return out
}

// A tool that lives for hours begins no set, closes nothing and fills no board, until it is
// asked to.
func TestAnIdleServiceDoesNothingByItself(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		tool := w.idle(w.cfg)
		time.Sleep(5 * time.Hour)
		synctest.Wait()
		st, err := tool.Look(t.Context())
		if err != nil || st.Started || st.Current.ID != "C1S6" {
			t.Fatalf("%+v, %v", st, err)
		}
		if keys := w.seasonsIn(); len(keys) > 0 || len(whys(t, tool)) > 0 {
			t.Fatalf("wrote %v", keys)
		}

		h := w.host("a", hostOptions{})
		h.play(h.join("ada"), "catch")
		h.window()
		w.engine.Forget(memstore.Boards) // of the running season
		before := len(w.seasonsIn())
		time.Sleep(30 * time.Minute)
		if n := len(w.seasonsIn()); n != before || w.profiles.scans() > 0 {
			t.Fatalf("%d records, %d before; %d scans", n, before, w.profiles.scans())
		}
	})
}

func TestAnIdleServiceTellsWhatKeepsSeasonsOpen(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch")
		h.leaveStill(s)
		tool := w.idle(w.cfg)
		if got := whys(t, tool); got != nil {
			t.Fatalf("the running season: %v", got)
		}
		w.until(time.Hour + time.Minute)
		if got := whys(t, tool); len(got) != 1 || !strings.HasPrefix(got[0], "C1S1: the last values are on their way") {
			t.Fatalf("in its grace: %v", got)
		}
		w.until(2*time.Hour + 10*time.Minute)
		want := []string{"C1S1: it is due, and no node has closed it yet", "C1S2: it is due, and nobody played it"}
		if diff := cmp.Diff(want, whys(t, tool)); diff != "" {
			t.Fatal(diff)
		}
		w.engine.Forget(memstore.Boards)
		want[0] = "C1S1: it is due; the board Fish lost its memory and has to be rebuilt from the profiles first"
		if diff := cmp.Diff(want, whys(t, tool)); diff != "" {
			t.Fatal(diff)
		}
		if closed, err := tool.CloseDue(t.Context()); err != nil || len(closed) != 2 || !closed[0].Here {
			t.Fatalf("%v, %v", closed, err)
		}
		st, err := tool.Look(t.Context())
		if err != nil || st.Through != 1 || len(whys(t, tool)) > 0 {
			t.Fatalf("%+v, %v", st, err)
		}
	})
}

func TestAnIdleServiceRefusesAnotherCalendar(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.host("a", hostOptions{}).join("ada")
		other := w.cfg
		other.Length = 2 * time.Hour
		tool := w.idle(other)
		if _, err := tool.Look(t.Context()); !errors.Is(err, season.ErrCalendar) || !strings.Contains(err.Error(), "stored are epoch 2000-01-01T00:00:00Z, length 1h0m0s, 20 a cycle; configured are") {
			t.Fatalf("got %v", err)
		}
		if _, err := tool.Unclosed(t.Context()); !errors.Is(err, season.ErrCalendar) {
			t.Fatalf("got %v", err)
		}
		if _, err := tool.CloseDue(t.Context()); !errors.Is(err, season.ErrCalendar) {
			t.Fatalf("got %v", err)
		}
	})
}

// What keeps seasons from being closed can be told from a store that does not answer.
func TestWaitingSeasonsAreNamed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch")
		h.leaveStill(s)
		w.pastGrace(0)
		h.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "seal ") {
				return refuse
			}
			return pass
		})
		_, err := h.CloseDue(t.Context())
		waits := (*season.WaitingError)(nil)
		if !errors.As(err, &waits) || waits.Season != "C1S1" || waits.K != 0 || !errors.Is(err, store.ErrUnavailable) || !strings.HasPrefix(err.Error(), "season: close C1S1: seal board Fish") {
			t.Fatalf("got %v", err)
		}
		h.tap.set(func(string) fate { return refuse })
		if _, err := h.CloseDue(t.Context()); errors.As(err, &waits) || !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
	})
}
