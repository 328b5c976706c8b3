package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// historyCommand prints the audit log of a profile.
type historyCommand struct {
	Key    string `arg:"" help:"The profile's key."`
	From   uint64 `placeholder:"REVISION" help:"Begin here. Default: with the newest, or with --oldest-first with the oldest."`
	Limit  int    `default:"100" help:"How many entries at most, up to 1000."`
	Oldest bool   `name:"oldest-first" help:"Begin with the oldest."`
	setFlags
}

// Help is shown by --help.
func (*historyCommand) Help() string {
	return `The audit log holds what operators, mail, receipts, trades and the library itself have done to a profile, and, if the
game's options say so, every commit of the game. It is kept for 90 days by default.

` + exitCodes
}

// audited is an entry as --json prints it.
type audited struct {
	Revision uint64     `json:"revision"`
	Through  uint64     `json:"through,omitempty"`
	ID       string     `json:"id,omitempty"`
	Time     time.Time  `json:"time"`
	Kind     string     `json:"kind"`
	Actor    string     `json:"actor,omitempty"`
	Note     string     `json:"note,omitempty"`
	Claim    string     `json:"claim,omitempty"`
	Edits    []doc.Edit `json:"edits,omitempty"`
	Paths    []doc.Path `json:"paths,omitempty"`
	More     int        `json:"more,omitempty"`
}

func auditedOf(e profile.AuditEntry) audited {
	a := audited{
		Revision: e.Revision, ID: e.ID, Time: e.Time, Kind: string(e.Source.Kind), Actor: e.Source.Actor,
		Note: e.Source.Note, Claim: e.Claim, Edits: e.Edits, Paths: e.Paths, More: e.More,
	}
	if e.Through != e.Revision {
		a.Through = e.Through
	}
	return a
}

// Run reads the log.
func (c *historyCommand) Run(ctx context.Context, o *output) error {
	return c.onSet(ctx, o, func(ctx context.Context, t *setTool) error {
		log, err := t.set.Audit(ctx, c.Key, &profile.AuditQuery{From: c.From, Limit: c.Limit, Reverse: !c.Oldest})
		if err != nil {
			return err
		}
		rows := [][]string{{"REVISION", "WHEN", "WHO", "WHY", "WHAT"}}
		for _, e := range log {
			if t.json {
				if err := t.print(auditedOf(e), nil); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, []string{revisionsOf(e), when(e.Time), whoOf(e), e.Source.Note, changesOf(e)})
		}
		if !t.json {
			t.table(rows)
		}
		return nil
	})
}

func revisionsOf(e profile.AuditEntry) string {
	s := strconv.FormatUint(e.Revision, 10)
	if e.Through > e.Revision {
		s += "–" + strconv.FormatUint(e.Through, 10)
	}
	return s
}

func whoOf(e profile.AuditEntry) string {
	who := string(e.Source.Kind)
	if e.Source.Actor != "" {
		who += " " + e.Source.Actor
	}
	if e.Claim != "" {
		who += " (" + e.Claim + ")"
	}
	return who
}

// changesOf is what an entry changed, in a line.
func changesOf(e profile.AuditEntry) string {
	const most = 3
	var parts []string
	for _, edit := range e.Edits {
		parts = append(parts, edit.String())
	}
	for _, p := range e.Paths {
		parts = append(parts, pathOf(p))
	}
	more := e.More
	if len(parts) > most {
		more += len(parts) - most
		parts = parts[:most]
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}
