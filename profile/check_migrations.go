package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/shoalworks/shoal/doc"
)

// CheckMigrations tries the migrations of o on fixtures, for a game's own tests: data as older
// releases wrote it, each a JSON file <name>.json in a folder v1, v2, … for the version of its
// form. Each is brought up as a load does it, and must come out valid, the same each time, and
// equal to <name>.want.json beside it, if there is one. What comes out is brought down to each
// older version that Downs lead to, and up again, and must be the same. Each version that a
// migration starts from needs a fixture. All problems are returned, joined, each with its file
// and the path of the difference.
func CheckMigrations(o *Options, fixtures fs.FS) error {
	s, err := bench(o)
	if err != nil {
		return err
	}
	c := checking{set: s, fixtures: fixtures, seen: make(map[int]bool)}
	if err := fs.WalkDir(fixtures, ".", c.visit); err != nil {
		c.wrong(".", "%w", err)
	}
	for v := s.opts.ladder().bottom(); v < s.opts.Schema; v++ {
		if !c.seen[v] {
			c.wrong(fmt.Sprintf("v%d", v), "no fixture of this version")
		}
	}
	return errors.Join(c.problems...)
}

// checking is one run of CheckMigrations.
type checking struct {
	set      *Set
	fixtures fs.FS
	seen     map[int]bool // versions with a fixture
	problems []error
}

const (
	wantSuffix = ".want.json"
	maxExcerpt = 200 // bytes of each value in a problem
)

func (c *checking) wrong(file, format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("%s: %w", file, fmt.Errorf(format, args...)))
}

// visit sorts what lies in the folders.
func (c *checking) visit(file string, d fs.DirEntry, err error) error {
	if err != nil || d.IsDir() || !strings.HasSuffix(file, ".json") {
		return err
	}
	digits, _ := strings.CutPrefix(path.Dir(file), "v")
	version, err := strconv.Atoi(digits)
	switch {
	case err != nil || version < 1 || path.Dir(file) != fmt.Sprintf("v%d", version):
		c.wrong(file, "a file in v1, v2, … expected")
	case strings.HasSuffix(file, wantSuffix):
		if _, err := fs.Stat(c.fixtures, strings.TrimSuffix(file, wantSuffix)+".json"); err != nil {
			c.wrong(file, "no fixture beside it: %w", err)
		}
	default:
		c.seen[version] = true
		c.fixture(file, version)
	}
	return nil
}

// fixture tries one.
func (c *checking) fixture(file string, version int) {
	data, ok := c.read(file)
	if !ok {
		return
	}
	live, err := c.set.brought(data, version)
	if err != nil {
		c.wrong(file, "%w", err)
		return
	}
	again, err := c.set.brought(data, version)
	if err != nil {
		c.wrong(file, "another time: %w", err)
		return
	}
	c.compare(file, "another time", live, again)
	wanted := strings.TrimSuffix(file, ".json") + wantSuffix
	if _, err := fs.Stat(c.fixtures, wanted); err == nil {
		if want, ok := c.read(wanted); ok {
			c.compare(wanted, "it became", want, live)
		}
	}
	c.downAndUp(file, live)
}

// downAndUp tries the way to each older version there is a way to.
func (c *checking) downAndUp(file string, live doc.Value) {
	o := &c.set.opts
	for v := o.Schema - 1; v >= 1 && o.ladder().lacksDown(v) == 0; v-- {
		if _, err := o.loweredTo(live, v, c.set.pipes.write.Derive); err != nil {
			c.wrong(file, "%w", err)
		}
	}
}

// compare reports each place that differs.
func (c *checking) compare(file, what string, want, got doc.Value) {
	var last string
	for _, e := range doc.Diff(want, got) {
		if p := e.Path.String(); p != last || p == "" { // a list has an edit for each run that differs
			c.wrong(file, "%q: %s expected, %s %s", p, excerpt(want, e.Path), what, excerpt(got, e.Path))
			last = p
		}
	}
}

// excerpt is the beginning of what is at a path.
func excerpt(v doc.Value, at doc.Path) string {
	found, ok := v.Get(at)
	if !ok {
		return "nothing"
	}
	text := found.String()
	if len(text) > maxExcerpt {
		return strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
	}
	return text
}

func (c *checking) read(file string) (doc.Value, bool) {
	text, err := fs.ReadFile(c.fixtures, file)
	if err != nil {
		c.wrong(file, "%w", err)
		return doc.Value{}, false
	}
	v, err := doc.Parse(text, nil)
	if err != nil {
		c.wrong(file, "%w", err)
		return doc.Value{}, false
	}
	return v, true
}
