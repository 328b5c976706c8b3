package board_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// This file plays histories of two nodes on one store, which crash and come back under
// another id, against a model: what was acknowledged is there, sums count once, nothing is
// there that nobody handed in, and the store is what ModelBoard makes of the same calls.

// chronicleBoards are one board of each rule.
func chronicleBoards() boards {
	return boards{
		"Best":  {},
		"Time":  {Order: store.Ascending},
		"Level": {Rule: store.Last},
		"Coins": {Rule: store.Sum},
	}
}

// happening is one thing that happens in a history.
type happening struct {
	kind, board, key string
	node             int
	score            int64
	wait             time.Duration
	fault            faultstore.Fault
}

// String is the happening in a few words.
func (h happening) String() string {
	return fmt.Sprintf("%s on %d: %s/%s %d %v %v", h.kind, h.node, h.board, h.key, h.score, h.wait, h.fault)
}

func drawHappening(t *rapid.T) happening {
	kinds := []string{
		"submit", "submit", "submit", "submit", "submit", "submit", "fault", "fault", "fault", "wait", "wait", "flush", "flush",
		"land", "crash", "remove", "remove", "seal",
	}
	h := happening{kind: rapid.SampledFrom(kinds).Draw(t, "kind"), node: rapid.IntRange(0, 1).Draw(t, "node")}
	switch h.kind {
	case "submit", "remove", "seal":
		h.board = rapid.SampledFrom([]string{"Best", "Time", "Level", "Coins"}).Draw(t, "board")
		h.key = rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key")
		h.score = rapid.Int64Range(0, 99).Draw(t, "score")
	case "wait":
		h.wait = time.Duration(rapid.IntRange(1, 200).Draw(t, "tenths")) * 100 * time.Millisecond
	case "fault":
		h.fault.Kind = rapid.SampledFrom([]faultstore.Kind{
			faultstore.Pass, faultstore.FailBefore, faultstore.FailAfter, faultstore.Late, faultstore.Hang, faultstore.HangApplied,
		}).Draw(t, "fault")
		h.fault.Delay = time.Duration(rapid.IntRange(0, 15).Draw(t, "delay")) * time.Second // the longest outlive their calls
	}
	return h
}

// wish is one score that was handed in. Under store.Sum it is a digit: see digitOf.
type wish struct {
	node  *crewmate
	score int64
	stamp uint64
	state wishState
}

type wishState uint8

const (
	waits wishState = iota // in a node's queue, or on its way
	must                   // acknowledged
	may                    // nobody knows, for ever: its node crashed, or its key was removed meanwhile
	gone                   // removed, or handed in after the seal
)

// crewmate is a node: a service on a way to the store of its own.
type crewmate struct {
	*board.Service
	name   string
	faults *faultstore.Faults
	mu     struct {
		sync.Mutex
		next []faultstore.Fault // what the next merges meet
		dead bool
	}
}

// chronicle is a history that is being played.
type chronicle struct {
	t       *testing.T
	memory  *mirrored
	nodes   [2]*crewmate
	all     []*crewmate // those that were thrown away, too
	born    int
	stamps  uint64
	wishes  map[string]map[string][]*wish // by board and key
	sealed  map[string]bool
	writes  int // of one window
	closing sync.WaitGroup
}

// mirrored is a store that does everything to a model, too.
type mirrored struct {
	store.Boards
	mu struct {
		sync.Mutex
		models   map[string]*storetest.ModelBoard
		problems []error
	}
}

// Create implements store.Boards.
func (m *mirrored) Create(ctx context.Context, name string, spec store.BoardSpec) (store.BoardInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	info, err := m.Boards.Create(ctx, name, spec)
	if err == nil && m.mu.models[name] == nil {
		m.mu.models[name] = storetest.NewModelBoard(spec.Order)
	}
	return info, err
}

// Merge implements store.Boards.
func (m *mirrored) Merge(ctx context.Context, name string, batch store.Batch) ([]store.Change, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changes, err := m.Boards.Merge(ctx, name, batch)
	if err != nil {
		return changes, err
	}
	if want, err := m.mu.models[name].Merge(batch); err != nil || !slices.Equal(changes, want) {
		m.mu.problems = append(m.mu.problems, fmt.Errorf("%s: %v changes %v, the model %v, %w", name, batch, changes, want, err))
	}
	return changes, nil
}

// Remove implements store.Boards.
func (m *mirrored) Remove(ctx context.Context, name string, keys ...string) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.Boards.Remove(ctx, name, keys...)
	if err == nil {
		_, err = m.mu.models[name].Remove(keys...)
	}
	return n, err
}

// Seal implements store.Boards.
func (m *mirrored) Seal(ctx context.Context, name string) (store.BoardInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	info, err := m.Boards.Seal(ctx, name)
	if err == nil {
		m.mu.models[name].Seal()
	}
	return info, err
}

// check compares each board whole with its model.
func (m *mirrored) check(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	errs := m.mu.problems
	for name, model := range m.mu.models {
		page, err := m.Page(ctx, name, 0, store.MaxPage, store.Ordinal)
		if got, want := strings.Join(rows(page), " "), strings.Join(rows(store.Page{Entries: model.Standings()}), " "); err != nil || got != want {
			errs = append(errs, fmt.Errorf("%s is %s, the model %s, %w", name, got, want, err))
		}
	}
	return errors.Join(errs...)
}

// start puts a new node into a place.
func (c *chronicle) start(place int) {
	c.born++
	m := &crewmate{name: fmt.Sprintf("n%d", c.born)}
	m.faults = faultstore.New(&faultstore.Options{Rule: m.meet})
	var err error
	m.Service, err = board.NewOn(board.Host{
		ID: m.name, Boards: m.faults.Boards(c.memory), Clock: clock.System(), Now: time.Now, Closing: make(chan struct{}), Logger: discard(),
	}, &board.Options{Boards: chronicleBoards(), WritesPerFlush: c.writes, MaxWriteAttempts: -1, CloseTimeout: time.Minute})
	if err != nil {
		c.t.Fatal(err)
	}
	c.nodes[place], c.all = m, append(c.all, m)
}

// land has what is late arrive, also of nodes that are gone.
func (c *chronicle) land() {
	for _, m := range c.all {
		m.faults.Land()
	}
}

// meet is the rule of a node's way to the store.
func (m *crewmate) meet(call faultstore.Call) faultstore.Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.mu.dead:
		return faultstore.Fault{Kind: faultstore.FailBefore}
	case call.Op != "merge" || len(m.mu.next) == 0:
		return faultstore.Fault{}
	}
	f := m.mu.next[0]
	m.mu.next = m.mu.next[1:]
	return f
}

func (m *crewmate) plan(f ...faultstore.Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f == nil {
		m.mu.next = nil
	}
	m.mu.next = append(m.mu.next, f...)
}

// crash throws a node away, with its queue. What it has sent may still land.
func (c *chronicle) crash(place int) {
	m := c.nodes[place]
	m.mu.Lock()
	m.mu.dead = true
	m.mu.Unlock()
	c.each(func(_, _ string, w *wish) {
		if w.node == m && w.state == waits {
			w.state = may
		}
	})
	c.closing.Go(func() { _, _ = m.Close(context.Background()) })
	c.start(place)
}

// each calls fn with every wish.
func (c *chronicle) each(fn func(board, key string, w *wish)) {
	for name, keys := range c.wishes {
		for key, wishes := range keys {
			for _, w := range wishes {
				fn(name, key, w)
			}
		}
	}
}

// sums are how many digits a key of sums has.
const sums = 30

// digitOf is how often the n-th wish of a key of sums is counted.
func digitOf(sum int64, n int) int64 { return sum >> (2 * n) & 3 }

func (c *chronicle) submit(h happening) error {
	m := c.nodes[h.node]
	if c.wishes[h.board] == nil {
		c.wishes[h.board] = make(map[string][]*wish)
	}
	n := len(c.wishes[h.board][h.key])
	w := &wish{node: m, score: h.score}
	if c.sealed[h.board] {
		w.state = gone
	}
	switch h.board {
	case "Level":
		c.stamps++
		w.stamp = c.stamps*7919%1009 + 1 // newer ones come before older ones
		if err := m.SubmitLast(h.board, h.key, int64(w.stamp), store.Stamp{Revision: w.stamp}); err != nil {
			return c.unlessSealed(h.board, err)
		}
		w.score = int64(w.stamp)
	case "Coins":
		if n == sums {
			return nil
		}
		w.score = 1 << (2 * n)
		fallthrough
	default:
		if err := m.Submit(h.board, h.key, w.score); err != nil {
			return c.unlessSealed(h.board, err)
		}
	}
	c.wishes[h.board][h.key] = append(c.wishes[h.board][h.key], w)
	return nil
}

// unlessSealed is the error of a write, unless the board is sealed and that is what it says.
func (c *chronicle) unlessSealed(name string, err error) error {
	if c.sealed[name] && errors.Is(err, store.ErrSealed) {
		return nil
	}
	return err
}

// seal ends a board; what waits for it then may be on its way, or not.
func (c *chronicle) seal(h happening) error {
	switch _, err := c.nodes[h.node].Seal(c.t.Context(), h.board); {
	case errors.Is(err, store.ErrNoBoard):
		return nil
	case err != nil:
		return err
	}
	c.sealed[h.board] = true
	for _, wishes := range c.wishes[h.board] {
		for _, w := range wishes {
			if w.state == waits {
				w.state = may
			}
		}
	}
	return nil
}

// settled marks what a node has written when nothing waits there any more.
func (c *chronicle) settled(m *crewmate) {
	if total := m.Stats().Total; total.Queued+total.InFlight > 0 {
		return
	}
	c.each(func(_, _ string, w *wish) {
		if w.node == m && w.state == waits {
			w.state = must
		}
	})
}

// remove removes a key; what has been sent of it lands before, since it would bring it back.
func (c *chronicle) remove(h happening) error {
	m := c.nodes[h.node]
	for _, n := range c.nodes {
		n.plan()
	}
	later(30 * time.Second) // what is delayed lands, or ends, or is late
	c.land()
	if h.score%2 == 0 {
		if err := c.submit(h); err != nil { // and what waits in the queue goes with the entry
			return err
		}
	}
	_, err := m.Remove(c.t.Context(), h.board, h.key)
	for range 60 { // sums that failed are written before, a few a window
		if !errors.Is(err, store.ErrUnavailable) {
			break
		}
		_, err = m.Remove(c.t.Context(), h.board, h.key)
	}
	switch {
	case c.sealed[h.board] && errors.Is(err, store.ErrSealed):
		return nil
	case err != nil:
		return fmt.Errorf("remove: %w", err)
	}
	for _, w := range c.wishes[h.board][h.key] {
		switch {
		case w.state == must, w.state == waits && w.node == m:
			w.state = gone
		case w.state == waits:
			w.state = may
		}
	}
	return nil
}

func (c *chronicle) happen(h happening) error {
	m := c.nodes[h.node]
	switch h.kind {
	case "submit":
		return c.submit(h)
	case "fault":
		m.plan(h.fault)
	case "wait":
		later(h.wait)
	case "flush":
		_ = m.FlushNow(c.t.Context())
		c.settled(m)
	case "land":
		c.land()
	case "crash":
		c.crash(h.node)
	case "remove":
		return c.remove(h)
	case "seal":
		return c.seal(h)
	}
	return nil
}

// end closes both nodes, which must write all, and lands what is late.
func (c *chronicle) end() error {
	var errs []error
	for _, m := range c.nodes {
		m.plan()
		c.land()
		r, err := m.Close(c.t.Context())
		if !r.Complete {
			errs = append(errs, fmt.Errorf("%s: %+v, %w", m.name, r, err))
		}
		c.each(func(_, _ string, w *wish) {
			if w.node == m && w.state == waits {
				w.state = must
			}
		})
		c.land()
	}
	c.closing.Wait()
	later(time.Minute)
	return errors.Join(errs...)
}

// check compares what is stored with the wishes.
func (c *chronicle) check() error {
	var errs []error
	for name, keys := range c.wishes {
		for key, wishes := range keys {
			got, err := c.memory.Scores(c.t.Context(), name, key)
			if err != nil && !errors.Is(err, store.ErrNoBoard) {
				return err
			}
			e, has := got[key]
			if problem := judge(name, wishes, e.Score, has); problem != "" {
				errs = append(errs, fmt.Errorf("%s/%s: stored %d, %v: %s", name, key, e.Score, has, problem))
			}
		}
	}
	return errors.Join(errs...)
}

// judge says what is wrong with a stored score.
func judge(name string, wishes []*wish, score int64, has bool) string {
	if name == "Coins" {
		for n, w := range wishes {
			switch times := digitOf(score, n); {
			case times > 1:
				return fmt.Sprintf("score %d counted %d times", n, times)
			case w.state == must && times == 0:
				return fmt.Sprintf("score %d is lost", n)
			case w.state == gone && times > 0:
				return fmt.Sprintf("score %d was removed", n)
			}
		}
		if score>>(2*len(wishes)) != 0 {
			return "more than was handed in"
		}
		return ""
	}
	found := false
	for _, w := range wishes {
		better := w.score > score
		if name == "Time" {
			better = w.score < score
		}
		if w.state == must && (!has || better) {
			return fmt.Sprintf("%d is lost", w.score)
		}
		found = found || w.score == score && w.state != gone
	}
	if has && !found {
		return "nobody handed it in, or it was removed"
	}
	return ""
}

func playChronicle(t *testing.T, writes int, happenings []happening) (err error) {
	t.Helper()
	c := &chronicle{
		t: t, memory: &mirrored{Boards: memstore.New(nil).Boards()},
		wishes: make(map[string]map[string][]*wish), sealed: make(map[string]bool), writes: writes,
	}
	c.memory.mu.models = make(map[string]*storetest.ModelBoard)
	for place := range c.nodes {
		c.start(place)
	}
	for i, h := range happenings {
		if e := c.happen(h); e != nil {
			err = errors.Join(err, fmt.Errorf("%d, %v: %w", i, h, e))
		}
	}
	return errors.Join(err, c.end(), c.check(), c.memory.check(t.Context()))
}

// Two nodes hand in scores on one store, fail in every way, are thrown away with writes on
// their way, and are replaced.
func TestChroniclesOfTwoNodesThatCrash(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		happenings := rapid.SliceOfN(rapid.Custom(drawHappening), 40, 120).Draw(rt, "happenings")
		writes := rapid.SampledFrom([]int{2, 5, 10_000}).Draw(rt, "writes a window")
		var err error
		synctest.Test(t, func(t *testing.T) { err = playChronicle(t, writes, happenings) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}
