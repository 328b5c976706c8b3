package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	main "github.com/shoalworks/shoal/cmd/shoal"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shoal.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagsWinOverEnvironmentOverFile(t *testing.T) {
	path := file(t, "store: file\nlisten: file:1\nname: file\n")
	env := []string{"SHOAL_STORE=env", "SHOAL_LISTEN=env:1", "PATH=/bin"}
	st, listen, opts, err := main.Options(path, env, map[string]any{"store": "flag"})
	if err != nil || st != "flag" || listen != "env:1" || opts.Node.Name != "file" {
		t.Fatalf("%q %q %+v %v", st, listen, opts, err)
	}
}

func TestKeysComeFromFileAndEnvironment(t *testing.T) {
	path := file(t, "apiKey: of-the-file\nmetricsKey: also-of-the-file\n")
	for _, c := range []struct {
		env          []string
		api, metrics string
	}{
		{nil, "of-the-file", "also-of-the-file"},
		{[]string{"SHOAL_METRICS_KEY=of-the-environment"}, "of-the-file", "of-the-environment"},
		{[]string{"SHOAL_API_KEY=of-the-environment"}, "of-the-environment", "also-of-the-file"},
	} {
		if api, metrics, err := main.Keys(path, c.env); err != nil || api != c.api || metrics != c.metrics {
			t.Errorf("%v: %q %q %v", c.env, api, metrics, err)
		}
	}
}

func TestDefaultsAreAGameToBeginWith(t *testing.T) {
	st, listen, opts, err := main.Options("", nil, nil)
	if err != nil || st != "./game" || listen != "127.0.0.1:7077" {
		t.Fatalf("%q %q %v", st, listen, err)
	}
	if len(opts.Sets) != 1 || len(opts.Boards) != 2 || opts.Seasons["reef"].Set != "players" {
		t.Fatalf("%+v", opts)
	}
}

func TestDocumentedConfigurationIsRead(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/configuration.md has %d pieces of YAML", len(blocks))
	}
	_, _, opts, err := main.Options(file(t, string(blocks[0][1])+string(blocks[1][1])), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	players := opts.Sets["players"]
	if players.Policy != profile.Steal || players.Autosave != time.Minute || string(players.Template.Encode()) != `{"coins":0,"inventory":[]}` {
		t.Errorf("set: %+v", players)
	}
	if b := opts.Boards["BestTime"]; b.Order != store.Ascending || b.Decimals != 3 {
		t.Errorf("board: %+v", b)
	}
	if b := opts.Boards["Donated"]; b.Rule != store.Sum || b.Min == nil || *b.Min != 0 || b.Max == nil || *b.Max != 50 {
		t.Errorf("board: %+v", b)
	}
	if l := opts.Node.Limits; l.Node.Write != (node.Rate{Base: 60, PerPlayer: 10}) || l.Fleet.Write.Base != 6000 || l.Reserve != 10 || l.BackgroundWait != 150*time.Second {
		t.Errorf("limits: %+v", l)
	}
	if r := opts.Seasons["reef"].Rules; r.Length != 1080*time.Hour || len(r.Stats) != 5 || r.Validate() != nil {
		t.Errorf("season: %+v %v", r, r.Validate())
	}
}

func TestBigIntegersOfATemplateAreExact(t *testing.T) {
	_, _, opts, err := main.Options(file(t, "sets: {players: {template: {n: 9007199254740993}}}\n"), nil, nil)
	if err != nil || string(opts.Sets["players"].Template.Encode()) != `{"n":9007199254740993}` {
		t.Fatalf("%+v %v", opts, err)
	}
}

// A daemon has no migrations of its own: it takes older data as it is, where it is told to.
func TestOldestSchema(t *testing.T) {
	for text, oldest := range map[string]int{"schema: 3": 3, "schema: 3, oldestSchema: 3": 3, "schema: 3, oldestSchema: 1": 1, "oldestSchema: 1": 1} {
		_, _, opts, err := main.Options(file(t, "sets: {players: {template: {gems: 5}, "+text+"}}\n"), nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for from := 1; from <= 3; from++ {
			got, err := profile.Migrate(doc.Must(map[string]any{"coins": 7}), from, opts.Sets["players"])
			if fine := from >= oldest && from <= max(1, opts.Sets["players"].Schema); fine != (err == nil) || fine && got.String() != `{"coins":7,"gems":5}` {
				t.Errorf("%s: data of %d: %v %v", text, from, got, err)
			}
		}
	}
	for _, text := range []string{"schema: 2, oldestSchema: 3", "oldestSchema: -1", "schema: 2000, oldestSchema: 1"} {
		if _, _, _, err := main.Options(file(t, "sets: {players: {"+text+"}}\n"), nil, nil); err == nil || !strings.Contains(err.Error(), "sets.players.oldestSchema") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestShortenedSeasonsAreValid(t *testing.T) {
	for _, length := range []time.Duration{time.Second, 20 * time.Second, time.Minute, time.Hour, 45 * 24 * time.Hour} {
		c := main.Shortened(season.Reef(), length)
		if err := c.Validate(); err != nil || c.Length != length {
			t.Errorf("%v: %v", length, err)
		}
		if c.Grace > 300*time.Second || c.FlushEvery > 30*time.Second {
			t.Errorf("%v: longer than by default: %+v", length, c)
		}
	}
}
