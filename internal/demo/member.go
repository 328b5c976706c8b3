package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/examples/reef/fishing"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// member is one node with its own way to the store, as a process of its own would have.
type member struct {
	node   *shoal.Node
	store  *store.Store
	faults *faultstore.Faults
	gone   chan struct{} // closed when it has crashed
}

// autosave is short, so that a crash in the demo costs little play.
const autosave = 5 * time.Second

// start opens the store once more and starts a node on it.
func (w *world) start(ctx context.Context, name string) (*member, error) {
	engine, err := sqlitestore.Open(ctx, w.opts.Folder, nil)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	m := &member{faults: faultstore.New(&faultstore.Options{Clock: w.clock, Log: -1}), gone: make(chan struct{})}
	m.store, err = store.New(m.faults.Wrap(store.Parts{
		Durable: engine.Durable(), Fast: engine.Fast(), Boards: engine.Boards(), Bus: engine.Bus(),
	}))
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	m.node, err = shoal.Start(ctx, m.store, &shoal.Options{
		Node: node.Options{Name: name, Clock: w.clock, Logger: w.opts.Logger},
		Sets: map[string]*profile.Options{playersSet: {Template: fishing.NewPlayer(), Autosave: autosave}},
		Seasons: map[string]shoal.Season{reefSeason: {
			Set: playersSet, Rules: w.rules,
			Deps: season.Deps{
				Reward: fishing.Reward, OnTitle: w.onTitle, OnRefused: w.onRefused,
				OnClosed: func(c season.Closed, r *season.Result) { w.onClosed(name, c, r) },
			},
		}},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("demo: start %s: %w", name, err), m.store.Close(context.WithoutCancel(ctx)))
	}
	return m, nil
}

func (w *world) onTitle(_ context.Context, s season.Session, titles []season.Title) {
	for _, t := range titles {
		w.ledger.title(s.Key(), t.Key)
		w.tally.titled(t.Text + " for " + nameIn(s.Data()))
	}
}

// onRefused hears of values that reached a board after it was closed, because their node died.
func (w *world) onRefused(r season.Refused) {
	w.tally.late.Add(1)
	if r.Board == fishBoard {
		w.ledger.late(r.Key, r.Season, r.Score)
	}
}

func (w *world) onClosed(name string, c season.Closed, r *season.Result) {
	if c.Here {
		w.tally.closed(c.ID, name)
	}
	w.ledger.result(c.ID, digestOf(r))
}

// digestOf is a season's result in short: the digests of its boards.
func digestOf(r *season.Result) string {
	out := r.Season
	for i := range r.Boards {
		out += " " + r.Boards[i].Digest
	}
	return out
}

// isGone tells that the node has crashed.
func (m *member) isGone() bool {
	select {
	case <-m.gone:
		return true
	default:
		return false
	}
}

// crash cuts the node off from the store at once: nothing that it still does is seen by
// anybody, as if its process were gone.
func (m *member) crash() {
	m.faults.Crash()
	close(m.gone)
}

// burial is how long a crashed node gets to end its goroutines; its store is cut off.
const burial = time.Second

// bury frees what a crashed node holds of this process.
func (m *member) bury() {
	ctx, cancel := clock.WithTimeout(context.Background(), m.node.Clock(), burial)
	defer cancel()
	_, _ = m.node.Close(ctx) // it says that it cannot reach the store
	_ = m.store.Close(ctx)
}

// close ends the node in order and says what it could not finish.
func (m *member) close(ctx context.Context) error {
	report, err := m.node.Close(ctx)
	errs := []error{err}
	for _, u := range report.Unfinished {
		if errors.Is(u.Err, store.ErrSealed) {
			continue // a season is being closed at this moment: what came too late stays in the profiles, and is audited there
		}
		errs = append(errs, fmt.Errorf("demo: %s: %s: %d left: %w", m.node.ID(), u.Service, u.Left, u.Err))
	}
	return errors.Join(append(errs, m.store.Close(ctx))...)
}
