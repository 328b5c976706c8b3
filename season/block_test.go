package season_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
)

// everyKind has a stat of each kind.
func everyKind() season.Config {
	c := season.Reef()
	c.Stats = []season.Stat{
		{Name: "best", Kind: season.BestOfRun, Of: "run"}, // before its run
		{Name: "fish", Kind: season.Sum, On: []string{"catch"}, Each: 1},
		{Name: "weight", Kind: season.Sum, On: []string{"catch", "gift"}},
		{Name: "run", Kind: season.Run, On: []string{"catch"}, ResetOn: []string{"lose"}},
		{Name: "heaviest", Kind: season.Max, On: []string{"catch"}},
		{Name: "lightest", Kind: season.Min, On: []string{"catch"}},
		{Name: "latest", Kind: season.Last, On: []string{"catch", "gift"}},
	}
	c.Boards = []season.Board{{Name: "Fish", Stat: "fish"}}
	return c
}

func rulesOf(t interface {
	Helper()
	Fatal(...any)
}, c season.Config,
) season.Rules {
	t.Helper()
	r, err := season.NewRules("reef", c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func parse(t interface {
	Helper()
	Fatal(...any)
}, text string,
) doc.Value {
	t.Helper()
	v, err := doc.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// history is the model of a season's counters: the events themselves.
type history []season.Event

// values derives every stat from the events by its definition; ok is false when a sum left
// int64 on the way.
func (h history) values() (out map[string]int64, ok bool) {
	out = make(map[string]int64)
	weight, run := new(big.Int), int64(0)
	for _, e := range h {
		switch e.Name {
		case "catch":
			run++
			out["fish"]++
			out["run"] = run
			out["best"] = max(out["best"], run)
			if v, has := out["heaviest"]; !has || e.Amount > v {
				out["heaviest"] = e.Amount
			}
			if v, has := out["lightest"]; !has || e.Amount < v {
				out["lightest"] = e.Amount
			}
		case "lose":
			run = 0
			out["run"] = 0
			continue
		}
		out["latest"] = e.Amount
		if weight.Add(weight, big.NewInt(e.Amount)); !weight.IsInt64() {
			return nil, false
		}
		out["weight"] = weight.Int64()
	}
	return out, true
}

// player is the model of a block.
type playerModel struct {
	k    int64 // -1: names no season
	seen map[int64]history
	owed map[int64]bool
}

func (m *playerModel) advance(k int64) {
	if m.k >= 0 && m.k < k {
		if v, _ := m.seen[m.k].values(); len(v) > 0 {
			m.owed[m.k] = true
		}
		m.k = k
	}
}

func (m *playerModel) record(k int64, events []season.Event) bool {
	now := max(m.k, k)
	next := append(slices.Clone(m.seen[now]), events...)
	if _, ok := next.values(); !ok {
		return false
	}
	m.advance(k)
	m.k = now
	m.seen[now] = next
	return true
}

func (m *playerModel) check(t *rapid.T, c season.Calendar, b season.Block) {
	if m.k >= 0 && b.K != m.k {
		t.Fatalf("the block is in season %d, want %d", b.K, m.k)
	}
	want, _ := m.seen[m.k].values()
	if diff := cmp.Diff(want, b.Stats); m.k >= 0 && diff != "" {
		t.Fatalf("stats (-want +got):\n%s", diff)
	}
	if m.k < 0 && len(b.Stats) > 0 {
		t.Fatalf("a block without a season has stats: %v", b.Stats)
	}
	owed := make(map[string]map[string]int64)
	for k := range m.owed {
		owed[c.ID(k)], _ = m.seen[k].values()
	}
	if len(owed) == 0 {
		owed = nil
	}
	if diff := cmp.Diff(owed, b.Owed); diff != "" {
		t.Fatalf("owed (-want +got):\n%s", diff)
	}
}

// Blocks behave as the list of events per season says, whatever the clock does: it jumps
// ahead over many seasons, and back.
func TestBlockFollowsTheModel(t *testing.T) {
	cfg := everyKind()
	start := []string{
		`{}`, `{"seasons":{}}`, `{"seasons":{"reef":{}}}`, `{"seasons":{"reef":null}}`,
		`{"seasons":{"reef":{"season":""}},"coins":5}`,
		`{"seasons":{"reef":{"season":"2026-08","stats":{"fish":99,"run":3},"keep":true}}}`,
		`{"seasons":{"reef":{"season":"C01S2","stats":{"fish":99}}}}`,
		`{"seasons":{"reef":{"season":7,"stats":[1]}}}`,
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rulesOf(t, cfg)
		data := parse(t, rapid.SampledFrom(start).Draw(t, "start"))
		m := &playerModel{k: -1, seen: make(map[int64]history), owed: make(map[int64]bool)}
		k := int64(0)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			k = max(0, k+rapid.SampledFrom([]int64{0, 0, 0, 0, 1, 1, 5, -1, -3}).Draw(t, "season"))
			highest := m.k
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				next, evicted, err := r.Advance(data, k)
				if err != nil || len(evicted) > 0 {
					t.Fatalf("advance: %v, %v", evicted, err)
				}
				m.advance(k)
				data = next
			default:
				events := rapid.SliceOfN(rapid.Custom(drawEvent), 1, 3).Draw(t, "events")
				next, evicted, err := r.Record(data, k, events...)
				counted := m.record(k, events)
				if counted != (err == nil) || err != nil && !errors.Is(err, season.ErrOverflow) || len(evicted) > 0 {
					t.Fatalf("record: %v, %v, want counted %v", evicted, err, counted)
				}
				data = next
			}
			if m.k < highest {
				t.Fatalf("the block went back from %d to %d", highest, m.k)
			}
			view, err := r.View(data, max(m.k, 0), 0)
			if err != nil {
				t.Fatal(err)
			}
			m.check(t, cfg.Calendar, view)
		}
	})
}

func drawEvent(t *rapid.T) season.Event {
	return season.Event{
		Name: rapid.SampledFrom([]string{"catch", "catch", "gift", "lose"}).Draw(t, "event"),
		Amount: rapid.OneOf(
			rapid.Int64Range(-50, 50),
			rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, math.MaxInt64/2 + 1}),
		).Draw(t, "amount"),
	}
}

// A view computes what advance would write.
func TestViewIsAdvanceWithoutWriting(t *testing.T) {
	cfg := everyKind()
	rapid.Check(t, func(t *rapid.T) {
		r := rulesOf(t, cfg)
		data := parse(t, `{}`)
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			k := rapid.Int64Range(0, 4).Draw(t, "season")
			next, _, err := r.Record(data, k, season.Event{Name: "catch", Amount: 1})
			if err != nil {
				t.Fatal(err)
			}
			data = next
		}
		k := rapid.Int64Range(0, 6).Draw(t, "now")
		advanced, _, err := r.Advance(data, k)
		if err != nil {
			t.Fatal(err)
		}
		seen, err1 := r.View(data, k, 3)
		after, err2 := r.View(advanced, k, 3)
		if diff := cmp.Diff(after, seen); diff != "" || err1 != nil || err2 != nil {
			t.Fatalf("view of what was not advanced (-want +got):\n%s%v %v", diff, err1, err2)
		}
	})
}

// S19: an id of the old form names no season: the current one is adopted, counters are zero,
// nothing is owed, and the rest of the block stays.
func TestAnOldIDIsAdoptedWithZeroCounters(t *testing.T) {
	r := rulesOf(t, everyKind())
	data := parse(t, `{"seasons":{"reef":{"season":"2026-08","stats":{"fish":99,"old":1},"keep":[1]}},"coins":5}`)
	got, _, err := r.Record(data, 1, season.Event{Name: "gift", Amount: 3})
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `{"seasons":{"reef":{"season":"C1S2","stats":{"weight":3,"latest":3},"keep":[1]}},"coins":5}`)
	if !got.Equal(want) {
		t.Fatalf("got %s, want %s", got, want)
	}
	if same, _, err := r.Advance(data, 1); err != nil || !same.Equal(data) {
		t.Fatalf("a read wrote %s, %v", same, err)
	}
}

func TestResetMovesTheValuesInTheSameTransaction(t *testing.T) {
	r := rulesOf(t, everyKind())
	data := parse(t, `{"seasons":{"reef":{"season":"C1S1","stats":{"fish":4,"run":0,"mystery":7,"float":2.0,"text":"x"},"titles":{}}}}`)
	got, _, err := r.Record(data, 2, season.Event{Name: "lose"})
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `{"seasons":{"reef":{"season":"C1S3","stats":{"run":0},"titles":{},"owed":{"C1S1":{"fish":4,"run":0,"mystery":7,"float":2}}}}}`)
	if !got.Equal(want) {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func TestABlockOfALaterSeasonIsTheCurrentOne(t *testing.T) {
	r := rulesOf(t, everyKind())
	data := parse(t, `{"seasons":{"reef":{"season":"C1S9","stats":{"fish":4}}}}`)
	got, _, err := r.Record(data, 2, season.Event{Name: "catch", Amount: 1})
	if err != nil {
		t.Fatal(err)
	}
	view, err := r.View(got, 2, 0)
	if err != nil || view.Season != "C1S9" || view.K != 8 || view.Stats["fish"] != 5 || view.Owed != nil {
		t.Fatalf("view %+v, %v", view, err)
	}
}

func TestWhatIsNoBlockIsLeftAlone(t *testing.T) {
	r := rulesOf(t, everyKind())
	for _, text := range []string{`{"seasons":{"reef":"gone"}}`, `{"seasons":{"reef":[1,2]}}`, `{"seasons":{"reef":5}}`} {
		data := parse(t, text)
		_, _, err := r.Record(data, 1, season.Event{Name: "catch"})
		_, _, err2 := r.Advance(data, 1)
		_, err3 := r.View(data, 1, 0)
		_, _, err4 := r.Grant(data, season.Occasion{Key: "u"})
		for i, err := range []error{err, err2, err3, err4} {
			if !errors.Is(err, season.ErrBlock) {
				t.Errorf("%s: call %d: %v, want ErrBlock", text, i, err)
			}
		}
	}
}

func TestEventsAreAllOrNone(t *testing.T) {
	r := rulesOf(t, everyKind())
	data := parse(t, `{"seasons":{"reef":{"season":"C1S1","stats":{"weight":9223372036854775800}}}}`)
	_, _, err := r.Record(data, 0, season.Event{Name: "lose"}, season.Event{Name: "gift", Amount: 8})
	if !errors.Is(err, season.ErrOverflow) {
		t.Fatalf("8 more than int64 holds: %v", err)
	}
	if _, _, err := r.Record(data, 0, season.Event{Name: "gift", Amount: 7}); err != nil {
		t.Fatalf("exactly int64: %v", err)
	}
	_, _, err = r.Record(data, 0, season.Event{Name: "lose"}, season.Event{Name: "swim"})
	if !errors.Is(err, season.ErrUnknownEvent) {
		t.Fatalf("an event that nobody counts: %v", err)
	}
}

func TestNothingChangesWhenAMaximumIsNotExceeded(t *testing.T) {
	cfg := everyKind()
	cfg.Stats = []season.Stat{{Name: "heaviest", Kind: season.Max, On: []string{"weigh"}}}
	cfg.Boards = []season.Board{{Name: "Heavy", Stat: "heaviest"}}
	r := rulesOf(t, cfg)
	data := parse(t, `{"seasons":{"reef":{"season":"C1S1","stats":{"heaviest":9}}}}`)
	if got, _, err := r.Record(data, 0, season.Event{Name: "weigh", Amount: 9}); err != nil || !got.Equal(data) {
		t.Fatalf("got %s, %v", got, err)
	}
}

func TestOwedIsBoundedAndTheOldestLeaves(t *testing.T) {
	cfg := everyKind()
	r := rulesOf(t, cfg)
	data := parse(t, `{"seasons":{"reef":{"season":"C1S1","stats":{"fish":1},"owed":{"garbage":{"x":1}}}}}`)
	var gone []string
	for k := range int64(season.MaxOwed + 3) {
		next, evicted, err := r.Record(data, k+1, season.Event{Name: "catch", Amount: 1})
		if err != nil {
			t.Fatal(err)
		}
		data, gone = next, append(gone, evicted...)
	}
	if want := []string{"garbage", "C1S1", "C1S2", "C1S3"}; !slices.Equal(gone, want) {
		t.Fatalf("evicted %v, want %v", gone, want)
	}
	view, err := r.View(data, season.MaxOwed+3, 0)
	if err != nil || len(view.Owed) != season.MaxOwed || view.Owed["C1S4"] == nil {
		t.Fatalf("%d owed, %v: %v", len(view.Owed), err, slices.Sorted(maps.Keys(view.Owed)))
	}
}

func TestAnyPathWorks(t *testing.T) {
	cfg := everyKind()
	cfg.Path = "/a~1b/x"
	r := rulesOf(t, cfg)
	got, _, err := r.Record(parse(t, `{"a":1}`), 0, season.Event{Name: "lose"})
	if want := parse(t, `{"a":1,"a/b":{"x":{"season":"C1S1","stats":{"run":0}}}}`); err != nil || !got.Equal(want) {
		t.Fatalf("got %s, %v, want %s", got, err, want)
	}
	cfg.Path = ""
	r, err = season.NewRules("odd~name", cfg)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err = r.Record(parse(t, `{}`), 0, season.Event{Name: "lose"})
	if want := parse(t, `{"seasons":{"odd~name":{"season":"C1S1","stats":{"run":0}}}}`); err != nil || !got.Equal(want) {
		t.Fatalf("got %s, %v, want %s", got, err, want)
	}
}

func BenchmarkRecordRules(b *testing.B) {
	r := rulesOf(b, season.Reef())
	data := profileOf2KB(b)
	event := season.Event{Name: "catch"}
	b.ReportAllocs()
	for b.Loop() {
		next, _, err := r.Record(data, 0, event)
		if err != nil {
			b.Fatal(err)
		}
		data = next
	}
}

// profileOf2KB is a profile of an ordinary size.
func profileOf2KB(t interface {
	Helper()
	Fatal(...any)
},
) doc.Value {
	t.Helper()
	items := make([]doc.Value, 30)
	for i := range items {
		items[i] = doc.MustObject(map[string]doc.Value{
			"id": doc.Int(int64(i)), "name": doc.MustString(fmt.Sprintf("thing number %d", i)), "worn": doc.Bool(i%2 == 0),
		})
	}
	v := doc.MustObject(map[string]doc.Value{
		"inventory": doc.List(items...), "coins": doc.Int(5),
		"settings": doc.MustObject(map[string]doc.Value{"music": doc.Bool(true), "language": doc.MustString("en")}),
	})
	if v.Size() < 1400 || v.Size() > 2600 {
		t.Fatal("the profile has", v.Size(), "bytes")
	}
	return v
}

// Whatever is in a profile: no panic, no way back, and operations that can be applied.
func FuzzBlock(f *testing.F) {
	f.Add([]byte(`{"seasons":{"reef":{"season":"C1S2","stats":{"fish":1},"owed":{"C1S1":{"fish":2}},"processed":{"through":0,"extra":[2]},"titles":{"Fish@C1S1":{"rank":3}}}}}`), int64(3))
	f.Add([]byte(`{"seasons":{"reef":{"season":"2026-08","stats":[],"owed":7,"processed":{"through":"x"},"titles":[]}}}`), int64(0))
	f.Add([]byte(`{"seasons":{"reef":null}}`), int64(1))
	f.Add([]byte(`{"seasons":{"reef":{"owed":{"x":1.5},"stats":{"fish":1e3}}}}`), int64(1))
	f.Fuzz(func(t *testing.T, text []byte, k int64) {
		data, err := doc.Parse(text, nil)
		if err != nil {
			return
		}
		k = max(0, k)
		r := rulesOf(t, everyKind())
		before, err := r.View(data, k, 0)
		if err != nil {
			return
		}
		advanced, _, err := r.Advance(data, k)
		if err != nil && !errors.Is(err, doc.ErrTooDeep) {
			t.Fatalf("advance: %v", err)
		}
		after, err := r.View(advanced, k, 0)
		if err != nil || after.K != before.K || before.K < k {
			t.Fatalf("season %d became %d at %d, %v", before.K, after.K, k, err)
		}
		played, _, err := r.Record(data, k, season.Event{Name: "catch", Amount: 1})
		if err == nil {
			if v, err := r.View(played, k, 0); err != nil || v.K != before.K || v.Stats["fish"] != before.Stats["fish"]+1 {
				t.Fatalf("fish %d became %d, %v", before.Stats["fish"], v.Stats["fish"], err)
			}
		}
		granted, _, err := r.Grant(data, season.Occasion{Key: "me", Results: []*season.Result{fishResult(t, 0, "me")}})
		if err == nil {
			if v, err := r.View(granted, k, 0); err != nil || !v.Processed.Has(0) {
				t.Fatalf("%+v, %v", v.Processed, err)
			}
		}
	})
}
