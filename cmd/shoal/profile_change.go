package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

// changeFlags go with every command that changes a profile.
type changeFlags struct {
	setFlags
	Note   string `short:"m" placeholder:"TEXT" help:"Why, for the record."`
	Actor  string `placeholder:"NAME" help:"Who, for the record. Default: the name of this user."`
	ID     string `name:"id" placeholder:"ID" help:"Makes it safe to repeat: the same id is applied once. Default: a new one, which is printed when the outcome is unknown."`
	DryRun bool   `help:"Show what would change, and what is wrong with it; change nothing."`
}

// source says who is behind a change, and why.
func (f *changeFlags) source() profile.Source {
	return profile.Source{Kind: profile.SourceOperator, Actor: f.actor(), Note: f.Note, ID: f.ID}
}

func (f *changeFlags) actor() string { return actorName(f.Actor) }

// actorName is who acts: by flag, or this user.
func actorName(flag string) string {
	if flag != "" {
		return flag
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// setCommand puts one value into a profile.
type setCommand struct {
	Key   string   `arg:"" help:"The profile's key."`
	Path  doc.Path `arg:"" help:"Where, as a JSON Pointer: /coins or /items/0/count."`
	Value string   `arg:"" help:"What, as JSON: 5, true, '\"Ann\"', '{\"count\":1}'."`
	changeFlags
}

// Help is shown by --help.
func (*setCommand) Help() string {
	return `The profile is changed where it is: in the memory of the server that holds it, whose game's rules apply and whose
player is not disturbed, or in the store when nobody holds it.

  shoal profile set u_42 /coins 500 -m "refund of order 17"

` + exitCodes
}

// Run sets the value.
func (c *setCommand) Run(ctx context.Context, o *output) error {
	v, err := doc.Parse([]byte(c.Value), nil)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("VALUE: JSON expected, such as 5 or '\"Ann\"': %w", err)}
	}
	return c.change(ctx, o, c.Key, []doc.Op{doc.Set(c.Path, v)})
}

// editCommand applies operations to a profile.
type editCommand struct {
	Key  string   `arg:"" help:"The profile's key."`
	Ops  []string `arg:"" optional:"" help:"Operations as JSON, each an argument or all in one list."`
	File string   `short:"f" type:"path" placeholder:"FILE" help:"Read the operations from a file, one JSON value after the other; - is standard input."`
	changeFlags
}

// Help is shown by --help.
func (*editCommand) Help() string {
	return `All operations are applied, or none. Operations: set, unset, increment (by, min, max, clamp), append (items), insert
(index, value), remove (index), merge (value), compareAndSet (old, value), compareAndUnset (old).

  shoal profile edit u_42 '{"op":"increment","path":"/coins","by":-50,"min":0}' \
                          '{"op":"append","path":"/items","items":["sword"]}' -m "bought by phone"

A server that holds the profile applies them in its memory, where its game's rules may refuse them; every complaint is
printed with its path. Nobody is kicked.

` + exitCodes
}

// Run applies the operations.
func (c *editCommand) Run(ctx context.Context, o *output) error {
	ops, err := c.operations()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return c.change(ctx, o, c.Key, ops)
}

// operations reads what is to be done, and reports everything that is wrong with it.
func (c *editCommand) operations() ([]doc.Op, error) {
	texts := c.Ops
	if c.File != "" {
		text, err := readAll(c.File)
		if err != nil {
			return nil, fmt.Errorf("--file: %w", err)
		}
		texts = append(texts, text)
	}
	var (
		ops  []doc.Op
		errs []error
	)
	for i, text := range texts {
		more, err := operationsOf(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("operation %d: %w", i+1, err))
		}
		ops = append(ops, more...)
	}
	if len(ops) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("at least one operation expected, as an argument or with --file"))
	}
	return ops, errors.Join(errs...)
}

// maxInput bounds what is read from a file of operations.
const maxInput = 8 << 20

func readAll(path string) (string, error) {
	in := io.Reader(os.Stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if len(text) > maxInput {
		return "", fmt.Errorf("%s: at most %d bytes expected", path, maxInput)
	}
	return string(text), err
}

// operationsOf reads one operation, or a list of them.
func operationsOf(text string) ([]doc.Op, error) {
	v, err := doc.Parse([]byte(strings.TrimSpace(text)), nil)
	if err != nil {
		return nil, err
	}
	if v.Kind() != doc.KindList {
		op, err := operationOf(v)
		return []doc.Op{op}, err
	}
	var (
		ops  []doc.Op
		errs []error
	)
	for i, item := range v.Items() {
		op, err := operationOf(item)
		if err != nil {
			errs = append(errs, fmt.Errorf("[%d]: %w", i, err))
		}
		ops = append(ops, op)
	}
	return ops, errors.Join(errs...)
}

func operationOf(v doc.Value) (op doc.Op, err error) {
	return op, op.UnmarshalJSON(v.Encode())
}

// change applies operations, or shows what they would do.
func (f *changeFlags) change(ctx context.Context, o *output, key string, ops []doc.Op) error {
	return f.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		if f.DryRun {
			return t.dryRun(ctx, key, f.source(), ops)
		}
		done, err := t.set.Edit(ctx, key, f.source(), ops...)
		if err != nil {
			if errors.Is(err, store.ErrUnknown) {
				err = fmt.Errorf("%w\nthe same command with --id %s finds out, and is never applied twice", err, done.ID)
			}
			return err
		}
		return t.print(edited{key, whereOf(done), done.Revision, done.ID, done.Repeated}, func() {
			if done.Repeated {
				fmt.Fprintf(t.out, "%s: was done before, in revision %d\n", key, done.Revision)
				return
			}
			fmt.Fprintf(t.out, "%s: changed %s, revision %d\n", key, places[done.Where], done.Revision)
		})
	})
}

// edited is what --json prints of a change.
type edited struct {
	Key      string `json:"key"`
	Where    string `json:"where"`
	Revision uint64 `json:"revision"`
	ID       string `json:"id"`
	Repeated bool   `json:"repeated,omitempty"`
}

// whereOf is a place as --json prints it: "store", "holder" or, of what was done before,
// "before".
func whereOf(e profile.Edited) string {
	switch e.Where {
	case profile.Here, profile.Elsewhere:
		return "holder"
	case profile.Nowhere:
		return "store"
	}
	return "before"
}

// places says to people where a change was made.
var places = map[profile.Where]string{ //nolint:gochecknoglobals // an immutable table
	profile.Here:      "on this node",
	profile.Elsewhere: "by the server that holds it",
	profile.Nowhere:   "in the store, since nobody holds it",
}

// dryRun shows what operations would do to the data as it is stored.
func (t *setTool) dryRun(ctx context.Context, key string, src profile.Source, ops []doc.Op) error {
	v, err := t.set.Read(ctx, key)
	if err != nil {
		return err
	}
	run, err := t.set.DryRun(v.Data, src, ops...)
	if err != nil {
		return err
	}
	if len(run.Violations) > 0 {
		return &exitError{exitRefused, complaints(run)}
	}
	return t.print(struct {
		Key   string     `json:"key"`
		Edits []doc.Edit `json:"edits"`
		Data  doc.Value  `json:"data"`
	}{key, run.Edits, run.Data}, func() {
		t.printEdits(v.Data, run.Edits)
		fmt.Fprintln(t.out, "Nothing was changed. The data is as stored; the game's own rules are asked where it is held.")
	})
}

// complaints is everything that is wrong with a change.
func complaints(run profile.DryRun) error {
	var errs []error
	for _, c := range run.Violations {
		errs = append(errs, fmt.Errorf("%s: %s", c.Path, c.Problem))
	}
	if run.More > 0 {
		errs = append(errs, fmt.Errorf("and %d more", run.More))
	}
	return errors.Join(errs...)
}

// printEdits shows differences, one a line.
func (t *setTool) printEdits(before doc.Value, edits []doc.Edit) {
	rows := [][]string{{"PATH", "FROM", "TO"}}
	for _, e := range edits {
		from, to := "–", "–"
		if old, ok := before.Get(e.Path); ok {
			from = short(old)
		}
		if e.Kind != doc.EditUnset {
			to = short(e.Value)
		}
		rows = append(rows, []string{pathOf(e.Path), from, to})
	}
	t.table(rows)
}

// pathOf is a path for people: the root is shown as such.
func pathOf(p doc.Path) string {
	if p.IsRoot() {
		return "(everything)"
	}
	return p.String()
}
