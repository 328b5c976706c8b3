package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// getCommand prints a profile as it is stored.
type getCommand struct {
	Key  string   `arg:"" help:"The profile's key."`
	Path doc.Path `arg:"" optional:"" help:"Print only what is at this JSON Pointer, such as /items/0."`
	setFlags
}

// Help is shown by --help.
func (*getCommand) Help() string {
	return `Prints the profile as it is stored: what its holder has in memory may be newer, by one save at most. It takes no
lock and disturbs nobody.

  shoal profile get u_42
  shoal profile get u_42 /coins
  shoal profile get u_42 --json | jq .data

` + exitCodes
}

// Run reads the profile.
func (c *getCommand) Run(ctx context.Context, o *output) error {
	return c.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		v, err := t.set.Read(ctx, c.Key)
		if err != nil {
			return err
		}
		if !c.Path.IsRoot() {
			at, ok := v.Data.Get(c.Path)
			if !ok {
				return &exitError{exitMissing, fmt.Errorf("profile %s has nothing at %s", c.Key, c.Path)}
			}
			return t.print(at, func() { fmt.Fprintln(t.out, pretty(at)) })
		}
		return t.print(seen(v), func() { t.printView(v) })
	})
}

// viewed is a profile as --json prints it.
type viewed struct {
	Key      string     `json:"key"`
	Data     doc.Value  `json:"data"`
	Revision uint64     `json:"revision"`
	Schema   int        `json:"schema"`
	Epoch    uint64     `json:"epoch"`
	Created  time.Time  `json:"created"`
	Updated  time.Time  `json:"updated"`
	Bytes    int        `json:"bytes"`
	Tags     *doc.Value `json:"tags,omitempty"`
	Holder   *heldBy    `json:"holder,omitempty"`
	TookFrom *tookFrom  `json:"tookFrom,omitempty"`
}

type heldBy struct {
	Node    string    `json:"node"`
	Since   time.Time `json:"since"`
	Beating bool      `json:"beating"`
}

type tookFrom struct {
	Node     string    `json:"node"`
	Epoch    uint64    `json:"epoch"`
	Evidence string    `json:"evidence"`
	At       time.Time `json:"at"`
}

func seen(v profile.View) viewed {
	out := viewed{
		Key: v.Key, Data: v.Data, Revision: v.Revision, Schema: v.Schema, Epoch: v.Epoch,
		Created: v.Created, Updated: v.Updated, Bytes: v.Bytes,
	}
	if !v.Tags.IsNull() {
		out.Tags = &v.Tags
	}
	if h := v.Holder; h != nil {
		out.Holder = &heldBy{h.Node, h.Since, h.Beating}
	}
	if f := v.TookFrom; f != nil {
		out.TookFrom = &tookFrom{f.Node, f.Epoch, string(f.Evidence), f.At}
	}
	return out
}

func (t *setTool) printView(v profile.View) {
	rows := [][]string{
		{"key", v.Key},
		{"held by", holderOf(v)},
		{"revision", fmt.Sprintf("%d, schema %d, epoch %d", v.Revision, v.Schema, v.Epoch)},
		{"created", when(v.Created)},
		{"updated", when(v.Updated)},
		{"size", humanize.IBytes(uint64(max(0, v.Bytes)))},
	}
	if f := v.TookFrom; f != nil {
		rows = append(rows, []string{"taken from", fmt.Sprintf("%s, epoch %d, %s (%s)", f.Node, f.Epoch, when(f.At), f.Evidence)})
	}
	if !v.Tags.IsNull() {
		rows = append(rows, []string{"tags", v.Tags.String()})
	}
	t.table(rows)
	fmt.Fprintln(t.out, pretty(v.Data))
}

func holderOf(v profile.View) string {
	if v.Holder == nil {
		return "nobody"
	}
	s := v.Holder.Node + " since " + when(v.Holder.Since)
	if !v.Holder.Beating {
		s += ", whose beats do not land"
	}
	return s
}

// listCommand lists the profiles of a set.
type listCommand struct {
	Prefix string `arg:"" optional:"" help:"Only keys that begin so."`
	Limit  int    `default:"1000" help:"How many at most; 0 for all."`
	setFlags
}

// errEnough ends a scan that has shown as much as was asked for.
var errEnough = errors.New("enough")

// Run scans the set.
func (c *listCommand) Run(ctx context.Context, o *output) error {
	return c.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		rows := [][]string{{"KEY", "REVISION", "UPDATED", "SIZE", "HELD BY"}}
		n := 0
		err := t.set.Scan(ctx, func(v profile.View) error {
			if !strings.HasPrefix(v.Key, c.Prefix) {
				return nil
			}
			if n++; c.Limit > 0 && n > c.Limit {
				return errEnough
			}
			if t.json {
				return t.print(seen(v), nil)
			}
			rows = append(rows, []string{v.Key, fmt.Sprint(v.Revision), when(v.Updated), humanize.IBytes(uint64(max(0, v.Bytes))), holderOf(v)})
			return nil
		})
		if errors.Is(err, errEnough) {
			err = nil
			fmt.Fprintf(t.err, "the first %d are shown; --limit 0 shows all\n", c.Limit)
		}
		if err == nil && !t.json {
			t.table(rows)
		}
		return err
	})
}
