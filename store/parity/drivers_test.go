package parity_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/storetest"
)

var update = flag.Bool("update", false, "write docs/drivers.md")

const driversPage = "../../docs/drivers.md"

var driversBlock = regexp.MustCompile(`(?s)<!-- drivers (\w+) -->\n.*?<!-- /drivers -->`)

// column is a driver on the page.
type column struct {
	name, folder string
	durable      *store.Abilities // nil: it plays no durable part
	fast         *store.Abilities
}

// columns are the drivers with what their engines say that they can do.
func columns(f *fleet) []column {
	out := []column{{name: "memory", folder: "memstore"}, {name: "SQLite", folder: "sqlitestore"}, {name: "PostgreSQL", folder: "pgstore"}, {name: "Redis", folder: "redisstore"}}
	for _, r := range f.single {
		a := r.part.Abilities()
		for i := range out {
			switch r.name {
			case out[i].name + " (fast)":
				out[i].fast = &a
			case out[i].name:
				if a.Durable || a.MultiKey {
					out[i].durable = &a
				} else {
					out[i].fast = &a
				}
			}
		}
	}
	return out
}

// records is what the records of a driver can do at their best.
func (c *column) records() store.Abilities {
	if c.durable != nil {
		return *c.durable
	}
	return *c.fast
}

// TestDriversPage holds docs/drivers.md against the drivers and the suites. -update writes its
// tables.
func TestDriversPage(t *testing.T) {
	text, err := os.ReadFile(driversPage)
	if err != nil {
		t.Fatal(err)
	}
	drivers := columns(allEngines(t))
	blocks := map[string]string{"abilities": abilityTable(drivers), "promises": promiseTables(drivers)}
	page := driversBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		name := driversBlock.FindStringSubmatch(block)[1]
		table, ok := blocks[name]
		if !ok {
			t.Errorf("the page asks for %q", name)
		}
		delete(blocks, name)
		return "<!-- drivers " + name + " -->\n\n" + table + "\n<!-- /drivers -->"
	})
	if len(blocks) > 0 {
		t.Errorf("docs/drivers.md lacks %v", blocks)
	}
	if *update {
		if err := os.WriteFile(driversPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(text), page); diff != "" {
		t.Errorf("docs/drivers.md is stale: go test ./store/parity -run TestDriversPage -update\n%s", diff)
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "–"
}

func abilityTable(drivers []column) string {
	var b strings.Builder
	b.WriteString("| part | driver | several keys in a Tx | survives the loss of power | several processes | scans every range |\n|---|---|---|---|---|---|\n")
	for _, d := range drivers {
		for _, part := range []struct {
			name string
			a    *store.Abilities
		}{{"durable", d.durable}, {"fast", d.fast}} {
			if part.a != nil {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", part.name, d.name, yes(part.a.MultiKey), yes(part.a.Durable), yes(part.a.Shared), yes(part.a.Scan))
			}
		}
	}
	return b.String()
}

func promiseTables(drivers []column) string {
	var b strings.Builder
	last := ""
	for _, p := range storetest.Promises() {
		if p.Suite != last {
			last = p.Suite
			fmt.Fprintf(&b, "\n### %s\n\n| topic | promise |%s\n|---|---|%s\n", p.Suite, heads(drivers), strings.Repeat("---|", len(drivers)))
		}
		fmt.Fprintf(&b, "| %s | %s |", p.Topic, p.Text)
		for _, d := range drivers {
			fmt.Fprintf(&b, " %s |", yes(p.Suite != "Records" || p.Made(d.records())))
		}
		b.WriteString("\n")
	}
	return strings.TrimPrefix(b.String(), "\n")
}

func heads(drivers []column) (out string) {
	for _, d := range drivers {
		out += " " + d.name + " |"
	}
	return out
}

// What the page says is held by the drivers' own tests: each runs the three suites.
func TestEveryDriverRunsTheSuites(t *testing.T) {
	for _, folder := range []string{"memstore", "sqlitestore", "pgstore", "redisstore"} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var text []byte
		for _, f := range files {
			one, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, one...)
		}
		for _, suite := range []string{"Records", "Boards", "Bus"} {
			if !regexp.MustCompile(`storetest\.` + suite + `[()]`).Match(text) {
				t.Errorf("store/%s does not run storetest.%s", folder, suite)
			}
		}
	}
}

// Promises have names of their own, so that a line of the page is one subtest.
func TestPromisesHaveNamesOfTheirOwn(t *testing.T) {
	var names []string
	for _, p := range storetest.Promises() {
		names = append(names, p.Suite+"/"+p.Topic+"/"+p.Text)
		if p.Text == "" || strings.ContainsAny(p.Text, "|<\n") {
			t.Errorf("%q is no line of a table", p.Text)
		}
	}
	slices.Sort(names)
	if n := len(names); n < 100 || len(slices.Compact(names)) != n {
		t.Errorf("%d promises, some of them twice", n)
	}
}
