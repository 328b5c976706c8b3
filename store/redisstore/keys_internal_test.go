package redisstore

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// named is every kind of key that a prefix has, with these names.
func (k keys) named(name string) []string {
	values, order := k.family(family{folder: name, tag: name})
	return append(k.boardParts(name, allParts), k.value(name), k.channel(name), k.boards(name), values, order)
}

// No name makes what one prefix names what another one names.
func TestPrefixesAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.StringMatching(`[a:r{}/.]{1,4}`).Filter(func(s string) bool { return checkPrefix(s) == nil })
		a, b := prefix.Draw(t, "a"), prefix.Draw(t, "b")
		if a == b {
			return
		}
		name := rapid.StringMatching(`[a:r{}b/.]{0,8}`)
		for _, one := range (keys{a}).named(name.Draw(t, "name of a")) {
			for _, other := range (keys{b}).named(name.Draw(t, "name of b")) {
				if one == other {
					t.Fatalf("%s is of %s and of %s", one, a, b)
				}
			}
		}
	})
}

// hashed is the hash tag of a key, as a cluster finds it, or the key.
func hashed(key string) string {
	_, behind, opens := strings.Cut(key, "{")
	tag, _, closes := strings.Cut(behind, "}")
	if !opens || !closes || tag == "" {
		return key
	}
	return tag
}

// What one script changes is in one slot, whatever it is called.
func TestPartsAreInOneSlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := keys{rapid.StringMatching(`[a:r{}/.]{1,4}`).Filter(func(s string) bool { return checkPrefix(s) == nil }).Draw(t, "prefix")}
		name := rapid.StringMatching(`[a{}:/.]{0,6}`).Draw(t, "name")
		parts := k.boardParts(name, allParts)
		for _, part := range parts {
			if hashed(part) != hashed(parts[0]) || hashed(part) == part {
				t.Fatalf("%s and %s have other tags", part, parts[0])
			}
		}
		if want := "b/" + strings.SplitN(name, "}", 2)[0]; hashed(parts[0]) != want {
			t.Fatalf("%s has the tag %s, want %s", parts[0], hashed(parts[0]), want)
		}
		for _, f := range families() {
			if values, order := k.family(f); hashed(values) != hashed(order) || hashed(values) != k.prefix+"."+f.tag {
				t.Fatalf("%s and %s have other tags", values, order)
			}
		}
	})
}
