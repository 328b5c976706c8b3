package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	main "github.com/shoalworks/shoal/internal/mutants/cmd"
)

// files are two modules of mutants: one that is caught, and one that is not.
var files = map[string]string{
	"go.mod":   "module example.test/game\n\ngo 1.26\n",
	"rules.go": "package game\n\nfunc two() int {\n\treturn 2\n}\n",
	"rules_test.go": "package game\n\nimport \"testing\"\n\n" +
		"func TestTwo(t *testing.T) {\n\tif two() != 2 {\n\t\tt.Error(\"not two\")\n\t}\n}\n\nfunc TestOne(t *testing.T) {}\n",
	"mutants/seen.mutant":   "rule: R1\ncaught by: ./. TestTwo$\n\nw\n--- rules.go\n\treturn 2\n+++\n\treturn 3\n",
	"mutants/unseen.mutant": "rule: R2\ncaught by: ./. TestOne$\n\nw\n--- rules.go\n\treturn 2\n+++\n\treturn 3\n",
}

func TestCommand(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "mutants"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(root, "mutants")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"-list", 0, "seen\n    rule: R1\n    caught by: ./. TestTwo$\nunseen\n"},
		{"-only s*", 0, "1 mutants: 1 caught, 0 survived, 0 broken"},
		{"", 1, "survived: unseen (R2)"},
		{"-only none*", 2, "none of 2 has such a name"},
		{"-only [", 2, "syntax error"},
		{"-bad", 2, "not defined"},
		{"more", 2, "is no flag"},
		{"-help", 0, "the proof is blind here"},
	} {
		var out bytes.Buffer
		args := append([]string{"-folder", folder, "-root", root}, strings.Fields(c.args)...)
		if code := main.Run(args, &out, &out); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%q: exit code %d, want %d and %q in\n%s", c.args, code, c.code, c.says, out.String())
		}
	}
}
