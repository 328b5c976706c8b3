package sqlitestore

import (
	"context"
	"database/sql/driver"

	"github.com/shoalworks/shoal/store/internal/standings"
)

// This file writes the log of a board: see walkLog.

const (
	insertMoved = `INSERT INTO moved (board, log, place, sequence, at, since, key, meta)
		SELECT board, ?, place, sequence, ?, ?, key, meta FROM entries WHERE board = ? AND key = ?`
	insertShown = `INSERT INTO moved (board, log, place, sequence, at, since, key)
		VALUES (?, ?, ?, ?, 9223372036854775807, ?, ?)`
	closeShown = `DELETE FROM moved WHERE board = ? AND log = ? AND place = ? AND sequence = ?
		AND at = 9223372036854775807 RETURNING since`
)

// leaves logs that the entry of a key, whose row still is as it was, leaves its position at
// the version.
func (e *editing) leaves(ctx context.Context, key string, at standings.Position, version int64) error {
	log := &e.board.log
	if log.From == 0 {
		return nil
	}
	since := at.Sequence
	if log.Shown > 0 {
		err := e.conn.query(ctx, closeShown, func(row []driver.Value) error {
			since = integer(row[0])
			return nil
		}, e.board.id, log.Number, at.Place, at.Sequence)
		if err != nil {
			return err
		}
	}
	if !log.Wants(since) {
		return nil
	}
	if _, err := e.conn.exec(ctx, insertMoved, log.Number, version, since, e.board.id, key); err != nil {
		return err
	}
	log.Add(e.sizes.WalkLog)
	return nil
}

// returns logs that an entry stands at its old position again, from the version on.
func (e *editing) returns(ctx context.Context, key string, at standings.Position, version int64) error {
	log := &e.board.log
	if !log.Wants(at.Sequence) {
		return nil
	}
	if _, err := e.conn.exec(ctx, insertShown, e.board.id, log.Number, at.Place, at.Sequence, version, key); err != nil {
		return err
	}
	log.Shown++
	log.Add(e.sizes.WalkLog)
	return nil
}
