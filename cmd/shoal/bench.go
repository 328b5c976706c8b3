package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal/internal/address"
)

// benchCommands measure.
type benchCommands struct {
	Boards  benchBoardsCommand  `cmd:"" help:"Measure boards of a thousand entries, ten thousand, and so on."`
	Seasons benchSeasonsCommand `cmd:"" help:"Measure events, a boundary and the close of a season."`
	Engines benchEnginesCommand `cmd:"" help:"Measure PostgreSQL and Redis beside their drivers, and fleets on them."`
}

// benchBoardsCommand measures growth curves of boards on a store.
type benchBoardsCommand struct {
	Store string        `placeholder:"ADDRESS" help:"Where: a missing or empty folder, which is kept, or memory:. Default: a temporary SQLite folder."`
	Max   int           `default:"1000000" help:"The largest board, at least 1000 entries."`
	For   time.Duration `default:"3s" help:"How long each thing is measured at most."`
	Out   string        `type:"path" placeholder:"FILE" help:"Write the part on boards of the page there, and leave the others. Default: standard output."`
}

// Help is shown by --help.
func (*benchBoardsCommand) Help() string {
	return `Fills a board with 1,000 entries, then 10,000, and so on up to --max, and measures at each size: how fast it
fills; how fast a window of 10,000 entries is written, with the same rows in a plain SQLite table beside it; exact
ranks at the top, in the middle and at the end, at rest, under 2,000 writes a second and with shared ranks; the first
rank after the store was opened again; pages, neighbours and walks; the size of the file. Then scores handed in and
cached pages, which need no store. Prints a part of a page of Markdown; progress goes to standard error.

  shoal bench boards --max 100000
  shoal bench boards --max 10000000 --out docs/performance.md    needs 4 GB of disk, and some minutes

Exit codes: 0 done; 1 failed; 2 wrong flags; 4 no store.`
}

// smallest is the least size of a board, and the first one that is measured.
const smallest = 1000

// memoryStore is the address of a store in the memory of this process.
const memoryStore = "memory:"

// Run measures and prints.
func (c *benchBoardsCommand) Run(ctx context.Context, o *output) error {
	if c.Max < smallest {
		return &exitError{exitUsage, fmt.Errorf("--max: at least %d expected, got %d", smallest, c.Max)}
	}
	if c.For <= 0 {
		return &exitError{exitUsage, fmt.Errorf("--for: a span above 0 expected, got %v", c.For)}
	}
	folder, clean, err := benchFolder(c.Store)
	if err != nil {
		return err
	}
	defer clean()
	b := newBoardBench(folder, c.For, func(format string, args ...any) { fmt.Fprintf(o.err, format+"\n", args...) })
	result, err := b.run(ctx, sizesUpTo(c.Max))
	if err != nil {
		return err
	}
	page := performancePage(c.words(), thisMachine(result.engine), result)
	if c.Out == "" {
		_, err = io.WriteString(o.out, page)
		return err
	}
	return writePart(c.Out, page)
}

// benchFolder is where the store at an address is put, "" for memory, and what removes it.
func benchFolder(where string) (folder string, clean func(), err error) {
	switch where {
	case memoryStore:
		return "", func() {}, nil
	case "":
		temporary, err := os.MkdirTemp("", "shoal-bench-")
		if err != nil {
			return "", nil, &exitError{exitUnserved, err}
		}
		return temporary, func() { _ = os.RemoveAll(temporary) }, nil
	}
	if kind, err := address.KindOf(where); err != nil || kind != address.Folder {
		return "", nil, usage("--store %s: a folder, or memory:, expected: a plain SQLite file is measured beside it", address.Redacted(where))
	}
	if err := checkEmpty(where); err != nil {
		return "", nil, &exitError{exitUsage, err}
	}
	if err := os.MkdirAll(where, 0o755); err != nil {
		return "", nil, &exitError{exitUnserved, err}
	}
	return where, func() {}, nil
}

// words is the command without what is a matter of this machine.
func (c *benchBoardsCommand) words() string {
	return strings.Join(append([]string{"shoal bench boards", fmt.Sprintf("--max %d", c.Max)}, commonWords(c.For, c.Store)...), " ")
}

// commonWords are the flags that each bench has, without what is a matter of this machine.
func commonWords(span time.Duration, address string) (out []string) {
	if span != 3*time.Second {
		out = append(out, fmt.Sprintf("--for %v", span))
	}
	switch address {
	case "":
	case memoryStore:
		out = append(out, "--store memory:")
	default:
		out = append(out, "--store FOLDER")
	}
	return out
}

// sizesUpTo are the powers of ten up to the largest size, and it.
func sizesUpTo(largest int) (sizes []int) {
	for n := smallest; n < largest; n *= 10 {
		sizes = append(sizes, n)
	}
	return append(sizes, largest)
}

// writeWhole replaces a file by a page, or leaves it as it was.
func writeWhole(file, page string) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".shoal-bench-")
	if err != nil {
		return &exitError{exitUnserved, err}
	}
	_, err = f.WriteString(page)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return &exitError{exitUnserved, errors.Join(err, os.Remove(f.Name()))}
	}
	return nil
}

// count is a number for people.
func count(n int) string { return humanize.Comma(int64(n)) }
