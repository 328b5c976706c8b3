package season_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store/faultstore"
)

// ruled is a closed season of four on real profiles, all of whom hold what they won; it is u0
// who is to go, and u3 who is to move up. The node that ran it has stopped.
func ruled(t *testing.T, f *fleet) {
	t.Helper()
	played := f.start("played", 0)
	for i, key := range []string{"u0", "u1", "u2", "u3"} {
		s := played.load(key)
		played.play(s, slices.Repeat([]string{"catch"}, 4-i)...)
		played.release(s)
	}
	f.closable(0)
	for _, key := range []string{"u0", "u1", "u2", "u3"} {
		played.release(played.load(key))
	}
	f.want("C1S1", "Fish", "u0:4", "u1:3", "u2:2", "u3:1")
	played.stop()
}

// A node rules, and is cut at every write of the ruling and of the correcting transactions in
// turn, with real profiles: it dies before or after the write, or the answer is lost and it goes
// on. The operator repeats the ruling elsewhere: one correction, one title each, paid once.
func TestARulingWhateverIsCut(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.Crash, faultstore.CrashAfter, faultstore.FailAfter} {
		for n, struck := 1, int64(1); struck > 0; n++ {
			struck = 0
			onMemory(t, func(t *testing.T, f *fleet) {
				ruled(t, f)
				struck = cutRuling(t, f, n, kind)
			})
			if n > 100 {
				t.Fatal("a ruling of more than a hundred writes")
			}
			if struck == 0 && n <= 5 { // index, corrections, u0, u1 and u3
				t.Fatalf("%v: only %d writes were cut", kind, n-1)
			}
		}
	}
}

// On SQLite, the answers are lost.
func TestARulingWhoseAnswersAreLostOnSQLite(t *testing.T) {
	for n, struck := 1, int64(1); struck > 0; n++ {
		struck = 0
		onSQLite(t, func(t *testing.T, f *fleet) {
			ruled(t, f)
			struck = cutRuling(t, f, n, faultstore.FailAfter)
		})
	}
}

// cutRuling cuts a node that rules and corrects at its n-th write, and tells how often that struck.
func cutRuling(t *testing.T, f *fleet, n int, kind faultstore.Kind) int64 {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var strikes atomic.Int64
	dies := f.start("dies", 0)
	u1 := dies.load("u1")
	dies.load("u3") // both are online while it is ruled
	dies.faults.SetRule(struck(&strikes, faultstore.Nth(n, ofSeasons, faultstore.Fault{Kind: kind})))
	patience, cancel := context.WithTimeout(ctx, time.Minute) // a dead node gets nowhere
	defer cancel()
	_, _ = dies.reef().Disqualify(patience, "C1S1", ruling("u0"))
	time.Sleep(10 * time.Second)
	if s, err := dies.Set("players").Load(patience, "u0", nil); err == nil {
		_ = s.Release(patience)
	}
	_ = u1.Release(patience)
	time.Sleep(10 * time.Second)
	dies.faults.Crash() // while u3 is still there

	b := f.start("b", 0)
	time.Sleep(30 * time.Second)
	st, err := b.reef().Disqualify(ctx, "C1S1", ruling("u0"))
	if err != nil || shape(t, st, "Fish") != "u1 u2 u3||u0" || st.Corrections != 1 {
		t.Fatalf("%v of write %d: %+v, %v", kind, n, st, err)
	}
	for range 2 {
		for _, key := range []string{"u0", "u1", "u2", "u3"} {
			b.release(b.load(key))
		}
	}
	for key, want := range map[string]struct {
		rank  int
		coins int64
	}{"u0": {0, 100}, "u1": {1, 100}, "u2": {2, 100}, "u3": {3, 100}} {
		s := b.load(key)
		v := b.view(s)
		rank := 0
		for _, title := range v.Titles {
			rank += title.Rank
		}
		if got := coins(f.stored(key)); rank != want.rank || got != want.coins {
			t.Fatalf("%v of write %d: %s has %+v and %d coins, want %+v", kind, n, key, v.Titles, got, want)
		}
		b.release(s)
	}
	if told := append(dies.titles(), b.titles()...); len(told) > 1 || len(told) == 1 && told[0] != "u3 Fish@C1S1" {
		t.Fatalf("%v of write %d: told %v", kind, n, told)
	}
	return strikes.Load()
}

// A correction reaches a player who is online on another node through the facade, with a handover
// in between.
func TestACorrectionFollowsAPlayerFromNodeToNode(t *testing.T) {
	onEachStore(t, func(t *testing.T, f *fleet) {
		ruled(t, f)
		a, b := f.start("a", 0), f.start("b", 0)
		a.load("u1")
		if _, err := b.reef().Disqualify(t.Context(), "C1S1", ruling("u0")); err != nil {
			t.Fatal(err)
		}
		elsewhere := b.load("u1") // a hands it over before it has looked
		if v := b.view(elsewhere); len(v.Titles) != 1 || v.Titles[0].Rank != 1 || v.Titles[0].Corrections != 1 {
			t.Fatalf("%+v", v.Titles)
		}
		if _, err := b.reef().Reinstate(t.Context(), "C1S1", ruling("u0")); err != nil {
			t.Fatal(err)
		}
		b.release(elsewhere)
		u1 := a.load("u1") // a knows less: the load changes nothing that b has corrected
		if v := a.view(u1); len(v.Titles) != 1 || v.Titles[0].Corrections == 0 {
			t.Fatalf("%+v", v.Titles)
		}
		time.Sleep(a.reef().Config().CloseEvery + 30*time.Second)
		want := season.Title{Key: "Fish@C1S1", Board: "Fish", Season: "C1S1", Number: 1, Rank: 2, Score: 3, Name: "SEA KING", Text: "#2 SEA KING (S1)", Corrections: 2}
		if v := a.view(u1); len(v.Titles) != 1 || v.Titles[0] != want {
			t.Fatalf("%+v", v.Titles)
		}
		if got := coins(u1.Data()); got != 100 {
			t.Fatalf("%d coins", got)
		}
	})
}
