package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// editing is a change of a board in progress. What is to be written is collected, and goes to
// the server together when the change ends.
type editing struct {
	*boards
	transaction *transaction
	board       boardRow
	known       map[string]oldEntry // of the keys of the call, those with an entry or hidden
	counted     uint64              // the number of the last batch of the call's source; 0: not known
	sequence    uint64              // of the board before the change
	shelves     []*standings.Shelf

	writes  *pgx.Batch
	counts  []counting
	leaving []leaving
	shown   []leaving // entries that stand there again
}

// oldEntry is a key before a change. The zero value is one that the board does not know.
type oldEntry struct {
	standings.Stored
	at     standings.Position
	hidden bool // its key is
}

// counting is n entries more, or fewer, at a position.
type counting struct {
	at standings.Position
	n  int64
}

// edit is what a change of a board needs to know.
type edit struct {
	operation string
	board     string
	keys      []string
	sealed    bool   // a seal does not stop it
	source    string // of a batch of sums
}

const (
	lockBoard = `SELECT ` + boardColumns + ` FROM {s}.boards b WHERE b.name = $1::text FOR UPDATE`
	// boardNamed is the id of the board, as a value that is known before the statement looks
	// for anything else.
	boardNamed    = `(SELECT id FROM {s}.boards WHERE name = $1::text)`
	selectEntries = `SELECT key, place, sequence, epoch, revision FROM {s}.entries
		WHERE board = ` + boardNamed + ` AND key = ANY ($2::text[])`
	selectHiddenKeys = `SELECT key, scored, place, sequence, epoch, revision FROM {s}.hidden
		WHERE (SELECT hidden FROM {s}.boards WHERE name = $1::text) > 0
			AND board = ` + boardNamed + ` AND key = ANY ($2::text[])`
	selectSource = `SELECT n FROM {s}.sources WHERE board = ` + boardNamed + ` AND source = $2::text`
	// selectShelves answers the buckets, too, when there are few shelves.
	selectShelves = `SELECT place, sequence,
			CASE WHEN (SELECT count(*) FROM {s}.shelves WHERE board = ` + boardNamed + `) <= $2::bigint THEN buckets END
		FROM {s}.shelves WHERE board = ` + boardNamed + ` ORDER BY place, sequence`
)

// whole is how many shelves are read whole with the board, whatever is to be changed: some
// 25 kB, which costs less than to ask again, and more when so many entries are to be changed
// that they fall on most shelves.
func (o boardOptions) whole(keys int) int64 {
	return min(o.few+int64(keys)*o.few/128, 8*o.few)
}

// change locks the board's row, reads what f needs, and has f collect what is to be written,
// which is written and committed when f answers nil.
func (h *boards) change(ctx context.Context, w edit, f func(e *editing) error) error {
	if err := h.gate.enter(ctx, w.operation+" board "+w.board); err != nil {
		return err
	}
	defer h.gate.leave()
	give, err := h.turns.take(ctx, h.database, w.board)
	if err != nil {
		return boardError(w.operation, w.board, err)
	}
	defer give()
	stale := false
	err = h.database.transact(ctx, func(ctx context.Context, t *transaction) error {
		e, err := h.begin(ctx, t, w)
		if err == nil {
			err = f(e)
		}
		if err == nil {
			err = e.end(ctx)
			stale = e.board.log.Stale
		}
		return damage(err)
	})
	if err != nil {
		return boardError(w.operation, w.board, err)
	}
	if stale {
		h.sweeper.wake()
	}
	return nil
}

// begin locks and reads, or answers why the board takes no writes.
func (h *boards) begin(ctx context.Context, t *transaction, w edit) (*editing, error) {
	e := &editing{boards: h, transaction: t, known: make(map[string]oldEntry, len(w.keys)), writes: &pgx.Batch{}}
	found := false
	b := &pgx.Batch{}
	b.Queue(h.database.sql(lockBoard), w.board).QueryRow(func(row pgx.Row) (err error) {
		found, err = e.board.find(row, h.ahead.Load())
		return err
	})
	b.Queue(h.database.sql(selectEntries), w.board, w.keys).Query(e.readEntries)
	b.Queue(h.database.sql(selectHiddenKeys), w.board, w.keys).Query(e.readHidden)
	b.Queue(h.database.sql(selectShelves), w.board, h.whole(len(w.keys))).Query(e.readShelves)
	if w.source != "" {
		b.Queue(h.database.sql(selectSource), w.board, w.source).Query(func(rows pgx.Rows) error {
			var n int64
			_, err := pgx.ForEachRow(rows, []any{&n}, func() error { return nil })
			e.counted = uint64(n)
			return err
		})
	}
	if err := t.send(ctx, b); err != nil {
		return nil, err
	}
	switch {
	case !found:
		return nil, store.ErrNoBoard
	case e.board.info.Sealed && !w.sealed:
		return nil, store.ErrSealed
	}
	e.sequence = e.board.info.Sequence
	e.board.log.Forget(e.board.idle)
	return e, nil
}

func (e *editing) readEntries(rows pgx.Rows) error {
	var key string
	var at standings.Position
	var epoch, revision *int64
	_, err := pgx.ForEachRow(rows, []any{&key, &at.Place, &at.Sequence, &epoch, &revision}, func() error {
		e.known[key] = oldEntry{at: at, Stored: e.stored(at, epoch, revision)}
		return nil
	})
	return err
}

func (e *editing) readHidden(rows pgx.Rows) error {
	var key string
	var scored bool
	var at standings.Position
	var epoch, revision *int64
	_, err := pgx.ForEachRow(rows, []any{&key, &scored, &at.Place, &at.Sequence, &epoch, &revision}, func() error {
		old := oldEntry{hidden: true}
		if scored {
			old.at, old.Stored = at, e.stored(at, epoch, revision)
		}
		e.known[key] = old
		return nil
	})
	return err
}

func (e *editing) stored(at standings.Position, epoch, revision *int64) standings.Stored {
	s := standings.Stored{Exists: true, Score: standings.ScoreAt(e.board.info.Order, at.Place)}
	if epoch != nil && revision != nil {
		s.Stamp = store.Stamp{Epoch: uint64(*epoch), Revision: uint64(*revision)}
	}
	return s
}

// next gives the next sequence.
func (e *editing) next() int64 {
	e.board.info.Sequence++
	return int64(e.board.info.Sequence)
}

// count counts n entries more, or fewer, at a position.
func (e *editing) count(at standings.Position, n int64) {
	e.board.info.Count += n
	e.counts = append(e.counts, counting{at, n})
}

// leave takes an entry out of the counts and, if somebody walks, into the log.
func (e *editing) leave(key string, at standings.Position, version int64) {
	e.leaving = append(e.leaving, leaving{key: key, at: at, version: version})
	e.count(at, -1)
}

// returns puts an entry back to where it stood.
func (e *editing) returns(key string, at standings.Position, version int64) {
	e.shown = append(e.shown, leaving{key: key, at: at, version: version})
	e.count(at, 1)
}

// queue adds a statement to what is to be written.
func (e *editing) queue(sql string, arguments ...any) {
	e.writes.Queue(e.database.sql(sql), arguments...)
}

// end writes everything and commits: what the log needs of the entries as they were, the
// entries, the counts, and the board's row, as few round trips as there are answers that the
// next statement needs.
func (e *editing) end(ctx context.Context) error {
	if e.board.info.Sequence == e.sequence { // stamps at most
		return e.transaction.commit(ctx, e.writes)
	}
	first, err := e.logged(ctx)
	if err != nil {
		return err
	}
	first.QueuedQueries = append(first.QueuedQueries, e.writes.QueuedQueries...)
	if len(e.counts) > 0 {
		if first, err = e.recounted(ctx, first); err != nil {
			return err
		}
	}
	e.board.save(e.database, first)
	return e.transaction.commit(ctx, first)
}

// damage makes counts that cannot be right an answer of the vocabulary: nothing was applied.
func damage(err error) error {
	if errors.Is(err, standings.ErrDamaged) && !inVocabulary(err) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}
