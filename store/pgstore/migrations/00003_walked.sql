-- Walks: what tells a version of a board from the same one of another history.

-- +goose Up
-- Whoever wants the table waits behind who waits for it: a backup, or another long transaction that
-- reads it, must not stop the boards of a fleet because a process of this release starts. It tries
-- again, see racing in rules_errors.go.
SET LOCAL lock_timeout = '500ms';
-- The versions that are walked and a random tag of each, 8 bytes big-endian each, in turn.
ALTER TABLE {s}.boards ADD COLUMN walked bytea NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE {s}.boards DROP COLUMN walked;
