package direction_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/shoalworks/shoal"

// allowed says for each package of ours which packages of ours it may reach, directly or
// not. A package that is not listed fails the test: decide where it belongs.
var allowed = map[string][]string{
	"doc":                {},
	"clock":              {},
	"internal/name":      {},
	"internal/address":   {},
	"internal/storecopy": {"store", "clock", "doc", "internal/form"},
	"internal/pairing":   {"store", "clock", "internal/address"},
	"internal/direction": {},
	"internal/form":      {"doc"},
	"store":              {},
	"store/storetest":    {"store", "clock"},
	"store/memstore":     {"store", "clock", "store/internal/hub"},
	"store/faultstore":   {"store", "clock"},
	"store/overlay":      {"store", "clock"},
	"store/sqlitestore":  {"store", "clock", "store/internal/hub", "store/internal/standings"},
	"store/pgstore":      {"store", "clock", "store/internal/hub", "store/internal/standings"},
	"store/redisstore":   {"store", "clock", "store/internal/hub", "store/internal/standings"},

	"store/internal/hub":       {"store"},
	"store/internal/standings": {"store"},
	"store/parity":             {},

	// Real engines and fleets of processes, for tests.
	"internal/engines":            {"clock"},
	"internal/engines/cmd":        {"clock", "internal/engines", "internal/chaos", "internal/chaos/wrongclock", "proto"},
	"internal/engines/enginetest": {"clock", "internal/engines"},
	"internal/laws":               {},
	"internal/chaos":              {"clock", "internal/engines", "internal/chaos/wrongclock", "proto"},
	"internal/chaos/cmd":          {"clock", "internal/engines", "internal/chaos", "internal/chaos/wrongclock", "proto"},
	"internal/chaos/wrongclock":   {"clock"},
	"node":                        {"store", "clock", "internal/name"},
	"pipeline":                    {"doc"},
	"profile":                     parts,
	"shared":                      {"node", "store", "clock", "doc", "internal/name", "internal/form"},
	"internal/field":              {},
	"schema":                      {"doc", "internal/field"},
	"exchange":                    {"doc", "internal/form"},
	"codec":                       {"doc", "internal/field"},
	"board":                       {"node", "store", "clock", "doc", "internal/name"},
	"season":                      {"node", "store", "clock", "doc", "internal/name"},
	"":                            domain,
	"internal/demo":               append([]string{"", "store/faultstore", "examples/reef/fishing"}, domain...),
	"internal/drift":              {},
	"internal/mutants":            {"clock"},
	"sim":                         append([]string{"", "store/faultstore"}, domain...),
	"proto":                       {},
	"proto/shoal/v1":              {},
	"server":                      append([]string{"", "proto"}, domain...),
	"cmd/shoal":                   everything,

	"internal/mutants/cmd":  {"internal/mutants", "clock"},
	"examples/reef/fishing": {"season", "node", "store", "clock", "doc", "internal/name"},
}

// parts is what profiles are made of.
var parts = []string{
	"node", "store", "store/overlay", "clock", "doc", "internal/name", "internal/form", "internal/field",
	"pipeline", "schema", "codec", "exchange",
}

// domain is what the facade wires together.
var domain = []string{
	"doc", "schema", "codec", "exchange", "clock", "internal/name", "internal/form", "internal/field",
	"store", "store/memstore", "store/sqlitestore", "store/pgstore", "store/redisstore", "store/internal/hub", "store/internal/standings", "store/overlay", "internal/address", "internal/pairing",
	"node", "pipeline", "profile", "shared", "board", "season",
}

// everything marks the edge of the program, where wiring may reach all.
var everything = []string{"*"}

// why explains a broken rule.
const why = "dependencies point inwards (docs/architecture.md): put the code where it may know this, or declare a small interface"

type goPackage struct {
	ImportPath string
	Deps       []string
}

func TestDependenciesPointInwards(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		rule, known := ruleFor(name)
		if !known {
			t.Errorf("%s: a package without a rule; add it to the table in this test", p.ImportPath)
			continue
		}
		for _, dep := range p.Deps {
			if dep != module && !strings.HasPrefix(dep, module+"/") {
				continue
			}
			inner := strings.TrimPrefix(strings.TrimPrefix(dep, module), "/")
			if !permits(rule, inner) {
				t.Errorf("%s reaches %s: %s", p.ImportPath, dep, why)
			}
		}
	}
}

func TestDomainKnowsNoEngineAndNoTransport(t *testing.T) {
	banned := []string{"database/sql", "net/http", "modernc.org/sqlite", "connectrpc.com/connect/v2", "google.golang.org/protobuf"}
	for _, p := range list(t) {
		switch strings.TrimPrefix(p.ImportPath, module+"/") {
		case "doc", "exchange", "store", "node", "profile", "shared", "board", "season":
			for _, dep := range p.Deps {
				if slices.Contains(banned, dep) {
					t.Errorf("%s reaches %s: engines live in drivers, transports in server", p.ImportPath, dep)
				}
			}
		}
	}
}

// ruleFor finds the rule of a package; a folder below one that is listed with "proto" shares
// its rule, since the generator decides how it nests.
func ruleFor(name string) ([]string, bool) {
	if rule, ok := allowed[name]; ok {
		return rule, true
	}
	if strings.HasPrefix(name, "proto/") {
		return []string{"proto"}, true
	}
	if strings.HasPrefix(name, "examples/") {
		return everything, true
	}
	return nil, false
}

func permits(rule []string, inner string) bool {
	return slices.Contains(rule, "*") || slices.Contains(rule, inner) ||
		strings.HasPrefix(inner, "proto/") && slices.Contains(rule, "proto")
}

func list(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps=false", "-json=ImportPath,Deps", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		t.Fatal("go list found no package of ours")
	}
	return packages
}
