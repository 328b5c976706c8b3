package pgstore

// Keys are printable ASCII, 0x21 to 0x7e: no key lies between key and key + afterKey, and none
// begins with afterAll.
const (
	afterKey = "\x01"
	afterAll = "\x7f"
)

// bound is a text that the engine takes in any encoding and that parts the keys as s does,
// which may hold any bytes. A byte that is in no key parts them as one just beyond the printable ones
// does, and what follows it does not matter.
func bound(s string) string {
	for i := range len(s) {
		switch b := s[i]; {
		case b <= ' ':
			return s[:i] + afterKey
		case b > '~':
			return s[:i] + afterAll
		}
	}
	return s
}

// upper is the bound of a Range.To, which is empty when there is none.
func upper(to string) string {
	if to == "" {
		return afterAll
	}
	return bound(to)
}
