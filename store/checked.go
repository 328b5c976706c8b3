package store

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// checkedRecords refuses malformed calls before a driver sees them.
type checkedRecords struct{ Records }

func (c checkedRecords) Get(ctx context.Context, keys ...string) ([]Record, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if err := checkKeys("keys", keys, MaxGetKeys); err != nil {
		return nil, err
	}
	return c.Records.Get(ctx, keys...)
}

func (c checkedRecords) Scan(ctx context.Context, r Range) iter.Seq2[Record, error] {
	if err := checkRange(r); err != nil {
		return func(yield func(Record, error) bool) { yield(Record{}, err) }
	}
	return c.Records.Scan(ctx, r)
}

// Commit answers the malformed transactions itself and hands the others to the driver.
// A key that two transactions of one call write is malformed in the later one.
func (c checkedRecords) Commit(ctx context.Context, txs ...Tx) []error {
	errs := make([]error, len(txs))
	good, place := make([]Tx, 0, len(txs)), make([]int, 0, len(txs))
	multi := c.Abilities().MultiKey
	seen := make(map[string]struct{}, len(txs))
	for i, tx := range txs {
		if errs[i] = checkTx(i, tx, multi, seen); errs[i] == nil && i >= MaxCommit {
			errs[i] = &InvalidError{Field: "txs", Problem: fmt.Sprintf("at most %d transactions a call, got %d", MaxCommit, len(txs)), Large: true}
		}
		if errs[i] == nil {
			good, place = append(good, tx), append(place, i)
		}
	}
	if len(good) == 0 {
		return errs
	}
	for j, err := range c.Records.Commit(ctx, good...) {
		errs[place[j]] = err
	}
	return errs
}

func (c checkedRecords) Now(ctx context.Context) (time.Time, error) {
	t, err := c.Records.Now(ctx)
	return t.UTC(), err
}

// checkedBoards refuses malformed calls before a driver sees them.
type checkedBoards struct{ Boards }

func (c checkedBoards) Create(ctx context.Context, board string, spec BoardSpec) (BoardInfo, error) {
	if err := firstError(checkBoard(board), checkSpec(spec)); err != nil {
		return BoardInfo{}, err
	}
	return c.Boards.Create(ctx, board, spec)
}

func (c checkedBoards) Merge(ctx context.Context, board string, batch Batch) ([]Change, error) {
	if err := firstError(checkBoard(board), checkBatch(batch)); err != nil {
		return nil, err
	}
	if len(batch.Entries) == 0 {
		return nil, nil
	}
	return c.Boards.Merge(ctx, board, batch)
}

func (c checkedBoards) Page(ctx context.Context, board string, offset int64, limit int, mode RankMode) (Page, error) {
	if err := firstError(checkBoard(board), checkCount("limit", limit, MaxPage), checkMode(mode)); err != nil {
		return Page{}, err
	}
	if offset < 0 {
		return Page{}, &InvalidError{Field: "offset", Problem: fmt.Sprintf("0 or more expected, got %d", offset)}
	}
	return c.Boards.Page(ctx, board, offset, limit, mode)
}

func (c checkedBoards) Standing(ctx context.Context, board, key string, mode RankMode) (Standing, bool, error) {
	if err := firstError(checkBoard(board), checkEntryKey("key", key), checkMode(mode)); err != nil {
		return Standing{}, false, err
	}
	return c.Boards.Standing(ctx, board, key, mode)
}

func (c checkedBoards) Around(ctx context.Context, board, key string, n int, mode RankMode) (Page, error) {
	if err := firstError(checkBoard(board), checkEntryKey("key", key), checkCount("n", n, (MaxPage-1)/2), checkMode(mode)); err != nil {
		return Page{}, err
	}
	return c.Boards.Around(ctx, board, key, n, mode)
}

func (c checkedBoards) Scores(ctx context.Context, board string, keys ...string) (map[string]Entry, error) {
	if err := firstError(checkBoard(board), checkEntryKeys(keys)); err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return map[string]Entry{}, nil
	}
	return c.Boards.Scores(ctx, board, keys...)
}

func (c checkedBoards) Remove(ctx context.Context, board string, keys ...string) (int, error) {
	if err := firstError(checkBoard(board), checkEntryKeys(keys)); err != nil {
		return 0, err
	}
	if len(keys) == 0 {
		return 0, nil
	}
	return c.Boards.Remove(ctx, board, keys...)
}

func (c checkedBoards) Erase(ctx context.Context, board string, keys ...string) (int, error) {
	if err := firstError(checkBoard(board), checkEntryKeys(keys)); err != nil {
		return 0, err
	}
	if len(keys) == 0 {
		return 0, nil
	}
	return c.Boards.Erase(ctx, board, keys...)
}

func (c checkedBoards) Walk(ctx context.Context, board string, from Cursor, limit int) (Page, Cursor, error) {
	if err := firstError(checkBoard(board), checkCount("limit", limit, MaxPage), checkCursor(from)); err != nil {
		return Page{}, from, err
	}
	if limit == 0 {
		return Page{}, from, &InvalidError{Field: "limit", Problem: "1 or more expected, got 0"}
	}
	if from.Done() { // nothing is left to ask for, and the order is not known here
		info := BoardInfo{Generation: from.Generation, Sequence: from.Version, Count: from.Total}
		return Page{Total: from.Total, Info: info}, from, nil
	}
	return c.Boards.Walk(ctx, board, from, limit)
}

func (c checkedBoards) Hide(ctx context.Context, board string, hidden bool, keys ...string) (int, error) {
	if err := firstError(checkBoard(board), checkEntryKeys(keys)); err != nil {
		return 0, err
	}
	if len(keys) == 0 {
		return 0, nil
	}
	return c.Boards.Hide(ctx, board, hidden, keys...)
}

func (c checkedBoards) Hidden(ctx context.Context, board, after string, limit int) ([]HiddenEntry, error) {
	if err := firstError(checkBoard(board), checkCount("limit", limit, MaxPage), checkListing("", after)); err != nil {
		return nil, err
	}
	return c.Boards.Hidden(ctx, board, after, limit)
}

func (c checkedBoards) Check(ctx context.Context, board string, repair bool) (BoardCheck, error) {
	if err := checkBoard(board); err != nil {
		return BoardCheck{}, err
	}
	return c.Boards.Check(ctx, board, repair)
}

func (c checkedBoards) Seal(ctx context.Context, board string) (BoardInfo, error) {
	if err := checkBoard(board); err != nil {
		return BoardInfo{}, err
	}
	return c.Boards.Seal(ctx, board)
}

func (c checkedBoards) Info(ctx context.Context, board string) (BoardInfo, error) {
	if err := checkBoard(board); err != nil {
		return BoardInfo{}, err
	}
	return c.Boards.Info(ctx, board)
}

func (c checkedBoards) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	if err := firstError(checkCount("limit", limit, MaxPage), checkListing(prefix, after)); err != nil {
		return nil, err
	}
	return c.Boards.List(ctx, prefix, after, limit)
}

func (c checkedBoards) Drop(ctx context.Context, board string) error {
	if err := checkBoard(board); err != nil {
		return err
	}
	return c.Boards.Drop(ctx, board)
}

// checkedBus refuses malformed calls before a driver sees them.
type checkedBus struct{ Bus }

func (c checkedBus) Publish(ctx context.Context, topic string, payload []byte) error {
	if err := checkText("topic", topic, MaxTopic); err != nil {
		return err
	}
	if len(payload) > MaxPayload {
		return &InvalidError{Field: "payload", Problem: fmt.Sprintf("at most %d bytes, got %d", MaxPayload, len(payload)), Large: true}
	}
	return c.Bus.Publish(ctx, topic, payload)
}

func (c checkedBus) Subscribe(ctx context.Context, topic string, receive func([]byte)) (Subscription, error) {
	if err := checkText("topic", topic, MaxTopic); err != nil {
		return nil, err
	}
	return c.Bus.Subscribe(ctx, topic, receive)
}
