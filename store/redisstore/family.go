package redisstore

import "strings"

// family is a folder of records that can be scanned: their values stand in one HASH, and their
// names in one ZSET, which is in byte order. Both are in one slot of a cluster.
type family struct {
	folder string // what the keys of its records begin with
	tag    string // families of one tag are in one slot: one server, and one clock
}

// families are what nodes and sessions list in the fast store. All beats, and the marks by
// which a node calibrates what it reads of them, are of one tag, so that one machine's clock
// judges them all. What stands in a family is small and seldom written, but for the beats; the
// many and large records, journals, are in no family, and spread over a cluster.
func families() [4]family {
	return [4]family{
		{"node/", "beats"},
		{"mark/", "beats"},
		{"note/", "notes"},
		{"journaled/", "estates"},
	}
}

// familyOf is the family of a key, and the key's name in it.
func familyOf(key string) (f family, name string, ok bool) {
	for _, f := range families() {
		if name, ok := strings.CutPrefix(key, f.folder); ok && name != "" {
			return f, name, true
		}
	}
	return family{}, "", false
}

// isBeat tells that a key goes by the lane of the beats.
func isBeat(key string) bool {
	f, _, ok := familyOf(key)
	return ok && f.tag == "beats"
}
