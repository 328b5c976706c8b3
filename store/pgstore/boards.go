package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// boards is store.Boards on the tables of a schema.
//
// Every change of a board locks its row first, FOR UPDATE, and nothing else: so changes of one
// board come one after the other, whatever their keys, and no two can wait for each other. What
// is read after that, in the same READ COMMITTED transaction, is read as it is now, since each
// statement sees what was committed before it. Reads lock nothing; those of several statements
// are REPEATABLE READ, so that they are of one state of the board.
type boards struct {
	gate     closing
	database *database
	boardOptions
	turns   turns
	sweeper *sweeper
}

// boardOptions are what only tests set.
type boardOptions struct {
	sizes standings.Sizes
	few   int64         // shelves that are read whole for a single entry
	ahead *atomic.Int64 // microseconds that are added to the server's clock
}

// bucketSizes are smaller than those of an engine whose rows are at hand: the entries of a
// bucket are counted one by one, and a shelf of at most 80 buckets is short enough to stay in
// its row (PostgreSQL moves what is longer than 2 kB elsewhere).
func bucketSizes() standings.Sizes {
	z := standings.DefaultSizes()
	z.Bucket, z.Shelf = 500, 40
	return z
}

// newBoards are the boards of a schema.
func newBoards(ctx context.Context, d *database) store.Boards {
	h := &boards{database: d, boardOptions: boardOptions{bucketSizes(), 16, new(atomic.Int64)}}
	if o := d.options.boards; o != nil {
		h.boardOptions = *o
	}
	h.sweeper = startSweeper(ctx, h)
	return h
}

// boardError says what was done to which board.
func boardError(operation, board string, err error) error {
	return fmt.Errorf("pgstore: %s board %s: %w", operation, board, err)
}

const (
	insertBoard = `INSERT INTO {s}.boards (name, ascending, generation) VALUES ($1::text, $2::boolean, $3::text)
		ON CONFLICT (name) DO NOTHING`
	selectBoard = `SELECT ` + boardColumns + ` FROM {s}.boards b WHERE b.name = $1::text`
	sealBoard   = `UPDATE {s}.boards b SET sealed = true WHERE b.name = $1::text RETURNING ` + boardColumns
	dropBoard   = `UPDATE {s}.boards SET name = NULL WHERE name = $1::text`
	selectNames = `SELECT name FROM {s}.boards WHERE name >= $1::text AND name < $2::text ORDER BY name LIMIT $3::bigint`
)

// Create implements store.Boards.
func (h *boards) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	if err := h.gate.enter(ctx, "create board "+board); err != nil {
		return store.BoardInfo{}, err
	}
	defer h.gate.leave()
	for {
		info, found, err := h.create(ctx, board, spec)
		if err != nil {
			return store.BoardInfo{}, boardError("create", board, err)
		}
		if found {
			return info, nil
		}
		// It existed, and was dropped before it was looked at.
	}
}

// create makes the board unless it exists, and looks at it.
func (h *boards) create(ctx context.Context, board string, spec store.BoardSpec) (info store.BoardInfo, found bool, err error) {
	err = h.database.transact(ctx, func(ctx context.Context, t *transaction) error {
		b := &pgx.Batch{}
		b.Queue(h.database.sql(insertBoard), board, spec.Order == store.Ascending, spec.Generation)
		b.Queue(h.database.sql(selectBoard), board).QueryRow(func(row pgx.Row) error {
			var r boardRow
			found, err = r.find(row, h.ahead.Load())
			info = r.info
			return err
		})
		return t.commit(ctx, b)
	})
	if err == nil && found && info.Order != spec.Order {
		err = fmt.Errorf("%w: it exists %s, not %s", store.ErrInvalid, info.Order, spec.Order)
	}
	return info, found, err
}

// Seal implements store.Boards. It waits for the board's row, and with it for every Merge that
// has it: those that come later find the board sealed.
func (h *boards) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	give, err := h.turns.take(ctx, h.database, board)
	if err != nil {
		return store.BoardInfo{}, boardError("seal", board, err)
	}
	defer give()
	return h.row(ctx, "seal", board, sealBoard, h.database.statement)
}

// Info implements store.Boards.
func (h *boards) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	return h.row(ctx, "look at", board, selectBoard, h.database.read)
}

// row runs a statement that answers the board's row.
func (h *boards) row(ctx context.Context, operation, board, sql string,
	run func(context.Context, func(context.Context, *pgx.Conn) error) error,
) (store.BoardInfo, error) {
	if err := h.gate.enter(ctx, operation+" board "+board); err != nil {
		return store.BoardInfo{}, err
	}
	defer h.gate.leave()
	var r boardRow
	err := run(ctx, func(ctx context.Context, c *pgx.Conn) error {
		found, err := r.find(c.QueryRow(ctx, h.database.sql(sql), board), h.ahead.Load())
		if err == nil && !found {
			err = store.ErrNoBoard
		}
		return err
	})
	if err != nil {
		return store.BoardInfo{}, boardError(operation, board, err)
	}
	return r.info, nil
}

// Drop implements store.Boards. The board loses its name in one write, and with it every
// reader and writer loses the board; the sweeper then removes what it held. A board of the
// same name may be created at once.
func (h *boards) Drop(ctx context.Context, board string) error {
	if err := h.gate.enter(ctx, "drop board "+board); err != nil {
		return err
	}
	defer h.gate.leave()
	give, err := h.turns.take(ctx, h.database, board)
	if err != nil {
		return boardError("drop", board, err)
	}
	defer give()
	err = h.database.statement(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, h.database.sql(dropBoard), board)
		return err
	})
	if err != nil {
		return boardError("drop", board, err)
	}
	h.sweeper.wake()
	return nil
}

// List implements store.Boards.
func (h *boards) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	if err := h.gate.enter(ctx, "list boards"); err != nil {
		return nil, err
	}
	defer h.gate.leave()
	from := prefix
	if after >= prefix {
		from = after + "\x01" // the least text after it
	}
	var names []string
	err := h.database.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, h.database.sql(selectNames), from, prefix+"\x7f", int64(limit))
		if err != nil {
			return err
		}
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("pgstore: list boards: %w", err)
	}
	return names, nil
}

// Close implements store.Boards.
func (h *boards) Close(ctx context.Context) error {
	return errors.Join(h.gate.close(ctx), h.sweeper.close(ctx))
}

// isMissing tells that a row was not there.
func isMissing(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// Inspect implements store.Inspector.
func (h *boards) Inspect(ctx context.Context) (store.Inspection, error) {
	if err := h.gate.enter(ctx, "inspect"); err != nil {
		return store.Inspection{}, err
	}
	defer h.gate.leave()
	return h.database.inspect(ctx)
}
