package store_test

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/shoalworks/shoal/store"
)

// spy is a driver that plays all parts, does nothing, and writes down what reaches it.
type spy struct {
	multiKey bool
	calls    []string
	commits  [][]store.Tx
	closed   []error // what the next Close answers, in order
	after    func(call string)
}

func (s *spy) saw(format string, args ...any) {
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
	if s.after != nil {
		s.after(s.calls[len(s.calls)-1])
	}
}

// spyRecords, spyBoards and spyBus are its parts: their methods of one name differ in type.
type (
	spyRecords struct{ *spy }
	spyBoards  struct{ *spy }
	spyBus     struct{ *spy }
)

func (s spyRecords) Get(_ context.Context, keys ...string) ([]store.Record, error) {
	s.saw("get %q", keys)
	return make([]store.Record, len(keys)), nil
}

func (s spyRecords) Scan(_ context.Context, r store.Range) iter.Seq2[store.Record, error] {
	s.saw("scan %q to %q", r.From, r.To)
	return func(yield func(store.Record, error) bool) { yield(store.Record{Key: "scanned"}, nil) }
}

func (s spyRecords) Commit(_ context.Context, txs ...store.Tx) []error {
	s.commits = append(s.commits, txs)
	s.saw("commit %d", len(txs))
	errs := make([]error, len(txs))
	for i, tx := range txs {
		errs[i] = &store.ConflictError{Key: tx[0].Key}
	}
	return errs
}

func (s spyRecords) Now(context.Context) (time.Time, error) {
	s.saw("now")
	return time.Date(2026, 8, 11, 12, 0, 0, 0, time.FixedZone("elsewhere", 7200)), nil
}

func (s spyRecords) Abilities() store.Abilities { return store.Abilities{MultiKey: s.multiKey} }

func (s *spy) close(part string) error {
	s.saw("close %s", part)
	if len(s.closed) == 0 {
		return nil
	}
	err := s.closed[0]
	s.closed = s.closed[1:]
	return err
}

func (s spyRecords) Close(context.Context) error { return s.close("records") }
func (s spyBoards) Close(context.Context) error  { return s.close("boards") }
func (s spyBus) Close(context.Context) error     { return s.close("bus") }

func (s spyBoards) Create(_ context.Context, board string, _ store.BoardSpec) (store.BoardInfo, error) {
	s.saw("create %s", board)
	return store.BoardInfo{}, nil
}

func (s spyBoards) Merge(_ context.Context, board string, batch store.Batch) ([]store.Change, error) {
	s.saw("merge %s", board)
	return make([]store.Change, len(batch.Entries)), nil
}

func (s spyBoards) Page(_ context.Context, board string, _ int64, _ int, _ store.RankMode) (store.Page, error) {
	s.saw("page %s", board)
	return store.Page{}, nil
}

func (s spyBoards) Standing(_ context.Context, board, key string, _ store.RankMode) (store.Standing, bool, error) {
	s.saw("standing %s %s", board, key)
	return store.Standing{}, true, nil
}

func (s spyBoards) Around(_ context.Context, board, key string, _ int, _ store.RankMode) (store.Page, error) {
	s.saw("around %s %s", board, key)
	return store.Page{}, nil
}

func (s spyBoards) Walk(_ context.Context, board string, from store.Cursor, _ int) (store.Page, store.Cursor, error) {
	s.saw("walk %s", board)
	return store.Page{}, from, nil
}

func (s spyBoards) Hide(_ context.Context, board string, hidden bool, keys ...string) (int, error) {
	s.saw("hide %s %v %q", board, hidden, keys)
	return 0, nil
}

func (s spyBoards) Hidden(_ context.Context, board, after string, _ int) ([]store.HiddenEntry, error) {
	s.saw("hidden %s %q", board, after)
	return nil, nil
}

func (s spyBoards) Check(_ context.Context, board string, repair bool) (store.BoardCheck, error) {
	s.saw("check %s %v", board, repair)
	return store.BoardCheck{}, nil
}

func (s spyBoards) Scores(_ context.Context, board string, keys ...string) (map[string]store.Entry, error) {
	s.saw("scores %s %q", board, keys)
	return nil, nil
}

func (s spyBoards) Remove(_ context.Context, board string, keys ...string) (int, error) {
	s.saw("remove %s %q", board, keys)
	return len(keys), nil
}

func (s spyBoards) Erase(_ context.Context, board string, keys ...string) (int, error) {
	s.saw("erase %s %q", board, keys)
	return len(keys), nil
}

func (s spyBoards) Seal(_ context.Context, board string) (store.BoardInfo, error) {
	s.saw("seal %s", board)
	return store.BoardInfo{}, nil
}

func (s spyBoards) Info(_ context.Context, board string) (store.BoardInfo, error) {
	s.saw("info %s", board)
	return store.BoardInfo{}, nil
}

func (s spyBoards) List(_ context.Context, prefix, after string, limit int) ([]string, error) {
	s.saw("list %q %q %d", prefix, after, limit)
	return nil, nil
}

func (s spyBoards) Drop(_ context.Context, board string) error {
	s.saw("drop %s", board)
	return nil
}

func (s spyBus) Publish(_ context.Context, topic string, _ []byte) error {
	s.saw("publish %s", topic)
	return nil
}

func (s spyBus) Subscribe(_ context.Context, topic string, _ func([]byte)) (store.Subscription, error) {
	s.saw("subscribe %s", topic)
	return spySubscription{}, nil
}

type spySubscription struct{}

func (spySubscription) Close() {}
