package profile

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
)

// This file holds the rules of export: pure, without I/O, clock or chance.

// skimmed tells whether a stored value is a profile, as decodeRecord would, without making a
// value of the data. It is ErrNoProfile for one that was erased.
func skimmed(text []byte) error {
	f := form.Glance(text)
	data := f.Swap("data", []byte("null"))
	rec, err := recordOf(f)
	switch {
	case errors.Is(err, errLaterFormat):
		return fmt.Errorf("%w: %w", ErrNewerSchema, err)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrForeign, err)
	case !rec.erased.IsZero():
		return ErrNoProfile
	case hasOddNumber(data):
		if _, err := doc.Parse(data, &doc.Limits{MaxDepth: -1, MaxBytes: -1}); err != nil {
			return fmt.Errorf("%w: data: %w", ErrForeign, err)
		}
	}
	return nil
}

// maxPlainDigits is how many digits an integer may have that surely fits 64 bits.
const maxPlainDigits = 18

// hasOddNumber tells that a JSON text may have a number that a value refuses: a long one, or
// one with an exponent. Everything else that is refused is no JSON. A text that looks like such
// a number in a string counts too.
func hasOddNumber(text []byte) bool {
	digits := 0
	for _, c := range text {
		switch {
		case '0' <= c && c <= '9':
			if digits++; digits > maxPlainDigits {
				return true
			}
		case (c == 'e' || c == 'E') && digits > 0:
			return true
		default:
			digits = 0
		}
	}
	return false
}
