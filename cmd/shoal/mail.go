package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

// mailCommands are about messages to players.
type mailCommands struct {
	Send sendCommand `cmd:"" help:"Send a message that has its effect exactly once, whether the player is online or not."`
	List boxCommand  `cmd:"" help:"List the mail that waits for a player."`
}

// sendCommand sends mail.
type sendCommand struct {
	Key    string   `arg:"" help:"The profile's key."`
	Kind   string   `placeholder:"NAME" help:"The game's handler that deals with it. Not needed with operations."`
	Body   string   `placeholder:"JSON" help:"What the handler is told."`
	Op     []string `sep:"none" placeholder:"JSON" help:"An operation that is applied to the profile without a handler, or a list of them; may be repeated. See shoal profile edit."`
	From   string   `placeholder:"NAME" help:"Who sends it, for the record. Default: the name of this user."`
	NewBox bool     `help:"Send also to a player who has never been here."`
	changeFlags
}

// Help is shown by --help.
func (*sendCommand) Help() string {
	return `The message waits in the player's box until a server has loaded the profile, and is dealt with within a second when
the player is online. A full box refuses more; nothing in it is ever dropped.

  shoal mail send u_42 --op '{"op":"increment","path":"/coins","by":100}' -m "sorry for the outage"
  shoal mail send u_42 --kind gift --body '{"item":"hat"}'

With --id the same message can be sent again without harm, by a script that does not know whether it has been sent.

` + exitCodes
}

// Run sends the message.
func (c *sendCommand) Run(ctx context.Context, o *output) error {
	m, err := c.mail()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return c.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		if c.DryRun {
			return t.print(mailed{Key: c.Key, mailForm: formOf(m)}, func() { fmt.Fprintln(t.out, "Nothing was sent.") })
		}
		sent, err := t.set.Send(ctx, c.Key, m)
		if err != nil {
			if errors.Is(err, store.ErrUnknown) {
				err = fmt.Errorf("%w\nthe same command with --id %s finds out, and never sends it twice", err, sent.ID)
			}
			return err
		}
		m.ID = sent.ID
		return t.print(mailed{Key: c.Key, Repeated: sent.Repeated, mailForm: formOf(m)}, func() {
			if sent.Repeated {
				fmt.Fprintf(t.out, "%s: %s was sent before\n", c.Key, sent.ID)
				return
			}
			fmt.Fprintf(t.out, "%s: sent as %s\n", c.Key, sent.ID)
		})
	})
}

// mail is what the flags say, or everything that is wrong with them.
func (c *sendCommand) mail() (profile.Mail, error) {
	m := profile.Mail{ID: c.ID, Kind: c.Kind, From: c.From, Note: c.Note, AllowMissing: c.NewBox}
	if m.From == "" {
		m.From = c.actor()
	}
	var errs []error
	if c.Body != "" {
		body, err := doc.Parse([]byte(c.Body), nil)
		if err != nil {
			errs = append(errs, fmt.Errorf("--body: JSON expected: %w", err))
		}
		m.Body = body
	}
	for i, text := range c.Op {
		ops, err := operationsOf(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--op %d: %w", i+1, err))
		}
		m.Ops = append(m.Ops, ops...)
	}
	if m.Kind == "" && len(c.Op) == 0 {
		errs = append(errs, errors.New("--kind of a handler, or --op, expected"))
	}
	return m, errors.Join(errs...)
}

// mailed is what --json prints of a message that was sent.
type mailed struct {
	Key      string `json:"key"`
	Repeated bool   `json:"repeated,omitempty"`
	mailForm
}

// mailForm is a message as --json prints it.
type mailForm struct {
	ID   string     `json:"id"`
	Kind string     `json:"kind,omitempty"`
	From string     `json:"from,omitempty"`
	Note string     `json:"note,omitempty"`
	At   *time.Time `json:"at,omitempty"`
	Body *doc.Value `json:"body,omitempty"`
	Ops  []doc.Op   `json:"ops,omitempty"`
}

func formOf(m profile.Mail) mailForm {
	f := mailForm{ID: m.ID, Kind: m.Kind, From: m.From, Note: m.Note, Ops: m.Ops}
	if !m.At.IsZero() {
		f.At = &m.At
	}
	if !m.Body.IsNull() {
		f.Body = &m.Body
	}
	return f
}

// boxCommand lists a box.
type boxCommand struct {
	Key   string `arg:"" help:"The profile's key."`
	After string `placeholder:"ID" help:"Only what comes after this message."`
	Limit int    `default:"1000" help:"How many at most."`
	setFlags
}

// Run lists the box.
func (c *boxCommand) Run(ctx context.Context, o *output) error {
	return c.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		box, err := t.set.Mails(ctx, c.Key, c.After, c.Limit)
		rows := [][]string{{"ID", "KIND", "FROM", "SENT", "WHAT"}}
		for _, m := range box {
			if t.json {
				if err := t.print(formOf(m), nil); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, []string{m.ID, m.Kind, m.From, when(m.At), whatOf(m)})
		}
		if !t.json {
			t.table(rows)
		}
		return err
	})
}

// whatOf is a message's content in a line.
func whatOf(m profile.Mail) string {
	switch n := len(m.Ops); {
	case n == 1:
		if text, err := m.Ops[0].MarshalJSON(); err == nil {
			return string(text)
		}
	case n > 1:
		return strconv.Itoa(n) + " operations"
	}
	return short(m.Body)
}
