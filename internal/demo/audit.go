package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// auditors is how many profiles are loaded at once in the end.
const auditors = 32

// audit loads every profile that was played, through a node of its own, adds what the boards of
// all seasons have, and has the ledger compare. It loads, since a node that crashed in the last
// seconds has left what it had only synced in its journal.
func (w *world) audit(ctx context.Context) error {
	m, err := w.start(ctx, "auditor")
	if err != nil {
		return err
	}
	books, err := w.books(ctx, m)
	if err == nil {
		err = addBoards(ctx, m, books)
	}
	if err == nil {
		for key, b := range books {
			w.ledger.audited(key, b)
		}
	}
	return errors.Join(err, m.close(ctx))
}

// books loads all players.
func (w *world) books(ctx context.Context, m *member) (map[string]book, error) {
	var (
		g     errgroup.Group
		mu    sync.Mutex
		books = make(map[string]book)
	)
	g.SetLimit(auditors)
	for _, key := range w.ledger.keys() {
		g.Go(func() error {
			s, err := m.node.Set(playersSet).Load(ctx, key, nil)
			if err != nil {
				return fmt.Errorf("demo: audit: %w", err)
			}
			announced := w.ledger.announced(key)
			b := bookIn(s.Data())
			b.announced = announced
			mu.Lock()
			defer mu.Unlock()
			books[key] = b
			return nil
		})
	}
	return books, g.Wait()
}

// addBoards adds what the seasons' boards say: of a closed season they have what the profiles
// do not keep any more. The profiles were read before, so nothing can fall in between.
func addBoards(ctx context.Context, m *member, books map[string]book) error {
	reef := m.node.Season(reefSeason)
	for k := range reef.Current().K + 1 {
		id := reef.Config().ID(k)
		for keys := range slices.Chunk(slices.Collect(maps.Keys(books)), store.MaxPage) {
			scores, err := m.store.Boards().Scores(ctx, season.BoardKey(reefSeason, fishBoard, id), keys...)
			if errors.Is(err, store.ErrNoBoard) {
				break // nobody played
			}
			if err != nil {
				return fmt.Errorf("demo: audit: %w", err)
			}
			for key, e := range scores {
				books[key].counts(id, e.Score)
			}
		}
	}
	return nil
}
