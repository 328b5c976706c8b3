package season_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// This file has the cases of ours of what went wrong elsewhere, one test for each, through
// nodes of the facade with real profiles on real stores. Finer tests of the same cases stand
// beside what they test, and bear the case in a comment; S4 is with the calendar.

// All nodes are down over three boundaries: the first that returns closes what ended.
func TestCaseS1ASeasonThatEndsWithNobodyThere(t *testing.T) {
	// case S1
	for _, boundaries := range []int64{1, 3} {
		onEachStore(t, func(t *testing.T, f *fleet) {
			a := f.start("a", 0)
			ada := a.load("ada")
			a.play(ada, "catch")
			a.release(ada)
			a.stop()
			f.until(time.Duration(boundaries)*f.rules.Length + f.rules.Grace)
			f.reopen()
			b := f.start("b", 0)
			time.Sleep(30 * time.Second)
			f.want("C1S1", "Fish", "ada:1")
			for k := int64(1); k < boundaries; k++ {
				f.want(f.rules.ID(k), "Fish")
			}
			if f.result(f.rules.ID(boundaries)) != nil {
				t.Fatal("the running season has a result")
			}
			ada = b.load("ada")
			if got := held(b.view(ada)); !slices.Equal(got, []string{"Fish@C1S1"}) || coins(ada.Data()) != 100 {
				t.Fatalf("ada holds %v and %d coins", got, coins(ada.Data()))
			}
			b.play(ada, "catch")
			if v := b.view(ada); v.K != boundaries || v.Stats["fish"] != 1 {
				t.Fatalf("ada plays on in %s with %v", v.Season, v.Stats)
			}
		})
	}
}

// Ten nodes close at once, and every fourth answer about it is a lie: one result, one title.
func TestCaseS2TenClosersOneResult(t *testing.T) {
	// case S2
	for seed := range uint64(4) {
		onEachStore(t, func(t *testing.T, f *fleet) {
			var nodes []*server
			for i := range 10 {
				nodes = append(nodes, f.start(fmt.Sprint("n", i), 0))
			}
			players := make([]*profile.Session, 5)
			for i := range players { // u4 is the best
				players[i] = nodes[i].load(fmt.Sprint("u", i))
				nodes[i].play(players[i], slices.Repeat([]string{"catch", "coins"}, i+1)...)
			}
			f.until(f.rules.Length + 20*time.Second)
			for i, n := range nodes {
				n.faults.SetRule(only("season/", faultstore.Chance(seed*100+uint64(i), faultstore.Odds{FailBefore: 0.1, FailAfter: 0.1, Late: 0.05, After: 5 * time.Second})))
			}
			for f.result("C1S1") == nil {
				time.Sleep(time.Second)
			}
			first := f.result("C1S1")
			time.Sleep(time.Minute)
			for _, n := range nodes {
				n.faults.SetRule(nil)
			}
			f.until(2*f.rules.Length - time.Second) // every node has looked again
			if last := f.result("C1S1"); !bytes.Equal(first, last) {
				t.Fatalf("the result changed:\n%s\n%s", first, last)
			}
			f.want("C1S1", "Fish", "u4:5", "u3:4", "u2:3", "u1:2", "u0:1")
			f.want("C1S1", "Coins", "u4:50", "u3:40", "u2:30", "u1:20", "u0:10")
			wantOneOfEach(t, nodes)
			for i, s := range players {
				want := int64(0)
				if i >= 2 { // three places on each of two boards
					want = 200
				}
				if got := coins(s.Data()); got != want {
					t.Errorf("u%d has %d coins, want %d", i, got, want)
				}
			}
		})
	}
}

// only lets a rule decide about keys with a prefix.
func only(prefix string, rule faultstore.Rule) faultstore.Rule {
	return func(c faultstore.Call) faultstore.Fault {
		if len(c.Keys) == 0 || !strings.HasPrefix(c.Keys[0], prefix) {
			return faultstore.Fault{}
		}
		return rule(c)
	}
}

// wantOneOfEach wants each of six titles told once, and the season's close told to every node
// once, to at most one as its own.
func wantOneOfEach(t *testing.T, nodes []*server) {
	t.Helper()
	told := make(map[string]int)
	own := 0
	for _, n := range nodes {
		for _, title := range n.titles() {
			told[title]++
		}
		if len(n.mu.closed) != 1 {
			t.Errorf("a node heard of the close %d times", len(n.mu.closed))
		}
		for _, c := range n.mu.closed {
			if c.Here {
				own++
			}
		}
	}
	for title, n := range told {
		if n != 1 {
			t.Errorf("told %d times of %s", n, title)
		}
	}
	if len(told) != 6 || own > 1 {
		t.Errorf("told of %v; %d nodes made the result", told, own)
	}
}

// A value that comes after the close is refused, the game hears of it, and nothing changes.
func TestCaseS3AWriteToAnEndedSeason(t *testing.T) {
	// case S3
	onEachStore(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", 0), f.start("b", 0)
		ada := a.load("ada")
		a.play(ada, "catch")
		f.until(time.Minute)
		a.faults.Outage(faultstore.Boards, true) // a's boards are out of reach until the season is closed
		a.play(ada, "catch", "catch")
		f.closable(0)
		before, board := f.result("C1S1"), f.board("Fish", "C1S1")
		if b.faults.Outage(faultstore.Boards, false); before == nil || !slices.Equal(board, []string{"ada:1"}) {
			t.Fatalf("closed with %v", board)
		}
		a.faults.Outage(faultstore.Boards, false)
		a.play(ada, "catch")
		time.Sleep(time.Minute)
		late := store.Batch{Rule: store.Last, Entries: []store.Submission{{Key: "ada", Score: 99, Stamp: store.Stamp{Epoch: 1 << 40}}}}
		if _, err := f.parts.Boards.Merge(t.Context(), season.BoardKey("reef", "Fish", "C1S1"), late); !errors.Is(err, store.ErrSealed) {
			t.Fatalf("a write past every node: %v", err)
		}
		if got := f.board("Fish", "C1S1"); !slices.Equal(got, board) || !bytes.Equal(f.result("C1S1"), before) {
			t.Fatalf("something changed: %v", got)
		}
		got := a.refused()
		if len(got) != 1 || got[0].Key != "ada" || got[0].Board != "Fish" || got[0].Score != 3 || got[0].Counted != 1 || !errors.Is(got[0].Err, store.ErrSealed) {
			t.Fatalf("refused %+v", got)
		}
		if v := a.view(ada); v.Season != "C1S2" || v.Stats["fish"] != 1 || v.Owed != nil {
			t.Fatalf("ada plays on with %+v", v)
		}
		if got := f.board("Fish", "C1S2"); !slices.Equal(got, []string{"ada:1"}) {
			t.Fatalf("the next board: %v", got)
		}
	})
}

// A node sleeps from the middle of a write over the boundary and the close. Neither the write
// that was on its way nor what the node has in memory reaches the old board; of its players
// one went on elsewhere, and one stays.
func TestCaseS5APausedNodeWakesInTheNextSeason(t *testing.T) {
	// case S5
	onEachStore(t, func(t *testing.T, f *fleet) {
		f.reap = -1 // ada's session is nobody's but hers
		a, b := f.start("a", 0), f.start("b", 0)
		ada, bob := a.load("ada"), a.load("bob")
		a.play(ada, "catch", "catch")
		a.play(bob, "catch")
		f.until(time.Minute + 5*time.Second) // between two windows: what is played next goes together
		var asleep atomic.Bool
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			switch {
			case asleep.Load():
				return faultstore.Fault{Kind: faultstore.FailBefore}
			case c.Op == "merge" && c.Keys[0] == season.BoardKey("reef", "Fish", "C1S1"):
				asleep.Store(true)
				return faultstore.Fault{Kind: faultstore.Late} // until the test lets it land
			}
			return faultstore.Fault{}
		})
		a.play(ada, "catch", "catch")
		a.play(bob, "catch")
		f.until(9 * time.Minute)
		if !asleep.Load() {
			t.Fatal("a is awake")
		}
		elsewhere := b.load("bob") // taken over, with what a had synced
		b.play(elsewhere, "catch")
		f.closable(0)
		f.want("C1S1", "Fish", "bob:3", "ada:2")
		before := f.board("Fish", "C1S1")
		b.play(elsewhere, "catch")

		if a.faults.Land() == 0 {
			t.Fatal("no write was on its way")
		}
		if got := f.board("Fish", "C1S1"); !slices.Equal(got, before) {
			t.Fatalf("the write that was on its way made %v of %v", got, before)
		}
		a.faults.SetRule(nil)
		time.Sleep(30 * time.Second)
		a.play(ada, "catch")
		if err := a.reef().Record(bob, season.Event{Name: "catch"}); err == nil {
			t.Fatal("a plays on with bob, whom b holds")
		}
		time.Sleep(time.Minute)
		if got := f.board("Fish", "C1S1"); !slices.Equal(got, before) {
			t.Fatalf("the old board was %v, is %v", before, got)
		}
		if got := f.board("Fish", "C1S2"); !slices.Equal(got, []string{"bob:1", "ada:1"}) {
			t.Fatalf("the new board: %v", got)
		}
		lost := slices.DeleteFunc(a.refused(), func(r season.Refused) bool { return r.Key == "bob" && r.Score < r.Counted })
		if len(lost) != 1 || lost[0].Key != "ada" || lost[0].Score != 4 || lost[0].Counted != 2 {
			t.Fatalf("refused %+v", lost)
		}
		if v := a.view(ada); v.Season != "C1S2" || v.Stats["fish"] != 1 || !slices.Equal(held(v), []string{"Fish@C1S1"}) {
			t.Fatalf("ada: %+v", v)
		}
	})
}

// Nobody closes anything for ten seasons, in each of which ada wins; then she is away for ten
// more. On her next load she has all ten titles, each paid once.
func TestCaseS6AwayForTenSeasons(t *testing.T) {
	// case S6
	onEachStore(t, func(t *testing.T, f *fleet) {
		rules := f.rules
		f.rules.CloseEvery = -1
		a := f.start("a", 0)
		want := []string{}
		for k := range int64(10) {
			f.until(time.Duration(k)*f.rules.Length + time.Second)
			ada, bob := a.load("ada"), a.load("bob")
			a.play(ada, "catch", "catch")
			a.play(bob, "catch")
			a.release(ada)
			a.release(bob)
			want = append(want, "Fish@"+f.rules.ID(k))
		}
		a.stop()
		f.rules = rules
		f.until(20*f.rules.Length + f.rules.Grace)
		f.reopen()
		b := f.start("b", 0)
		time.Sleep(30 * time.Second)
		for i := range 2 { // the second load grants nothing more
			ada := b.load("ada")
			time.Sleep(time.Duration(i) * 30 * time.Second) // a window, in which boards answer for what is owed
			v := b.view(ada)
			if got := held(v); !slices.Equal(got, want) || i > 0 && v.Owed != nil || v.Processed.Through != 19 {
				t.Fatalf("ada holds %v, want %v; %+v", got, want, v.Processed)
			}
			for i, title := range v.Titles {
				if text := fmt.Sprintf("#1 SEA KING (S%d)", i+1); title.Text != text || title.Score != 2 {
					t.Errorf("%+v, want %s", title, text)
				}
			}
			b.release(ada)
		}
		if got := coins(f.stored("ada")); got != 1000 || len(b.titles()) != 10 {
			t.Fatalf("%d coins; told of %v", got, b.titles())
		}
	})
}

// A node closes a season and grants its titles, and is cut at every write of that in turn: it
// dies before or after it, or the answer is lost and it goes on. Another node takes over: one
// title, paid once, told at most once.
func TestCaseS7OneTitleWhateverIsCut(t *testing.T) {
	// case S7
	for _, kind := range []faultstore.Kind{faultstore.Crash, faultstore.CrashAfter, faultstore.FailAfter} {
		for _, on := range []func(*testing.T, func(*testing.T, *fleet)){onMemory, onSQLite} {
			for n, struck := 1, int64(1); struck > 0; n++ {
				struck = 0
				on(t, func(t *testing.T, f *fleet) { struck = cutAtWrite(t, f, n, kind) })
				if n > 100 {
					t.Fatal("a close and a load of more than a hundred writes")
				}
			}
		}
	}
}

// cutAtWrite plays a season, cuts the node that closes it at its n-th write, and tells how
// often that struck.
func cutAtWrite(t *testing.T, f *fleet, n int, kind faultstore.Kind) int64 {
	t.Helper()
	played := f.start("played", 0)
	ada := played.load("ada")
	played.play(ada, "catch")
	played.release(ada)
	played.stop()
	f.until(f.rules.Length + f.rules.Grace)

	var strikes atomic.Int64
	dies := f.start("dies", 0)
	dies.faults.SetRule(struck(&strikes, faultstore.Nth(n, ofSeasons, faultstore.Fault{Kind: kind})))
	time.Sleep(10 * time.Second) // it closes
	if session, err := dies.Set("players").Load(t.Context(), "ada", nil); err == nil && n%2 == 0 {
		dies.play(session, "catch")
	}
	time.Sleep(20 * time.Second)
	dies.faults.Crash()

	b := f.start("b", 0)
	time.Sleep(30 * time.Second)
	for range 2 {
		ada = b.load("ada")
		v := b.view(ada)
		if got := held(v); !slices.Equal(got, []string{"Fish@C1S1"}) || coins(ada.Data()) != 100 || !v.Processed.Has(0) {
			t.Fatalf("%v at write %d: ada holds %v and %d coins, %+v\n%s", kind, n, got, coins(ada.Data()), v.Processed, dies.faults)
		}
		b.release(ada)
	}
	if told := append(dies.titles(), b.titles()...); len(told) > 1 || kind == faultstore.FailAfter && len(told) != 1 {
		t.Fatalf("%v at write %d: told of %v", kind, n, told)
	}
	f.want("C1S1", "Fish", "ada:1")
	return strikes.Load()
}

// A board cannot be read at the close, on any node: no result, and never an empty one.
func TestCaseS8ABoardThatCannotBeRead(t *testing.T) {
	// case S8
	for _, op := range []string{"page", "seal", "info"} {
		for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.FailAfter, faultstore.Hang} {
			onEachStore(t, func(t *testing.T, f *fleet) {
				nodes := []*server{f.start("a", 0), f.start("b", 0)}
				ada := nodes[0].load("ada")
				nodes[0].play(ada, "catch", "coins")
				nodes[0].release(ada)
				broken := season.BoardKey("reef", "Coins", "C1S1")
				for _, n := range nodes {
					n.faults.SetRule(only(broken, func(c faultstore.Call) faultstore.Fault {
						if c.Op != op {
							return faultstore.Fault{}
						}
						return faultstore.Fault{Kind: kind}
					}))
				}
				f.closable(0)
				time.Sleep(3 * time.Minute)
				if got := f.result("C1S1"); got != nil {
					t.Fatalf("%s: %v, and there is a result: %s", op, kind, got)
				}
				for _, n := range nodes {
					if st := n.reef().Status(); len(st.Waiting) != 1 || !strings.Contains(st.Waiting[0].Why, "Coins") {
						t.Fatalf("%s: %v: waiting %+v", op, kind, st.Waiting)
					}
					n.faults.SetRule(nil)
				}
				time.Sleep(time.Minute)
				f.want("C1S1", "Fish", "ada:1")
				f.want("C1S1", "Coins", "ada:10")
			})
		}
	}
}

// What is caught in the last second counts, wherever the player is when the season ends.
func TestCaseS9TheLastSecond(t *testing.T) {
	// case S9
	onEachStore(t, func(t *testing.T, f *fleet) {
		fast, slow, dies := f.start("fast", 10*time.Minute), f.start("slow", -10*time.Minute), f.start("dies", 0)
		stays, leaves, moves, robbed := fast.load("stays"), slow.load("leaves"), fast.load("moves"), dies.load("robbed")
		f.until(f.rules.Length - time.Second)
		fast.play(stays, slices.Repeat([]string{"catch"}, 4)...)
		slow.play(leaves, slices.Repeat([]string{"catch"}, 3)...)
		fast.play(moves, "catch", "catch")
		dies.play(robbed, "catch")
		if err := robbed.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		dies.faults.Crash() // before anything of it is on a board
		slow.release(leaves)
		f.until(f.rules.Length)
		moves = slow.load("moves")
		slow.play(moves, "catch")
		f.until(f.rules.Length + 10*time.Second)
		robbed = fast.load("robbed") // within Grace
		f.closable(0)
		f.want("C1S1", "Fish", "stays:4", "leaves:3", "moves:2", "robbed:1")
		for _, n := range []*server{fast, slow} {
			if got := n.refused(); len(got) > 0 {
				t.Errorf("refused %+v", got)
			}
		}
		if v := slow.view(moves); v.Season != "C1S2" || v.Stats["fish"] != 1 {
			t.Errorf("moves: %+v", v)
		}
		if v := fast.view(robbed); v.Season != "C1S2" || v.Stats["fish"] != 0 {
			t.Errorf("robbed: %+v", v)
		}
	})
}

// Processes start and end in the middle of a season, in every way: counters, boards, and the
// season's end are what they would have been.
func TestCaseS10RestartsChangeNothing(t *testing.T) {
	// case S10
	onEachStore(t, func(t *testing.T, f *fleet) {
		for i := range 5 {
			n := f.start(fmt.Sprint("n", i), time.Duration(i-2)*time.Minute)
			ada, bob := n.load("ada"), n.load("bob")
			n.play(ada, "catch", "catch")
			n.play(bob, "catch")
			if v := n.view(ada); v.Season != "C1S1" || v.Stats["fish"] != int64(2*i+2) {
				t.Fatalf("after %d restarts: %+v", i, v)
			}
			time.Sleep(30 * time.Second)
			if i%2 == 0 {
				n.release(ada)
			}
			n.stop()
			f.reopen()
			if got := f.board("Fish", "C1S1"); !slices.Equal(got, []string{fmt.Sprint("ada:", 2*i+2), fmt.Sprint("bob:", i+1)}) {
				t.Fatalf("after %d restarts the board has %v", i, got)
			}
		}
		first := f.record("season/reef/first")
		for k := range int64(2) {
			f.until(time.Duration(k+1)*f.rules.Length + f.rules.Grace + 5*time.Second)
			n := f.start(fmt.Sprint("late", k), 0)
			time.Sleep(20 * time.Second)
			n.stop()
		}
		f.want("C1S1", "Fish", "ada:10", "bob:5")
		f.want("C1S2", "Fish")
		if now := f.record("season/reef/first"); !bytes.Equal(first, now) {
			t.Fatalf("the first season was %s, is %s", first, now)
		}
	})
}
