package board

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/shoalworks/shoal/store"
)

// A cursor's text is base64url of: the version, the fields of a store.Cursor, and the first
// bytes of a hash over the board's name and all that. The hash finds damage and cursors of
// other boards; it is no secret, and needs to be none: a cursor shows nothing that a page of
// the board does not.
const (
	cursorVersion = 2   // 1 had no tag
	cursorSum     = 8   // bytes of the hash
	mostCursor    = 176 // bytes of a cursor's text
)

// formatCursor is the text of a cursor that is not the beginning.
func formatCursor(board string, c store.Cursor) string {
	raw := []byte{cursorVersion, byte(len(c.Generation))}
	raw = append(raw, c.Generation...)
	raw = binary.AppendUvarint(raw, c.Version)
	raw = binary.AppendVarint(raw, c.Total)
	raw = binary.AppendVarint(raw, c.Seen)
	raw = binary.AppendVarint(raw, c.Score)
	raw = binary.AppendUvarint(raw, c.Sequence)
	raw = binary.BigEndian.AppendUint64(raw, c.Tag)
	return base64.RawURLEncoding.EncodeToString(append(raw, cursorHash(board, raw)...))
}

func cursorHash(board string, raw []byte) []byte {
	sum := sha256.Sum256(append([]byte(board+"\x00"), raw...))
	return sum[:cursorSum]
}

// parseCursor reads what formatCursor wrote for the board, and nothing else: what it takes is
// written the same again.
func parseCursor(board, text string) (c store.Cursor, ok bool) {
	if len(text) > mostCursor {
		return store.Cursor{}, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < 2+cursorSum || raw[0] != cursorVersion || int(raw[1]) > len(raw)-2-cursorSum {
		return store.Cursor{}, false
	}
	rest := raw[2 : len(raw)-cursorSum]
	c.Generation, rest = string(rest[:raw[1]]), rest[raw[1]:]
	c.Version, rest = uvarint(rest)
	c.Total, rest = varint(rest)
	c.Seen, rest = varint(rest)
	c.Score, rest = varint(rest)
	c.Sequence, rest = uvarint(rest)
	if len(rest) != 8 {
		return store.Cursor{}, false
	}
	c.Tag = binary.BigEndian.Uint64(rest)
	return c, formatCursor(board, c) == text && walked(c)
}

// walked tells that a cursor is one that a walk may have answered.
func walked(c store.Cursor) bool {
	return c.Generation != "" && len(c.Generation) <= store.MaxGeneration && 0 < c.Seen && c.Seen < c.Total
}

func uvarint(b []byte) (v uint64, rest []byte) {
	v, n := binary.Uvarint(b)
	return v, b[max(n, 0):]
}

func varint(b []byte) (v int64, rest []byte) {
	v, n := binary.Varint(b)
	return v, b[max(n, 0):]
}
