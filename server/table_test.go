package server_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store"
)

// unreachable are the domain's errors that no call of the daemon can get.
var unreachable = []string{
	"doc.ErrUnsupported",     // Go values only
	"store.ErrConflict",      // the pillars resolve it
	"profile.ErrMigration",   // listed for the day when sets have migrations
	"profile.ErrFull",        // Players, which is for games in Go
	"profile.ErrOtherSet",    // exports
	"profile.ErrMailRefused", // what a handler of mail answers, never a call
	"profile.ErrWatchClosed", // only the daemon closes its watches
	"board.ErrDefined",       // Define
	"board.ErrBusy",          // Forget
	"board.ErrDeadline",      // Close
	"board.ErrNoProgress",    // Close
	"board.ErrPending",       // Close
	"season.ErrConfig",       // New
	"season.ErrFull",         // of a window
	"season.ErrWatchClosed",  // only the daemon closes its watches
}

// The table is closed: every exported error of the domain is in it, or is known to be out of
// a caller's reach.
func TestTheTableOfErrorsIsClosed(t *testing.T) {
	listed := selectors(t, "errors.go")
	for _, pkg := range []string{"doc", "store", "profile", "board", "season"} {
		for _, name := range exportedErrors(t, filepath.Join("..", pkg)) {
			full := pkg + "." + name
			if !slices.Contains(listed, full) && !slices.Contains(unreachable, full) {
				t.Errorf("%s has no reason: put it into classes() in errors.go", full)
			}
		}
	}
}

// exportedErrors are the variables Err... that a package declares.
func exportedErrors(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", dir, files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			vars, ok := decl.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			for _, spec := range vars.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if strings.HasPrefix(name.Name, "Err") {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// selectors are all pkg.Name of a file.
func selectors(t *testing.T, file string) []string {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(tree, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok {
				out = append(out, pkg.Name+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return out
}

// Every reason has one row, an answer outside 2xx, a known outcome and an advice.
func TestEveryReasonHasItsRuling(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range server.Rulings() {
		if seen[r.Reason] {
			t.Errorf("%s comes twice", r.Reason)
		}
		seen[r.Reason] = true
		if r.Status < 400 || r.Advice == "" || r.Outcome != "not_done" && r.Outcome != "unknown" {
			t.Errorf("%+v", r)
		}
	}
	source, err := os.ReadFile("reasons.go")
	if err != nil {
		t.Fatal(err)
	}
	if declared := strings.Count(string(source), ` reason = "`); declared != len(seen) {
		t.Errorf("%d reasons are declared, %d have a row", declared, len(seen))
	}
}

func TestErrorsKeepTheirReasonThroughWrapping(t *testing.T) {
	for _, c := range []struct {
		err    error
		reason string
	}{
		{fmt.Errorf("profile: save u: %w", store.ErrUnknown), "outcome_unknown"},
		{fmt.Errorf("load: %w", errors.Join(profile.ErrTimeout, store.ErrUnavailable)), "load_timeout"},
		{fmt.Errorf("profile: send: %w: %w", store.ErrUnknown, profile.ErrBoxFull), "outcome_unknown"},
		{fmt.Errorf("profile: edit: %w: %w", store.ErrUnknown, &profile.PartyError{Err: profile.ErrBusy}), "outcome_unknown"},
		{fmt.Errorf("profile: trade: %w", &profile.PartyError{Err: profile.ErrBusy}), "busy"},
		{&profile.EditRefusedError{Reason: "no"}, "edit_refused"},
		{&profile.ConflictError{Commit: "1-1"}, "changed_since"},
		{&profile.EndedError{Key: "u", Reason: profile.Lost}, "lost"},
		{&profile.EndedError{Key: "u", Reason: profile.Released}, "not_open"},
		{&profile.SizeError{Path: doc.P("a")}, "data_too_large"},
		{fmt.Errorf("x: %w", &doc.OpError{Err: doc.ErrMismatch}), "mismatch"},
		{fmt.Errorf("x: %w", &board.RefusedError{Field: "key", Reason: board.ErrFull}), "queue_full"},
		{fmt.Errorf("x: %w", &board.RefusedError{Field: "board", Reason: store.ErrSealed}), "sealed"},
		{season.ErrMemory, "rebuilding"},
		{errors.New("anything"), "internal"},
	} {
		if got := server.Reason(c.err); got != c.reason {
			t.Errorf("%v: %s, want %s", c.err, got, c.reason)
		}
	}
	// A load has taken nothing, whatever its last answer was.
	for err, reason := range map[error]string{
		fmt.Errorf("load: %w", errors.Join(profile.ErrTimeout, store.ErrUnknown)): "load_timeout",
		fmt.Errorf("load: %w", store.ErrClosed):                                   "closing",
	} {
		if got := server.LoadReason(err); got != reason {
			t.Errorf("%v: %s, want %s", err, got, reason)
		}
	}
}
