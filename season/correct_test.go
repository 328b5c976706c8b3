package season_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
)

// out and back are corrections about a player, on all boards when none is named.
func out(key string, boards ...string) season.Correction {
	return season.Correction{Ruling: ruling(key, boards...)}
}

func back(key string, boards ...string) season.Correction {
	return season.Correction{Reinstates: true, Ruling: ruling(key, boards...)}
}

func TestStandingsOfOneBoard(t *testing.T) {
	r := fishResult(t, 0, "a", "b", "c", "d", "e")
	for _, c := range []struct {
		list []season.Correction
		want string
	}{
		{nil, "a b c|d e|"},
		{[]season.Correction{out("a")}, "b c d|e|a"},
		{[]season.Correction{out("c", "Fish")}, "a b d|e|c"},
		{[]season.Correction{out("d")}, "a b c|e|d"},
		{[]season.Correction{out("e")}, "a b c|d|e"},
		{[]season.Correction{out("a", "Coins")}, "a b c|d e|"},
		{[]season.Correction{out("a"), back("a", "Coins")}, "b c d|e|a"},
		{[]season.Correction{out("a"), back("a", "Fish")}, "a b c|d e|"},
		{[]season.Correction{out("a"), back("a"), out("a")}, "b c d|e|a"},
		{[]season.Correction{back("a"), out("b")}, "a c d|e|b"},
		{[]season.Correction{out("a"), out("b")}, "c d e||a b"},
		{[]season.Correction{out("a"), out("b"), out("e")}, "c d||a b e"},
		{[]season.Correction{out("a"), out("b"), out("c"), out("d"), out("e")}, "||a b c d e"},
		{[]season.Correction{out("nobody")}, "a b c|d e|"},
	} {
		st := season.StandingsOf(r, c.list)
		if got := shape(t, st, "Fish"); got != c.want || st.Corrections != len(c.list) || st.Boards[0].Total != 5 {
			t.Errorf("%+v: %s, want %s", c.list, got, c.want)
		}
	}
	if got := shape(t, season.StandingsOf(r, nil), "Fish"); got != "a b c|d e|" {
		t.Errorf("the result changed: %s", got)
	}
}

func drawCorrection(t *rapid.T, keys []string) season.Correction {
	c := out(rapid.SampledFrom(keys).Draw(t, "key"))
	c.Reinstates = rapid.Bool().Draw(t, "reinstates")
	c.Boards = rapid.SampledFrom([][]string{nil, {"Fish"}, {"Coins"}, {"Coins", "Fish"}}).Draw(t, "boards")
	return c
}

// Any sequence of rulings stands as walking down the result says, and a ruling that changes
// nothing is known as one.
func TestStandingsAreTheResultWithoutTheDisqualified(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var keys []string
		for i := range rapid.IntRange(0, 8).Draw(t, "places") {
			keys = append(keys, fmt.Sprint("u", i))
		}
		r := fishResult(t, 0, keys...)
		var list []season.Correction
		for range rapid.IntRange(0, 12).Draw(t, "rulings") {
			c := drawCorrection(t, append(keys, "nobody"))
			before := naiveLists(r, list)
			changes := season.Changes(r, list, c)
			list = append(list, c)
			after := naiveLists(r, list)
			if changes == before.equal(after) {
				t.Fatalf("%+v after %+v: changes %v", c, list, changes)
			}
			st := season.StandingsOf(r, list)
			if got := listsOf(st); !got.equal(after) {
				t.Fatalf("%+v: %+v, want %+v", list, got, after)
			}
		}
	})
}

// lists are the keys of a board.
type lists struct{ top, reserve, out []string }

func (l lists) equal(o lists) bool {
	return slices.Equal(l.top, o.top) && slices.Equal(l.reserve, o.reserve) && slices.Equal(l.out, o.out)
}

func keysOf(list []season.Placed) (keys []string) {
	for _, p := range list {
		keys = append(keys, p.Key)
	}
	return keys
}

func listsOf(st *season.Standings) lists {
	b := st.Boards[0]
	return lists{keysOf(b.Top), keysOf(b.Reserve), keysOf(b.Disqualified)}
}

// naiveLists is how a board stands, by the definition: walk down the result and leave out
// whoever's last ruling about the board is a disqualification.
func naiveLists(r *season.Result, list []season.Correction) (l lists) {
	b := r.Boards[0]
	for _, p := range append(slices.Clone(b.Top), b.Reserve...) {
		isOut := false
		for _, c := range list {
			if c.Key == p.Key && (len(c.Boards) == 0 || slices.Contains(c.Boards, b.Board)) {
				isOut = !c.Reinstates
			}
		}
		switch {
		case isOut:
			l.out = append(l.out, p.Key)
		case len(l.top) < len(b.Top):
			l.top = append(l.top, p.Key)
		default:
			l.reserve = append(l.reserve, p.Key)
		}
	}
	return l
}

// step is a correction, and what processing it does to c, who is third of five with three titles.
type step struct {
	correct season.Correction
	change  string // "before>after" ranks, "" for none
	revoked []int
	given   []int
}

func ranks(titles []season.Title) (out []int) {
	for _, t := range titles {
		out = append(out, t.Rank)
	}
	return out
}

func TestTitlesFollowCorrections(t *testing.T) {
	rules := rulesOf(t, season.Reef())
	r := fishResult(t, 0, "a", "b", "c", "d", "e")
	for name, c := range map[string]struct {
		key       string
		revocable bool
		first     []int // rewards of the first processing
		steps     []step
	}{
		"up and down, kept": {key: "c", first: []int{3}, steps: []step{
			{out("a"), "3>2", nil, nil}, {out("d"), "", nil, nil}, {out("b"), "2>1", nil, nil}, {back("a"), "1>2", nil, nil},
		}},
		"up and down, exchanged": {key: "c", revocable: true, first: []int{3}, steps: []step{
			{out("a"), "3>2", []int{3}, []int{2}}, {out("d"), "", nil, nil}, {back("a"), "2>3", []int{2}, []int{3}},
		}},
		"out and back, kept": {key: "c", first: []int{3}, steps: []step{
			{out("c"), "3>0", nil, nil}, {out("a"), "", nil, nil}, {back("c"), "0>2", nil, nil}, {out("c"), "2>0", nil, nil}, {back("c"), "0>2", nil, nil},
		}},
		"out and back, exchanged": {key: "c", revocable: true, first: []int{3}, steps: []step{
			{out("c"), "3>0", []int{3}, nil}, {out("a"), "", nil, nil}, {back("c"), "0>2", nil, []int{2}}, {out("c"), "2>0", []int{2}, nil},
		}},
		"from the reserve, kept": {key: "d", steps: []step{
			{out("e"), "", nil, nil}, {out("a"), "0>3", nil, []int{3}}, {back("a"), "3>0", nil, nil}, {out("b"), "0>3", nil, nil}, {out("a"), "3>2", nil, nil},
		}},
		"from the reserve, exchanged": {key: "d", revocable: true, steps: []step{
			{out("a"), "0>3", nil, []int{3}}, {back("a"), "3>0", []int{3}, nil}, {out("b"), "0>3", nil, []int{3}},
		}},
		"a stranger": {key: "nobody", steps: []step{{out("a"), "", nil, nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			data := doc.MustObject(nil)
			var list []season.Correction
			var g season.Granted
			process := func() {
				t.Helper()
				var err error
				data, g, err = rules.Correct(data, season.Occasion{
					Key: c.key, Revocable: c.revocable, Standings: []*season.Standings{season.StandingsOf(r, list)},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			process()
			if !slices.Equal(ranks(g.Rewarded), c.first) || g.Revoked != nil || g.Changes != nil {
				t.Fatalf("first: %+v", g)
			}
			for _, s := range c.steps {
				list = append(list, s.correct)
				process()
				var change string
				for _, ch := range g.Changes {
					change += fmt.Sprintf("%d>%d", ch.Before.Rank, ch.After.Rank)
				}
				if change != s.change || !slices.Equal(ranks(g.Revoked), s.revoked) || !slices.Equal(ranks(g.Rewarded), s.given) {
					t.Fatalf("%+v: %s, revoked %v, given %v", s, change, ranks(g.Revoked), ranks(g.Rewarded))
				}
				if process(); g.Ops != 0 {
					t.Fatalf("%+v: processed again: %+v", s, g)
				}
			}
		})
	}
}

// What a correction writes, byte for byte.
func TestTheBlockRemembersWhatWasPaid(t *testing.T) {
	rules := rulesOf(t, season.Reef())
	r := fishResult(t, 0, "a", "b", "c", "d", "e")
	data := doc.MustObject(nil)
	var list []season.Correction
	for _, c := range []struct {
		correct season.Correction
		want    string
	}{
		{out("a"), `{"corrected":{"C1S1":1},"processed":{"through":0},"titles":{"Fish@C1S1":{"corrections":1,"name":"SEA KING","number":1,"rank":2,"score":98,"text":"#2 SEA KING (S1)"}}}`},
		{back("a"), `{"corrected":{"C1S1":2},"processed":{"through":0},"titles":{"Fish@C1S1":{"corrections":2,"name":"SEA KING","number":1,"paid":2,"rank":3,"score":98,"text":"#3 SEA KING (S1)"}}}`},
		{out("c"), `{"corrected":{"C1S1":3},"processed":{"through":0},"titles":{},"withdrawn":{"Fish@C1S1":2}}`},
		{back("c"), `{"corrected":{"C1S1":4},"processed":{"through":0},"titles":{"Fish@C1S1":{"corrections":4,"name":"SEA KING","number":1,"paid":2,"rank":3,"score":98,"text":"#3 SEA KING (S1)"}},"withdrawn":{}}`},
		{out("a"), `{"corrected":{"C1S1":5},"processed":{"through":0},"titles":{"Fish@C1S1":{"corrections":5,"name":"SEA KING","number":1,"rank":2,"score":98,"text":"#2 SEA KING (S1)"}},"withdrawn":{}}`},
	} {
		list = append(list, c.correct)
		var err error
		data, _, err = rules.Correct(data, season.Occasion{Key: "c", Standings: []*season.Standings{season.StandingsOf(r, list)}})
		if err != nil {
			t.Fatal(err)
		}
		block, _, _ := data.Lookup("/seasons/reef")
		if !block.Equal(parse(t, c.want)) {
			t.Fatalf("%+v\n got %v\nwant %s", c.correct, block, c.want)
		}
		if v, err := rules.View(data, 1, 0); err != nil || len(v.Titles) > 1 {
			t.Fatalf("%+v, %v", v, err)
		}
	}
}

// reckoning is the model of what the game has given and taken back.
type reckoning map[int]int

func (p reckoning) apply(g season.Granted) {
	for _, t := range g.Revoked {
		p[t.Rank]--
	}
	for _, t := range g.Rewarded {
		p[t.Rank]++
	}
}

// Whatever is ruled, and whenever the player is looked at, also by a node that knows less than
// another: the titles are those of the standings, nothing is given twice without Revoke, and
// with it the player has exactly the reward of the rank. The game may begin to revoke at any time.
func TestAnyCorrectionsLeaveOneTitleAndOneReward(t *testing.T) {
	rules := rulesOf(t, season.Reef())
	keys := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		r := fishResult(t, 0, keys...)
		data, has := doc.MustObject(nil), reckoning{}
		var list []season.Correction
		told, given, best := 0, 0, 0
		revocable := rapid.Bool().Draw(t, "revocable")
		mixed := !revocable && rapid.Bool().Draw(t, "mixed")
		look := func(count int) {
			var g season.Granted
			var err error
			data, g, err = rules.Correct(data, season.Occasion{
				Key: "c", Revocable: revocable, Standings: []*season.Standings{season.StandingsOf(r, list[:count])},
			})
			if err != nil {
				t.Fatal(err)
			}
			if count < best && g.Ops > 0 {
				t.Fatalf("went back from %d to %d corrections: %+v", best, count, g)
			}
			best = max(best, count)
			has.apply(g)
			told, given = told+len(g.Titles), given+len(g.Rewarded)
		}
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "do") > 0 {
				list = append(list, drawCorrection(t, append(keys, "c", "c", "c"))) // mostly about the player
			}
			if rapid.Bool().Draw(t, "look") {
				look(rapid.IntRange(0, len(list)).Draw(t, "known"))
			}
			if mixed && rapid.IntRange(0, 5).Draw(t, "begin") == 0 {
				revocable = true
			}
		}
		list = append(list, out("nobody")) // the last look always has something to do
		look(len(list))
		view, err := rules.View(data, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		checkTitle(t, view, season.StandingsOf(r, list), has, revocable)
		if told > 1 || !revocable && given > 1 {
			t.Fatalf("told %d times, given %d times", told, given)
		}
	})
}

func checkTitle(t *rapid.T, view season.Block, st *season.Standings, has reckoning, revocable bool) {
	want := 0
	for _, p := range st.Boards[0].Top {
		if p.Key == "c" {
			want = p.Rank
		}
	}
	if want == 0 && len(view.Titles) > 0 || want > 0 && (len(view.Titles) != 1 || view.Titles[0].Rank != want ||
		view.Titles[0].Corrections != st.Corrections || view.Titles[0].Text != season.TitleText(want, "SEA KING", 1)) {
		t.Fatalf("titles %+v, want rank %d", view.Titles, want)
	}
	total := 0
	for rank, n := range has {
		if n < 0 || n > 1 {
			t.Fatalf("the reward of rank %d was given %d times", rank, n)
		}
		total += n
	}
	switch {
	case total > 1, want > 0 && total == 0:
		t.Fatalf("rank %d has %v", want, has)
	case revocable && want > 0 && has[want] != 1:
		t.Fatalf("rank %d has %v", want, has)
	}
}
