package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// versionsCommand lists the versions of a profile, or prints one.
type versionsCommand struct {
	Key      string `arg:"" help:"The profile's key."`
	Revision uint64 `arg:"" optional:"" help:"Print the data of this one."`
	setFlags
}

// Help is shown by --help.
func (*versionsCommand) Help() string {
	return `A version is an earlier state, kept at most once an hour by default, and before each restore.

  shoal profile versions u_42
  shoal profile versions u_42 1017 | jq .items

` + exitCodes
}

// versionForm is a version as --json prints it.
type versionForm struct {
	Revision uint64     `json:"revision"`
	Schema   int        `json:"schema"`
	At       time.Time  `json:"at"`
	Bytes    int        `json:"bytes"`
	Data     *doc.Value `json:"data,omitempty"`
}

func versionOf(v profile.Version) versionForm {
	f := versionForm{Revision: v.Revision, Schema: v.Schema, At: v.At, Bytes: v.Bytes}
	if !v.Data.IsNull() {
		f.Data = &v.Data
	}
	return f
}

// Run lists, or prints.
func (c *versionsCommand) Run(ctx context.Context, o *output) error {
	return c.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		if c.Revision != 0 {
			v, err := t.set.Version(ctx, c.Key, c.Revision)
			if err != nil {
				return err
			}
			return t.print(versionOf(v), func() { fmt.Fprintln(t.out, pretty(v.Data)) })
		}
		list, err := t.set.Versions(ctx, c.Key)
		if err != nil {
			return err
		}
		rows := [][]string{{"REVISION", "STORED", "SIZE", "SCHEMA"}}
		for _, v := range list {
			if t.json {
				if err := t.print(versionOf(v), nil); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, []string{strconv.FormatUint(v.Revision, 10), when(v.At), humanize.IBytes(uint64(max(0, v.Bytes))), strconv.Itoa(v.Schema)})
		}
		if !t.json {
			t.table(rows)
		}
		return nil
	})
}

// restoreCommand puts an earlier state back.
type restoreCommand struct {
	Key      string `arg:"" help:"The profile's key."`
	Revision uint64 `arg:"" help:"The version, see shoal profile versions."`
	changeFlags
	confirmFlag
}

// Help is shown by --help.
func (*restoreCommand) Help() string {
	return `The state that is replaced becomes a version itself, so that a restore can be taken back. Receipts stay granted: those
since the version are named, and nobody can claim them again.

` + exitCodes
}

// Run restores.
func (c *restoreCommand) Run(ctx context.Context, o *output) error {
	return c.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		if c.DryRun {
			return c.show(ctx, t)
		}
		if err := c.confirm(ctx, o, fmt.Sprintf("replace the data of %s by that of revision %d", c.Key, c.Revision), c.Key); err != nil {
			return err
		}
		done, err := t.set.Restore(ctx, c.Key, c.source(), c.Revision)
		if errors.Is(err, profile.ErrInUse) {
			return fmt.Errorf("%w: a restore replaces everything, so it waits until the player has left; shoal profile release ends their session", err)
		}
		if err != nil {
			return err
		}
		return t.print(restoredOf(done), func() { printRestored(t, c.Key, done) })
	})
}

// show is the dry run.
func (c *restoreCommand) show(ctx context.Context, t *setTool) error {
	v, err := t.set.Version(ctx, c.Key, c.Revision)
	if err != nil {
		return err
	}
	now, err := t.set.Read(ctx, c.Key)
	if err != nil {
		return err
	}
	edits := doc.Diff(now.Data, v.Data)
	return t.print(struct {
		Key   string     `json:"key"`
		Edits []doc.Edit `json:"edits"`
	}{c.Key, edits}, func() {
		t.printEdits(now.Data, edits)
		fmt.Fprintln(t.out, "Nothing was changed.")
	})
}

// restoredForm is a restore as --json prints it.
type restoredForm struct {
	Revision uint64    `json:"revision"`
	From     uint64    `json:"from"`
	Kept     uint64    `json:"kept"`
	Claimed  []audited `json:"claimed"`
	Complete bool      `json:"complete"`
	Repeated bool      `json:"repeated,omitempty"`
}

func restoredOf(r profile.Restored) restoredForm {
	out := restoredForm{Revision: r.Commit.Revision, From: r.From.Revision, Kept: r.Kept, Complete: r.Complete, Repeated: r.Commit.Repeated}
	for _, e := range r.Claimed {
		out.Claimed = append(out.Claimed, auditedOf(e))
	}
	return out
}

func printRestored(t *setTool, key string, r profile.Restored) {
	if r.Commit.Repeated {
		fmt.Fprintf(t.out, "%s: was restored before, in revision %d; nothing was changed now\n", key, r.Commit.Revision)
		return
	}
	fmt.Fprintf(t.out, "%s: as it was at revision %d; the state before is version %d\n", key, r.From.Revision, r.Kept)
	if len(r.Claimed) > 0 {
		fmt.Fprintln(t.out, "These have had their effect on what was replaced, and stay granted:")
		rows := [][]string{{"REVISION", "WHEN", "WHO", "WHY", "WHAT"}}
		for _, e := range r.Claimed {
			rows = append(rows, []string{revisionsOf(e), when(e.Time), whoOf(e), e.Source.Note, changesOf(e)})
		}
		t.table(rows)
	}
	if !r.Complete {
		fmt.Fprintln(t.out, "The audit log does not reach back to that version: there may be more of them.")
	}
}
