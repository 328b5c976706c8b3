package main

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/internal/address"
	"github.com/shoalworks/shoal/internal/pairing"
)

// checkedPairing is whether the parts are those that the fleet uses, as --json prints it.
type checkedPairing struct {
	Fleet   string `json:"fleet,omitempty"` // what the store says of its fast part
	Warning string `json:"warning,omitempty"`
	Danger  string `json:"danger,omitempty"`
}

// danger tells that servers with these addresses would harm those of the fleet.
func (c *checkedPairing) danger() bool { return c != nil && c.Danger != "" }

// pairing looks whether the parts are those that the fleet uses; nil for what nobody shares.
func (t *storeTool) pairing(ctx context.Context, cfg *config) *checkedPairing {
	if kind, _ := address.KindOf(cfg.Store); kind == address.Memory {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := pairing.Look(ctx, pairing.Parts{Durable: t.st.Durable(), Fast: t.st.Fast()}, pairing.GivenBy(cfg.Store, cfg.Fast))
	out := new(checkedPairing)
	if s.Mark != nil {
		out.Fleet = s.Mark.String()
	}
	switch {
	case err != nil:
		out.Warning = err.Error()
	case s.Problem != nil:
		out.Danger = s.Problem.Error()
	case s.Mark == nil:
		out.Warning = "nobody has opened this store yet; the first who does decides what belongs to it"
	case s.Lost:
		out.Warning = "the fast part lacks the sign of this store: it has lost its memory, or it is not the fleet's; those who run, or the next who starts, find out and write it again"
	}
	return out
}

// printPairing shows it.
func (t *storeTool) printPairing(c *checkedPairing) {
	if c == nil {
		return
	}
	for _, line := range []struct{ word, text string }{{"", c.Fleet}, {"warning: ", c.Warning}, {"DANGER: ", c.Danger}} {
		if line.text != "" {
			fmt.Fprintf(t.out, "pairing: %s%s\n", line.word, plain(line.text))
		}
	}
}
