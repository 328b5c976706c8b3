package server_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/knadh/koanf/parsers/yaml"

	"github.com/shoalworks/shoal/server"
)

const metricsPage = "../docs/metrics.md"

var (
	metricsBlock = regexp.MustCompile(`(?s)<!-- metrics (\w+) -->\n.*?<!-- /metrics -->`)
	metricName   = regexp.MustCompile(`\bshoal_[a-z_]+`)
	yamlBlock    = regexp.MustCompile("(?s)```yaml\n(.*?)```")
)

// TestMetricsPage holds docs/metrics.md against the server: its tables are the server's
// metrics, each in one of them, and every name that the page uses is one. -update writes the
// tables.
func TestMetricsPage(t *testing.T) {
	d := startDaemon(t, setup{wire: limited})
	text, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]int) // metrics, and in how many tables
	for _, f := range d.server.Families() {
		if known[f.Name] = 0; !strings.HasSuffix(f.Help, ".") || strings.ContainsAny(f.Help, "|<\n") {
			t.Errorf("%s: the help is no sentence of a table: %s", f.Name, f.Help)
		}
	}
	page := metricsBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		prefix := metricsBlock.FindStringSubmatch(block)[1]
		var table strings.Builder
		for _, f := range d.server.Families() {
			if strings.HasPrefix(f.Name, prefix) {
				known[f.Name]++
				table.WriteString(metricsRow(f))
			}
		}
		return "<!-- metrics " + prefix + " -->\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n" + table.String() + "\n<!-- /metrics -->"
	})
	for name, tables := range known {
		if tables != 1 {
			t.Errorf("%s is in %d tables of docs/metrics.md", name, tables)
		}
	}
	for _, used := range metricName.FindAllString(metricsBlock.ReplaceAllString(page, ""), -1) {
		if _, ok := known[used]; !ok {
			t.Errorf("docs/metrics.md speaks of %s, which there is not", used)
		}
	}
	if *update {
		if err := os.WriteFile(metricsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(text), page); diff != "" {
		t.Errorf("docs/metrics.md is not the server's: run go test ./server -run TestMetricsPage -update\n%s", diff)
	}

	// And the other way round: what the page at /metrics has is in the catalog, and all of it.
	shown := make(map[string]bool)
	for key := range d.scrape() {
		if name, _, _ := strings.Cut(key, "{"); strings.HasPrefix(name, "shoal_") {
			shown[name] = true
			if _, ok := known[name]; !ok {
				t.Errorf("%s is at /metrics and not in docs/metrics.md", name)
			}
		}
	}
	for name := range known {
		if !shown[name] {
			t.Errorf("%s is in docs/metrics.md and not at /metrics", name)
		}
	}
}

func metricsRow(f server.Family) string {
	labels := "–"
	if len(f.Labels) > 0 {
		labels = "`" + strings.Join(f.Labels, "`, `") + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", f.Name, f.Kind, labels, f.Help)
}

// The examples of the page are YAML; every alert has a name and an expression.
func TestMetricsPageExamples(t *testing.T) {
	text, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
		out, err := yaml.Parser().Unmarshal([]byte(block[1]))
		if err != nil {
			t.Errorf("%v\n%s", err, block[1])
			continue
		}
		groups, _ := out["groups"].([]any)
		for _, g := range groups {
			rules, _ := g.(map[string]any)["rules"].([]any)
			for _, r := range rules {
				rule, _ := r.(map[string]any)
				name, _ := rule["alert"].(string)
				if expr, _ := rule["expr"].(string); name == "" || !metricName.MatchString(expr) {
					t.Errorf("not an alert: %v", rule)
				}
				alerts++
			}
		}
	}
	if alerts < 3 {
		t.Errorf("%d alerts", alerts)
	}
}
