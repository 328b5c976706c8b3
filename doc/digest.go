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

// OpsDigest returns 32 hexadecimal digits that stand for a list of operations, such as those of
// a request that may be repeated: the first 16 bytes of the SHA-256 of their wire forms, each
// with a newline behind it. It is stored; it must stay what it is. The error is that of an
// operation that is malformed.
func OpsDigest(ops []Op) (string, error) {
	h := sha256.New()
	for _, op := range ops {
		text, err := op.MarshalJSON()
		if err != nil {
			return "", err
		}
		h.Write(text)
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
