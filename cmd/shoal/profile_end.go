package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/shoalworks/shoal/profile"
)

// releaseCommand ends a session that does not end by itself.
type releaseCommand struct {
	Key string `arg:"" help:"The profile's key."`
	changeFlags
	confirmFlag
}

// Help is shown by --help.
func (*releaseCommand) Help() string {
	return `Ends the session of the server that holds the profile, as if that server were dead: for a player who is stuck. What is
saved or journaled is kept; what the server has done in the last second may be lost. A server that lives after all
learns of it within a second, and can store nothing any more. A dead server's players need no help: they can be loaded
elsewhere after a few seconds.

` + exitCodes
}

// Run ends the session.
func (c *releaseCommand) Run(ctx context.Context, o *output) error {
	return c.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		v, err := t.set.Read(ctx, c.Key)
		if err != nil {
			return err
		}
		if c.DryRun || v.Holder == nil {
			return t.print(freed{Key: c.Key}, func() { fmt.Fprintf(t.out, "%s: held by %s; nothing was changed\n", c.Key, holderOf(v)) })
		}
		if err := c.confirm(ctx, o, "end the session of "+v.Holder.Node, c.Key); err != nil {
			return err
		}
		if err := t.unmoved(ctx, c.Key, *v.Holder); err != nil {
			return err
		}
		out, err := t.set.ReleaseHeld(ctx, c.Key, c.source())
		if err != nil {
			return err
		}
		f := freed{Key: c.Key, Recovered: out.Recovered}
		if out.From != nil {
			f.From = out.From.Node
		}
		return t.print(f, func() {
			switch {
			case out.From == nil:
				fmt.Fprintf(t.out, "%s: nobody held it\n", c.Key)
			case out.Recovered:
				fmt.Fprintf(t.out, "%s: free; what %s had journaled is in the profile\n", c.Key, f.From)
			default:
				fmt.Fprintf(t.out, "%s: free; taken from %s\n", c.Key, f.From)
			}
		})
	})
}

// unmoved refuses when the session that a person has agreed to end is not there any more: it
// may have taken them a while, and the player may play elsewhere by now.
func (t *setTool) unmoved(ctx context.Context, key string, was profile.Holder) error {
	v, err := t.set.Read(ctx, key)
	if err != nil || v.Holder == nil || v.Holder.Node == was.Node && v.Holder.Since.Equal(was.Since) {
		return err
	}
	return &exitError{exitRefused, fmt.Errorf("%s: held by %s meanwhile; nothing was changed", key, holderOf(v))}
}

// freed is what --json prints of a release.
type freed struct {
	Key       string `json:"key"`
	From      string `json:"from,omitempty"`
	Recovered bool   `json:"recovered,omitempty"`
}

// eraseCommand removes a person's data.
type eraseCommand struct {
	Key string `arg:"" help:"The profile's key."`
	changeFlags
	confirmFlag
}

// Help is shown by --help.
func (*eraseCommand) Help() string {
	return `Removes what is stored of a person, at their request: the profile, its mail, versions, audit log, journal, copies in
quarantine, their entries on boards, and their name and key in the results of seasons, where the place stays. The seasons
are those of the configuration (--config). A server that holds the profile loses it. It cannot be taken back. When it is
interrupted, run it again: it goes on. Receipts stay, as a hash of whose they are, so that they cannot be claimed again.

` + exitCodes
}

// Run erases.
func (c *eraseCommand) Run(ctx context.Context, o *output) error {
	c.seasons = true
	return c.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		if c.DryRun {
			v, err := t.set.Read(ctx, c.Key)
			if err != nil {
				return err
			}
			return t.print(seen(v), func() {
				t.printView(v)
				fmt.Fprintln(t.out, "Nothing was erased.")
			})
		}
		if err := c.confirm(ctx, o, "erase everything that is stored of "+c.Key, c.Key); err != nil {
			return err
		}
		out, err := t.set.Erase(ctx, c.Key, c.source(), nil)
		if err != nil {
			return seasonHelp(fmt.Errorf("%w\nrun it again: it goes on where it was", err))
		}
		return t.print(erasedOf(c.Key, out), func() {
			if !out.Found {
				fmt.Fprintf(t.out, "%s: there was no profile\n", c.Key)
				return
			}
			fmt.Fprintf(t.out, "%s: erased, with %s\n", c.Key, besides(out))
		})
	})
}

// erased is what --json prints of an erasure.
type erased struct {
	Key        string `json:"key"`
	Found      bool   `json:"found"`
	Mail       int    `json:"mail"`
	Versions   int    `json:"versions"`
	Audit      int    `json:"audit"`
	Quarantine int    `json:"quarantine"`
}

func erasedOf(key string, e profile.Erased) erased {
	return erased{key, e.Found, e.Mail, e.Versions, e.Audit, e.Quarantine}
}

// besides says what else was removed.
func besides(e profile.Erased) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{e.Mail, "mails"}, {e.Versions, "versions"}, {e.Audit, "rows of the audit log"}, {e.Quarantine, "copies in quarantine"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return "nothing else"
	}
	return strings.Join(parts, ", ")
}
