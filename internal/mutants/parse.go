package mutants

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	oldMark = "--- "
	newMark = "+++"
)

// Parse reads one mutant from the text of its file. An error names the file and the line.
func Parse(file, text string) (Mutant, error) {
	p := &parser{file: file, lines: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	p.m.Name = strings.TrimSuffix(filepath.Base(file), Ending)
	for _, part := range [...]func() error{p.header, p.words, p.changes} {
		if err := part(); err != nil {
			return Mutant{}, err
		}
	}
	return p.m, nil
}

// parser walks through the lines of one file.
type parser struct {
	file  string
	lines []string
	next  int // index of the line that comes next
	m     Mutant
}

func (p *parser) more() bool { return p.next < len(p.lines) }

func (p *parser) take() string {
	p.next++
	return p.lines[p.next-1]
}

// errorf is an error about the line that was taken last.
func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.file, max(p.next, 1), fmt.Sprintf(format, args...))
}

// header reads the "key: value" lines up to the first blank one.
func (p *parser) header() error {
	for p.more() {
		line := p.take()
		if line == "" {
			break
		}
		key, value, ok := strings.Cut(line, ": ")
		if value = strings.TrimSpace(value); !ok || value == "" {
			return p.errorf("a header line is \"key: value\", got %q", line)
		}
		if err := p.entry(key, value); err != nil {
			return err
		}
	}
	switch {
	case p.m.Rule == "":
		return p.errorf("the header has no \"rule: \"")
	case len(p.m.Checks) == 0:
		return p.errorf("the header has no \"caught by: \"")
	}
	return nil
}

func (p *parser) entry(key, value string) error {
	switch key {
	case "rule":
		if p.m.Rule != "" {
			return p.errorf("rule is there twice")
		}
		p.m.Rule = value
	case "hangs":
		if value != "yes" || p.m.Hangs {
			return p.errorf("hangs is \"yes\", once, or not there; got %q", value)
		}
		p.m.Hangs = true
	case "caught by":
		c, err := p.check(value)
		if err != nil {
			return err
		}
		if slices.Contains(p.m.Checks, c) {
			return p.errorf("%q is there twice", value)
		}
		p.m.Checks = append(p.m.Checks, c)
	default:
		return p.errorf("%q is no key; rule, caught by and hangs are", key)
	}
	return nil
}

var assignment = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*=`)

func (p *parser) check(value string) (Check, error) {
	var c Check
	words := strings.Fields(value)
	for len(words) > 0 && assignment.MatchString(words[0]) {
		c.Env = strings.TrimSpace(c.Env + " " + words[0])
		words = words[1:]
	}
	if len(words) != 2 || !strings.HasPrefix(words[0], "./") || !strings.HasPrefix(words[1], "Test") {
		return c, p.errorf("a check is \"[NAME=value] ./package TestPattern\", got %q", value)
	}
	c.Package, c.Pattern = words[0], words[1]
	if _, err := regexp.Compile(c.Pattern); err != nil {
		return c, p.errorf("%v", err)
	}
	return c, nil
}

// words reads what goes wrong, up to the first change.
func (p *parser) words() error {
	from := p.next
	for p.more() && !strings.HasPrefix(p.lines[p.next], oldMark) {
		p.next++
	}
	p.m.Why = strings.TrimSpace(strings.Join(p.lines[from:p.next], "\n"))
	switch {
	case p.m.Why == "":
		return p.errorf("nothing says what goes wrong")
	case !p.more():
		return p.errorf("no change: \"--- file\" expected")
	}
	return nil
}

// changes reads "--- file", old lines, "+++", new lines, again and again.
func (p *parser) changes() error {
	for p.more() {
		c := Change{File: strings.TrimPrefix(p.take(), oldMark), Line: p.next}
		if err := p.mayChange(c.File); err != nil {
			return err
		}
		c.Old = p.block(func(line string) bool { return line == newMark || strings.HasPrefix(line, oldMark) })
		switch {
		case !p.more() || p.lines[p.next] != newMark:
			return p.errorf("no %q follows the old lines", newMark)
		case len(c.Old) == 0:
			return p.errorf("no old lines: an insertion repeats the lines beside it")
		}
		p.next++
		c.New = p.block(func(line string) bool { return line == newMark || strings.HasPrefix(line, oldMark) })
		switch {
		case p.more() && p.lines[p.next] == newMark:
			p.next++
			return p.errorf("a second %q, without a \"--- file\" before it", newMark)
		case slices.Equal(c.Old, c.New):
			return p.errorf("the new lines are the old ones")
		}
		p.m.Changes = append(p.m.Changes, c)
	}
	return nil
}

func (p *parser) mayChange(file string) error {
	switch {
	case file != path.Clean(file), path.IsAbs(file), strings.HasPrefix(file, "../"), !strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, ".lua"):
		return p.errorf("a Go or Lua file, named from the root of the tree, is expected, got %q", file)
	case strings.HasSuffix(file, "_test.go"):
		return p.errorf("a mutant changes the product, never a test: %s", file)
	}
	return nil
}

// block takes the lines up to the first that ends it, without blank lines at either end.
func (p *parser) block(ends func(string) bool) []string {
	from := p.next
	for p.more() && !ends(p.lines[p.next]) {
		p.next++
	}
	lines := p.lines[from:p.next]
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
