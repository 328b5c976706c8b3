package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shoalworks/shoal/profile"
)

// Formats of exports.
const (
	formatShoal  = "shoal"
	formatRoblox = "roblox"
)

// exportCommand writes the profiles of a set to a file.
type exportCommand struct {
	File   string `arg:"" type:"path" help:"The file; - is standard output."`
	Prefix string `placeholder:"TEXT" help:"Only profiles whose keys begin so."`
	Format string `enum:"shoal,roblox" default:"shoal" help:"shoal: everything, for shoal profile import. roblox: records of ProfileStore and KeepBlox, one {\"key\":…,\"value\":…} a line."`
	Resume bool   `help:"Go on with an export that was broken off (shoal only)."`
	Force  bool   `help:"Overwrite the file."`
	setFlags
}

// Help is shown by --help.
func (*exportCommand) Help() string {
	return `Writes every profile as it is stored, one JSON line each, while the game goes on: what a server has in memory and has
not saved yet is not in it. The last line has a count and a digest, so that a truncated file is noticed.

  shoal profile export players.jsonl
  shoal profile export - | zstd > players.jsonl.zst

` + exitCodes
}

// Run writes the file.
func (c *exportCommand) Run(ctx context.Context, o *output) error {
	c.long = true
	switch {
	case c.Resume && (c.Format != formatShoal || c.File == "-"):
		return &exitError{exitUsage, errors.New("--resume: a file in the format shoal expected")}
	case c.Resume && c.Force:
		return &exitError{exitUsage, errors.New("--resume and --force exclude each other")}
	}
	return c.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		p := newProgress(o, "profiles")
		opts := &profile.ExportOptions{Prefix: c.Prefix, Progress: func(r profile.ExportReport) { p.show(r.Profiles, r.Bytes) }}
		report, err := c.write(ctx, t, opts)
		p.done()
		if err != nil {
			return err
		}
		return t.printTo(o.err, struct {
			Profiles int   `json:"profiles"`
			Bytes    int64 `json:"bytes"`
			Skipped  int   `json:"skipped"`
		}{report.Profiles, report.Bytes, report.Skipped}, func() {
			fmt.Fprintf(o.err, "%d profiles exported", report.Profiles)
			if report.Skipped > 0 {
				fmt.Fprintf(o.err, ", %d left out, since they are no profiles: see the log with -v", report.Skipped)
			}
			fmt.Fprintln(o.err)
		})
	})
}

func (c *exportCommand) write(ctx context.Context, t *setTool, opts *profile.ExportOptions) (report profile.ExportReport, err error) {
	if c.File == "-" {
		return c.writeTo(ctx, t, t.out, opts)
	}
	f, err := openOutput(c.File, c.Resume, c.Force)
	if err != nil {
		return report, err
	}
	if c.Resume {
		report, err = t.set.ResumeExport(ctx, f, opts)
	} else {
		report, err = c.writeTo(ctx, t, f, opts)
	}
	if err == nil {
		err = f.Sync()
	}
	return report, errors.Join(err, f.Close())
}

func (c *exportCommand) writeTo(ctx context.Context, t *setTool, w io.Writer, opts *profile.ExportOptions) (profile.ExportReport, error) {
	if c.Format == formatRoblox {
		return exportRoblox(ctx, t.set, w, opts)
	}
	return t.set.Export(ctx, w, opts)
}

// importCommand brings profiles from a file into a set.
type importCommand struct {
	File      string `arg:"" type:"path" help:"The file; - is standard input."`
	Format    string `enum:"shoal,roblox" default:"shoal" help:"shoal: what shoal profile export has written. roblox: records of ProfileStore and KeepBlox, one {\"key\":…,\"value\":…} a line."`
	Overwrite string `enum:"no,older,all" default:"no" help:"Profiles that are there: no leaves them; older replaces those that have seen less; all replaces them. Held and erased ones are left in any case."`
	KeepGoing bool   `help:"Go on behind a line that is broken or refused."`
	DryRun    bool   `help:"Read, check and count; write nothing."`
	After     int    `placeholder:"LINE" help:"Go on behind this line of an import that was broken off: it says which."`
	AnySet    bool   `help:"Take an export of another set."`
	setFlags
}

// Help is shown by --help.
func (*importCommand) Help() string {
	return `Every line is checked before it is written. A broken one ends the import, with its number and what is wrong with it,
unless --keep-going says otherwise; a summary comes at the end in any case. Importing a file again changes nothing.

  shoal profile import players.jsonl --dry-run
  shoal profile import players.jsonl --keep-going

` + exitCodes
}

// Run reads the file.
func (c *importCommand) Run(ctx context.Context, o *output) error {
	c.long = true
	in, err := openInput(c.File)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return c.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		p := newProgress(o, "lines")
		opts := &profile.ImportOptions{
			Overwrite: overwrites[c.Overwrite], KeepGoing: c.KeepGoing, DryRun: c.DryRun, After: c.After, AnySet: c.AnySet,
			Progress: func(r profile.ImportReport) { p.show(r.Read, 0) },
		}
		var (
			report profile.ImportReport
			err    error
		)
		if c.Format == formatRoblox {
			report, err = importRoblox(ctx, t.set, in, opts)
		} else {
			report, err = t.set.Import(ctx, in, opts)
		}
		p.done()
		if printErr := t.printTo(o.out, imported(report), func() { printImport(o, report, c.DryRun) }); err == nil {
			err = printErr
		}
		if err != nil && report.Line > 0 && !c.DryRun { // a dry run has decided, and written nothing
			err = fmt.Errorf("%w\nall is decided through line %d: --after %d goes on", err, report.Line, report.Line)
		}
		if err == nil && report.Failed > 0 {
			err = &exitError{exitFailed, fmt.Errorf("%d lines were not imported", report.Failed)}
		}
		return err
	})
}

// overwrites are the policies by their names on the command line.
var overwrites = map[string]profile.Overwrite{ //nolint:gochecknoglobals // an immutable table
	"no": profile.Skip, "older": profile.ReplaceOlder, "all": profile.Replace,
}

// importForm is the summary as --json prints it.
type importForm struct {
	Read     int           `json:"read"`
	Written  int           `json:"written"`
	Replaced int           `json:"replaced"`
	Same     int           `json:"same"`
	Skipped  int           `json:"skipped"`
	Held     int           `json:"held"`
	Erased   int           `json:"erased"`
	Failed   int           `json:"failed"`
	Pending  int           `json:"pending"`
	Line     int           `json:"line"`
	Errors   []importError `json:"errors,omitempty"`
}

type importError struct {
	Line  int    `json:"line"`
	Key   string `json:"key,omitempty"`
	Error string `json:"error"`
}

func imported(r profile.ImportReport) importForm {
	out := importForm{
		Read: r.Read, Written: r.Written, Replaced: r.Replaced, Same: r.Same, Skipped: r.Skipped, Held: r.Held,
		Erased: r.Erased, Failed: r.Failed, Pending: r.Pending, Line: r.Line,
	}
	for _, e := range r.Errors {
		out.Errors = append(out.Errors, importError{e.Line, e.Key, e.Err.Error()})
	}
	return out
}

// printImport is the summary for people: what came to pass, and what went wrong.
func printImport(o *output, r profile.ImportReport, dry bool) {
	for _, e := range r.Errors {
		fmt.Fprintln(o.err, e.Error())
	}
	if more := r.Failed + r.Held - len(r.Errors); more > 0 {
		fmt.Fprintf(o.err, "… and %d more\n", more)
	}
	verb := "written"
	if dry {
		verb = "would be written"
	}
	fmt.Fprintf(o.out, "%d read: %d %s, %d replaced, %d there already, %d left as they are, %d held, %d erased, %d refused\n",
		r.Read, r.Written, verb, r.Replaced, r.Same, r.Skipped, r.Held, r.Erased, r.Failed)
	if r.Pending > 0 {
		fmt.Fprintf(o.out, "%d updates wait in these records; they are kept for the library that they were written for\n", r.Pending)
	}
}
