package sqlitestore

import (
	"context"
	"fmt"
)

// Drop implements store.Boards. The board loses its name in one write, and with it every
// reader loses the board; the sweeper then removes what it held. A board of the same name
// may be created at once.
func (h *boards) Drop(ctx context.Context, board string) error {
	if err := h.file.writer.do(ctx, &drop{board: board}, 1, len(board)); err != nil {
		return fmt.Errorf("sqlitestore: drop board %s: %w", board, err)
	}
	h.sweeper.wake()
	return nil
}

// drop is the work of Drop.
type drop struct{ board string }

const dropBoard = `UPDATE boards SET name = NULL WHERE name = ?`

// apply implements work.
func (w *drop) apply(ctx context.Context, t *transaction) error {
	_, err := t.exec(ctx, dropBoard, w.board)
	return err
}
