package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Ending is how the name of a mutant's file ends.
const Ending = ".mutant"

// Mutant is one rule weakened on purpose.
type Mutant struct {
	Name    string   // of its file, without folder and ending
	Rule    string   // which rule is weakened
	Why     string   // what goes wrong then, one paragraph or more
	Checks  []Check  // each must catch it; at least one
	Changes []Change // in the order in which they are made; at least one
	Hangs   bool     // a test that does not end in time counts as failed
}

// Check is what must catch a mutant: a run of tests.
type Check struct {
	Env     string // NAME=value pairs, separated by spaces; may be empty
	Package string // ./profile
	Pattern string // what -run takes
}

// String is the check as it stands in the file.
func (c Check) String() string {
	return strings.TrimSpace(c.Env + " " + c.Package + " " + c.Pattern)
}

// Change replaces lines of a file.
type Change struct {
	File     string // from the root of the tree, with slashes
	Line     int    // of the mutant's file, where the change begins
	Old, New []string
}

// Load reads all mutants of a folder, in the order of their names.
func Load(folder string) ([]Mutant, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*"+Ending))
	if err != nil {
		return nil, fmt.Errorf("mutants: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("mutants: no *%s in %s", Ending, folder)
	}
	var out []Mutant
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("mutants: %w", err)
		}
		m, err := Parse(path, string(text))
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// Apply makes the change in the text of a file. The old lines must be there exactly once.
func (c Change) Apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	at, places := 0, 0
	for i := range lines {
		if begins(lines[i:], c.Old) {
			at = i
			places++
		}
	}
	switch {
	case places == 0:
		return "", fmt.Errorf("%s has no such lines as those after line %d: %q…", c.File, c.Line, c.Old[0])
	case places > 1:
		return "", fmt.Errorf("%s has the lines after line %d in %d places: %q…", c.File, c.Line, places, c.Old[0])
	}
	changed := append(append([]string(nil), lines[:at]...), c.New...)
	return strings.Join(append(changed, lines[at+len(c.Old):]...), "\n"), nil
}

func begins(lines, with []string) bool {
	if len(lines) < len(with) {
		return false
	}
	for i := range with {
		if lines[i] != with[i] {
			return false
		}
	}
	return true
}

// Changed are the files that the mutant changes, as they become, by their names from root.
func (m Mutant) Changed(root string) (map[string]string, error) {
	out := make(map[string]string)
	for _, c := range m.Changes {
		text, ok := out[c.File]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(c.File)))
			if err != nil {
				return nil, err
			}
			text = string(b)
		}
		var err error
		if out[c.File], err = c.Apply(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}
