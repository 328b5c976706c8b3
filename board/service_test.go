package board_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

func TestOptionsReportAllThatIsWrong(t *testing.T) {
	_, err := board.NewOn(board.Host{ID: "n", Now: time.Now, Logger: discard()}, &board.Options{
		MaxQueued: -1, MaxEntries: store.MaxPage + 1, ReadsAtOnce: -3,
	})
	for _, field := range []string{"MaxQueued", "MaxEntries", "ReadsAtOnce"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
	_, err = board.NewOn(board.Host{ID: "n", Now: time.Now, Logger: discard()}, &board.Options{Boards: boards{"a b": {}, "ok": {Decimals: 19}}})
	if !errors.Is(err, board.ErrName) || !errors.Is(err, store.ErrInvalid) {
		t.Errorf("boards: %v", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nil)
		for field, cfg := range map[string]board.Config{
			"Order":      {Order: 7},
			"Rule":       {Rule: 9},
			"Decimals":   {Decimals: -1},
			"Min":        {Min: ptr(5), Max: ptr(4)},
			"MaxEntries": {MaxEntries: store.MaxPage + 1},
		} {
			wantRefused(t, r.Define("Kills", cfg), field, store.ErrInvalid)
		}
		wantRefused(t, r.Define("a//b", board.Config{}), "board", board.ErrName)
		want(t, "boards", len(r.Boards()), 0)
	})
}

func TestDefine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Minute, MaxEntries: 7, Boards: boards{"B": {}}})
		low := int64(3)
		cfg := board.Config{Min: &low, Decimals: 2}
		for range 2 { // again is the same
			if err := r.Define("A", cfg); err != nil {
				t.Fatal(err)
			}
		}
		low = 99 // the caller's own
		if err := r.Define("B", board.Config{Order: store.Descending, Rule: store.Best}); err != nil {
			t.Fatalf("the same configuration in other words: %v", err)
		}
		wantRefused(t, r.Define("A", cfg), "config", board.ErrDefined)
		wantRefused(t, r.Define("B", board.Config{Rule: store.Sum}), "config", board.ErrDefined)
		want(t, "boards", r.Boards(), []string{"A", "B"})
		got, ok := r.Config("A")
		want(t, "the configuration", got, board.Config{
			Order: store.Descending, Rule: store.Best, Decimals: 2, Min: ptr(3), CacheFor: time.Minute, MaxEntries: 7,
		})
		*got.Min = 50
		r.submit("A", "u1", 3)
		if _, none := r.Config("C"); !ok || none {
			t.Fatal("Config knows other boards than those defined")
		}
	})
}

func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"A": {}, "B": {}}})
		r.submit("A", "u1", 1)
		wantRefused(t, r.Forget("A"), "board", board.ErrBusy)
		r.submit("A", "u2", 1) // it goes on
		r.flush()
		if err := errors.Join(r.Forget("A"), r.Forget("A"), r.Forget("never")); err != nil {
			t.Fatal(err)
		}
		want(t, "boards", r.Boards(), []string{"B"})
		wantRefused(t, r.Submit("A", "u1", 2), "board", board.ErrUnknownBoard)
		if err := r.Define("A", board.Config{}); err != nil {
			t.Fatal(err)
		}
		want(t, "the page", r.top("A", 0), []string{"u1=1", "u2=1"})
	})
}

func TestBoardsDefinedAtRunTimeAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nil)
		if err := r.Define("season/reef/Fish/C1S2", board.Config{}); err != nil {
			t.Fatal(err)
		}
		r.submit("season/reef/Fish/C1S2", "u1", 1)
		later(time.Second)
		want(t, "what is stored", r.stored("season/reef/Fish/C1S2"), []string{"u1=1"})
	})
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{FlushEvery: 10 * time.Second, Boards: boards{"A": {}, "B": {}}})
		later(time.Minute)
		r.submit("A", "u1", 1)
		later(4 * time.Second)
		r.submit("A", "u2", 1)
		r.submit("B", "u1", 1)
		_ = r.Submit("C", "u1", 1)
		got := r.Stats()
		want(t, "A", got.Boards["A"], board.Counts{Submitted: 2, Queued: 2, Oldest: 4 * time.Second})
		want(t, "B submitted, queued", []int{int(got.Boards["B"].Submitted), got.Boards["B"].Queued}, []int{1, 1})
		want(t, "total", got.Total, board.Counts{Submitted: 3, Queued: 3, Refused: 1, Oldest: 4 * time.Second})
		later(10 * time.Second)
		want(t, "total", r.Stats().Total, board.Counts{Submitted: 3, Written: 3, Refused: 1})
	})
}

// While windows run the age of what waits is known within a window.
func TestAgeWhileWindowsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Budget: func() int { return 0 }, Boards: boards{"A": {}, "B": {}}})
		r.submit("A", "u1", 1)
		later(5500 * time.Millisecond)
		r.submit("B", "u1", 1)
		later(time.Second)
		got := r.Stats()
		want(t, "age of A", got.Boards["A"].Oldest, 6500*time.Millisecond)
		want(t, "age of B", got.Boards["B"].Oldest, 1500*time.Millisecond)
		want(t, "age of all", got.Total.Oldest, 6500*time.Millisecond)
	})
}

func TestListenersCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"A": {}}})
		var got []string
		stop := r.OnUpdated(func(string, store.Page) { got = append(got, "first") })
		r.OnUpdated(func(string, store.Page) { got = append(got, "second") })
		r.top("A", 0)
		synctest.Wait()
		stop()
		stop()
		later(time.Second)
		r.top("A", 0)
		synctest.Wait()
		want(t, "calls", got, []string{"first", "second", "second"})
	})
}
