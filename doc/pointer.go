package doc

// This file works on paths as the JSON Pointers that they are written as, without writing them.

// needsEscape tells that a byte of a name is not itself in a JSON Pointer that stands in a JSON
// text.
func needsEscape(c byte) bool {
	return c < ' ' || c == '"' || c == '\\' || c == '~' || c == '/'
}

// appendPointer appends the JSON string of the path.
func (p Path) appendPointer(dst []byte) []byte {
	dst = append(dst, '"')
	for i := range p.segs {
		dst = appendSegment(append(dst, '/'), p.segs[i].name)
	}
	return append(dst, '"')
}

// appendSegment appends a name as it stands in a pointer inside of a JSON string.
func appendSegment(dst []byte, name string) []byte {
	done := 0 // bytes of name appended
	for i := range len(name) {
		c := name[i]
		if !needsEscape(c) {
			continue
		}
		dst = append(dst, name[done:i]...)
		done = i + 1
		switch c {
		case '~':
			dst = append(dst, "~0"...)
		case '/':
			dst = append(dst, "~1"...)
		default:
			dst = appendEscape(dst, c)
		}
	}
	return append(dst, name[done:]...)
}

// pointerSize is the length of the JSON string of the path.
func (p Path) pointerSize() int {
	n := len(`""`)
	for i := range p.segs {
		name := p.segs[i].name
		n += len(`/`) + len(name) + escapeGrowth(name)
		for k := range len(name) {
			if name[k] == '~' || name[k] == '/' {
				n++
			}
		}
	}
	return n
}

// comparePointers orders paths as their JSON Pointers are ordered, byte by byte. That is another
// order than that of [Path.Compare]: "/a-b" comes before "/a/b".
func comparePointers(p, q Path) int {
	for i := range min(len(p.segs), len(q.segs)) {
		a, b := p.segs[i].name, q.segs[i].name
		if a == b {
			continue
		}
		k := 0
		for k < len(a) && k < len(b) && a[k] == b[k] {
			k++
		}
		return weightAt(a, k, i+1 < len(p.segs)) - weightAt(b, k, i+1 < len(q.segs))
	}
	return len(p.segs) - len(q.segs)
}

// weightAt orders what stands at position k of a name in a pointer: a byte of it, perhaps
// escaped, the slash before the next name (more), or the end. Where two names differ first, the
// bytes before are the same in both pointers.
func weightAt(name string, k int, more bool) int {
	const each = 2 // a slash in a name is a tilde and a little more
	switch {
	case k < len(name) && name[k] == '/':
		return each*'~' + 1
	case k < len(name):
		return each * int(name[k])
	case more:
		return each * '/'
	}
	return -1
}
