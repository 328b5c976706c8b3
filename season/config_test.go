package season_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// The numbers of the seed.
func TestReefIsTheSeed(t *testing.T) {
	c := season.Reef()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if !c.Epoch.Equal(at("2026-08-11T00:00:00Z")) || c.Length != 45*24*time.Hour || c.PerCycle != 20 || len(c.Boards) != 4 {
		t.Fatalf("%+v", c)
	}
	titles := map[string]string{"Fish": "SEA KING", "Coins": "GOLD SOVEREIGN", "Experience": "GRAND MARINER", "Streak": "RELENTLESS KING"}
	for _, b := range c.Boards {
		if titles[b.Name] != b.Title {
			t.Errorf("board %s has the title %q", b.Name, b.Title)
		}
	}
}

func TestConfigFromJSON(t *testing.T) {
	got, err := season.ParseConfig([]byte(`{
		"epoch": "2026-08-11T02:00:00+02:00", "length": "1080h", "perCycle": 4,
		"stats": [
			{"name": "laps", "kind": "sum", "on": ["lap"], "each": 2},
			{"name": "clean", "kind": "run", "on": ["lap"], "resetOn": ["crash"]},
			{"name": "longest", "kind": "best", "of": "clean"},
			{"name": "fastest", "kind": "min", "on": ["lap"]}],
		"boards": [{"name": "Fastest", "stat": "fastest", "title": "THE WIND", "order": "ascending"}, {"name": "Laps", "stat": "laps"}],
		"grace": "5s", "flushEvery": "1s", "firstClose": "2s", "closeEvery": "10s", "top": 3, "keep": 7, "cacheFor": "1500ms", "name": "/driver/name", "path": "/race"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := season.Config{
		Calendar: season.Calendar{Epoch: at("2026-08-11T00:00:00Z"), Length: 1080 * time.Hour, PerCycle: 4},
		Stats: []season.Stat{
			{Name: "laps", Kind: season.Sum, On: []string{"lap"}, Each: 2},
			{Name: "clean", Kind: season.Run, On: []string{"lap"}, ResetOn: []string{"crash"}},
			{Name: "longest", Kind: season.BestOfRun, Of: "clean"},
			{Name: "fastest", Kind: season.Min, On: []string{"lap"}},
		},
		Boards: []season.Board{{Name: "Fastest", Stat: "fastest", Title: "THE WIND", Order: store.Ascending}, {Name: "Laps", Stat: "laps"}},
		Grace:  5 * time.Second, FlushEvery: time.Second, FirstClose: 2 * time.Second, CloseEvery: 10 * time.Second,
		Top: 3, Keep: 7, CacheFor: 1500 * time.Millisecond, Name: "/driver/name", Path: "/race",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if err := got.Validate(); err != nil {
		t.Fatal(err)
	}
	roundTrip(t, got)
	roundTrip(t, season.Reef())
}

func roundTrip(t *testing.T, c season.Config, how ...cmp.Option) {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back season.Config
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatalf("%v of %s", err, data)
	}
	if diff := cmp.Diff(c, back, how...); diff != "" {
		t.Fatalf("through %s (-want +got):\n%s", data, diff)
	}
}

// Everything that is wrong is reported at once, and unknown members are named.
func TestConfigNamesEverythingThatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{`{"epok": 1, "length": 45, "boards": [{"name": "A", "titel": "x"}], "stats": [{"kind": "total", "on": "catch"}]}`, []string{
			"epok: unknown member", `length: a duration such as "45s" or "1080h" expected, got 45`, "boards[0].titel: unknown member",
			"stats[0].kind: sum, run, best, max, min or last expected", "stats[0].on: a list expected, got string",
		}},
		{`{"epoch": "yesterday", "perCycle": 2.5, "boards": [{"order": "up"}], "path": 1}`, []string{
			`epoch: a time such as "2026-08-11T00:00:00Z" expected`, "perCycle: an integer expected", "boards[0].order: descending or ascending expected", "path: a string expected",
		}},
		{`[]`, []string{"config: an object expected, got list"}},
		{`{"top": 1, "top": 2}`, []string{"duplicate"}},
		{`{`, []string{"byte 1"}},
	} {
		_, err := season.ParseConfig([]byte(tt.text))
		complains(t, tt.text, err, tt.want)
	}
}

func complains(t *testing.T, what string, err error, want []string) {
	t.Helper()
	if !errors.Is(err, season.ErrConfig) {
		t.Errorf("%s: %v, want ErrConfig", what, err)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: no %q in\n%v", what, w, err)
		}
	}
}

func TestValidateNamesEverythingThatIsWrong(t *testing.T) {
	complains(t, "nothing", season.Config{}.Validate(), []string{"epoch: is missing", "length: at least 1s", "stats: 1 to 32 expected, got 0"})
	for name, tt := range map[string]struct {
		change func(*season.Config)
		want   []string
	}{
		"times": {func(c *season.Config) {
			c.Grace, c.FlushEvery, c.CacheFor, c.FirstClose = 30*time.Second, 30*time.Second, -1, -1
		}, []string{
			"grace: more than flushEvery", "cacheFor: more than 0", "firstClose: more than 0",
		}},
		"calendar": {func(c *season.Config) { c.Length, c.PerCycle = time.Millisecond, -1 }, []string{"length: at least 1s", "perCycle: at least 1"}},
		"counts":   {func(c *season.Config) { c.Top, c.Keep = 5, 4 }, []string{"top: 1 to keep (4) expected, got 5"}},
		"keep":     {func(c *season.Config) { c.Top, c.Keep = 5, 5000 }, []string{"keep: 1 to 1000"}},
		"name":     {func(c *season.Config) { c.Name = "name" }, []string{"name: a JSON Pointer"}},
		"path":     {func(c *season.Config) { c.Path = "seasons" }, []string{"path: a JSON Pointer"}},
		"stat names": {func(c *season.Config) { c.Stats[0].Name, c.Stats[1].Name = "", c.Stats[2].Name }, []string{
			"stats[0].name: is empty", `stats[2].name: "experience" comes twice`, `boards[0].stat: no stat is named "fish"`,
		}},
		"stat fields": {func(c *season.Config) {
			c.Stats[0].Kind = 0
			c.Stats[1].ResetOn, c.Stats[1].Of, c.Stats[1].On = []string{"a b"}, "streak", []string{"coins", "coins"}
			c.Stats[2].On = nil
			c.Stats[3].Each = -1
			c.Stats[4].Of, c.Stats[4].Each, c.Stats[4].On = "fish", 2, []string{"catch"}
		}, []string{
			"stats[0].kind: sum, run", "stats[1].resetOn: only a run", "stats[1].of: only a best", `stats[1].on: event "coins" comes twice`, "stats[1].on: has",
			"stats[2].on: is empty", "stats[3].each: a run counts up", `stats[4].of: the name of a run expected, got "fish"`, "stats[4].each: only sum and run", "stats[4].on: a best follows",
		}},
		"boards": {func(c *season.Config) {
			c.Boards[0].Name, c.Boards[1].Name = "a@b", "Experience"
			c.Boards[3].Title, c.Boards[3].Order = "\xff", 9
		}, []string{
			"boards[0].name: has @", `boards[2].name: "Experience" comes twice`, "boards[3].title: valid UTF-8", "boards[3].order: descending",
		}},
		"many": {func(c *season.Config) { c.Boards = make([]season.Board, 33) }, []string{"boards: at most 32 expected, got 33"}},
	} {
		c := season.Reef()
		tt.change(&c)
		complains(t, name, c.Validate(), tt.want)
	}
}

func TestKindsHaveNames(t *testing.T) {
	for k := season.Sum; k <= season.Last; k++ {
		if back, ok := season.ParseKind(k.String()); !ok || back != k {
			t.Errorf("%d is %q is %d, %v", k, k, back, ok)
		}
	}
	if _, ok := season.ParseKind("no kind"); ok || season.Kind(0).String() != "no kind" {
		t.Error("no kind is a kind")
	}
}

func FuzzParseConfig(f *testing.F) {
	reef, err := json.Marshal(season.Reef())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(reef)
	f.Add([]byte(`{"epoch":"2026-08-11T00:00:00Z","length":"1s","stats":[{"name":"a","kind":"sum","on":["b"]}]}`))
	f.Add([]byte(`{"epoch":"2026-08-11T00:00:00Z","length":"1s","stats":[{"name":"a","kind":"sum","on":["b"]}],"boards":[{"name":"a","stat":"a","rewards":[{"to":3,"ops":[{"op":"increment","path":"/c","by":1,"max":9,"clamp":true}]}]}],"name":"/n"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := season.ParseConfig(data)
		if err != nil {
			return
		}
		if c.Validate() != nil {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		back, err := season.ParseConfig(again)
		if err != nil {
			t.Fatalf("%v of %s", err, again)
		}
		third, err := json.Marshal(back)
		if err != nil || string(third) != string(again) {
			t.Fatalf("%s became %s", again, third)
		}
	})
}
