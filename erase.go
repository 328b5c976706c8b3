package shoal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

// This file has a person's entries on boards, and places in the results of seasons, go with
// their profile (profile.Set.Erase).

// eraseFrom has what the boards hold of a key removed when the profile is erased: those that
// mirror the set, those of the seasons that it plays, and, if it is the ranked set, all others.
func (n *Node) eraseFrom(o Options) {
	for name, set := range n.sets {
		if opts := o.Sets[name]; opts != nil && opts.Mode != profile.Live {
			continue // who is erased there is not erased: the boards are the fleet's
		}
		mine := func(board string) bool { return n.setOf(o, board) == name }
		set.OnErase(func(ctx context.Context, key string) error {
			return errors.Join(n.unrank(ctx, mine, key), n.leaveSeasons(ctx, name, key))
		})
	}
}

// seasonOf is the season that a board belongs to.
func seasonOf(board string) (season string, ok bool) {
	rest, ok := strings.CutPrefix(board, "season/")
	if !ok {
		return "", false
	}
	season, _, ok = strings.Cut(rest, "/")
	return season, ok
}

// unrank removes the entries of a key, hidden ones and those of sealed boards too, and what
// moderation knows of it (board.Service.EraseKey): a ban stays, without who made it and why.
func (n *Node) unrank(ctx context.Context, mine func(board string) bool, key string) error {
	for after := ""; ; {
		names, err := n.Store().Boards().List(ctx, "", after, store.MaxPage)
		if errors.Is(err, store.ErrUnsupported) {
			return nil // there are no boards
		}
		if err != nil {
			return fmt.Errorf("shoal: erase %s from boards: %w", key, err)
		}
		for _, board := range names {
			after = board
			if !mine(board) {
				continue
			}
			if _, err := n.boards.Erase(ctx, board, key); err != nil && !errors.Is(err, store.ErrNoBoard) {
				return fmt.Errorf("shoal: erase %s from board %s: %w", key, board, err)
			}
		}
		if len(names) < store.MaxPage {
			break
		}
	}
	if err := n.boards.EraseKey(ctx, key, mine); err != nil {
		return fmt.Errorf("shoal: erase %s: %w", key, err)
	}
	return nil
}

// leaveSeasons forgets a key in the results of the seasons that the set plays.
func (n *Node) leaveSeasons(ctx context.Context, set, key string) error {
	for _, name := range slices.Sorted(maps.Keys(n.seasons)) {
		if c := n.seasons[name]; c.set == set {
			if err := c.EraseKey(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}
