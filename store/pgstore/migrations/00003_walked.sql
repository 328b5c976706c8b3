-- Walks: what tells a version of a board from the same one of another history.

-- +goose Up
-- The versions that are walked and a random tag of each, 8 bytes big-endian each, in turn.
ALTER TABLE {s}.boards ADD COLUMN walked bytea NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE {s}.boards DROP COLUMN walked;
