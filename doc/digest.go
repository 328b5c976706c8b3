package doc

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest returns 32 hexadecimal digits that stand for the value: the first 16
// bytes of the SHA-256 of its canonical encoding. Equal values have equal
// digests; different ones differ for all practical purposes. It encodes the
// whole value.
func (v Value) Digest() string {
	sum := sha256.Sum256(v.Encode())
	return hex.EncodeToString(sum[:16])
}
