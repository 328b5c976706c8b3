// Package name decides which words may become part of a store key: player keys, and the
// names of sets, seasons, stats and boards. One rule for every way in, so that a name can
// never reach another record.
package name

import "fmt"

// Limits in bytes.
const (
	MaxKey   = 128 // a player's or entry's key
	MaxName  = 64  // a set's, season's, stat's or event's name
	MaxBoard = 200 // a board's name
)

// Error tells which field is not a name and what was expected.
type Error struct {
	Field   string
	Problem string
}

// Error names the field and what was expected.
func (e *Error) Error() string { return e.Field + ": " + e.Problem }

// CheckKey refuses a player's key that is empty, longer than [MaxKey], or has other
// characters than letters, digits and . _ - : @ + = ~.
func CheckKey(field, s string) error { return check(field, s, MaxKey, "") }

// CheckName refuses a name that is empty, longer than [MaxName], or has other characters
// than a key may have.
func CheckName(field, s string) error { return check(field, s, MaxName, "") }

// CheckBoard refuses a board's name that is empty, longer than [MaxBoard], has other
// characters than a key may have and '/', or has an empty part between slashes.
func CheckBoard(field, s string) error {
	if err := check(field, s, MaxBoard, "/"); err != nil {
		return err
	}
	for i := range len(s) {
		if s[i] == '/' && (i == 0 || i == len(s)-1 || s[i-1] == '/') {
			return &Error{field, fmt.Sprintf("has an empty part at byte %d of %q", i, s)}
		}
	}
	return nil
}

func check(field, s string, limit int, extra string) error {
	if s == "" {
		return &Error{field, "is empty"}
	}
	if len(s) > limit {
		return &Error{field, fmt.Sprintf("has %d bytes, at most %d are allowed", len(s), limit)}
	}
	for i := range len(s) {
		if !allowed(s[i]) && (extra == "" || s[i] != extra[0]) {
			return &Error{field, fmt.Sprintf("has %q at byte %d; letters, digits and ._-:@+=~%s are allowed", s[i:i+1], i, extra)}
		}
	}
	return nil
}

func allowed(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	switch c {
	case '.', '_', '-', ':', '@', '+', '=', '~':
		return true
	}
	return false
}
