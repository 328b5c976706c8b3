package main_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	main "github.com/shoalworks/shoal/cmd/shoal"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// yamlOf are the pieces of YAML of a page.
func yamlOf(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1) {
		out = append(out, string(m[1]))
	}
	return out
}

// What the page says of a season is read as it says, and its times are the defaults.
func TestSeasonOfTheDocumentedConfiguration(t *testing.T) {
	text := yamlOf(t, "configuration.md")[0]
	_, _, opts, err := main.Options(file(t, text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := season.Config{
		Calendar: season.Calendar{Epoch: time.Date(2026, 8, 11, 0, 0, 0, 0, time.UTC), Length: 1080 * time.Hour, PerCycle: 20},
		Stats: []season.Stat{
			{Name: "fish", Kind: season.Sum, On: []string{"catch"}, Each: 1},
			{Name: "coins", Kind: season.Sum, On: []string{"coins"}},
			{Name: "streak", Kind: season.Run, On: []string{"catch"}, ResetOn: []string{"lose"}},
			{Name: "bestStreak", Kind: season.BestOfRun, Of: "streak"},
			{Name: "quickest", Kind: season.Min, On: []string{"race"}},
		},
		Boards: []season.Board{
			{Name: "Fish", Stat: "fish", Title: "SEA KING"},
			{Name: "Coins", Stat: "coins"},
			{Name: "Quickest", Stat: "quickest", Order: store.Ascending},
			{Name: "Streak", Stat: "bestStreak", Title: "RELENTLESS KING", Rewards: []season.Reward{
				{To: 1, Ops: []doc.Op{doc.Increment("/coins", 1000)}}, {To: 10, Ops: []doc.Op{doc.Increment("/coins", 100)}},
			}},
		},
		Name: "/name", Path: "/seasons/reef", Top: 50, Keep: 100,
		Grace: 300 * time.Second, FlushEvery: 30 * time.Second, CacheFor: 30 * time.Second, FirstClose: 60 * time.Second, CloseEvery: 300 * time.Second,
	}
	got := opts.Seasons["reef"].Rules
	if a, b := encoded(t, want), encoded(t, got); a != b {
		t.Error(cmp.Diff(a, b))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(encoded(t, want)), &members); err != nil {
		t.Fatal(err)
	}
	for member := range members {
		if !strings.Contains(text, member+":") {
			t.Errorf("%s is not documented", member)
		}
	}
}

// The guide's configuration is one that a daemon takes.
func TestSeasonOfTheGuide(t *testing.T) {
	for _, text := range yamlOf(t, "seasons.md") {
		_, _, opts, err := main.Options(file(t, text), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		rules := opts.Seasons["reef"].Rules
		if err := rules.Validate(); err != nil || len(rules.Boards) != 3 || len(rules.Boards[2].Rewards) != 2 || rules.Name != "/name" {
			t.Errorf("%+v %v", rules, err)
		}
	}
}

func encoded(t *testing.T, c season.Config) string {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
