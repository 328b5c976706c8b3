package doc_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/doc"
)

// The examples of RFC 6901, section 5.
func TestPathsOfTheRFC(t *testing.T) {
	v := parse(t, `{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}`)
	for pointer, want := range map[string]string{
		"": v.String(), "/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/": `0`, "/a~1b": `1`, "/c%d": `2`,
		"/e^f": `3`, "/g|h": `4`, `/i\j`: `5`, `/k"l`: `6`, "/ ": `7`, "/m~0n": `8`,
	} {
		got, ok, err := v.Lookup(pointer)
		if err != nil || !ok || got.String() != want {
			t.Errorf("%q is %s (%v, %v), want %s", pointer, got, ok, err, want)
		}
	}
}

func TestPathsThatLeadNowhere(t *testing.T) {
	v := parse(t, `{"a":{"b":1},"l":[1,[2]],"s":"text"}`)
	for _, pointer := range []string{
		"/x", "/a/x", "/a/b/c", "/l/2", "/l/-", "/l/01", "/l/+1", "/l/-1", "/l/1e0", "/l/", "/l/99999999999999999999", "/l/18446744073709551617",
		"/s/0", "/a/", "/l/1/1",
	} {
		if got, ok, err := v.Lookup(pointer); ok || err != nil || !got.IsNull() {
			t.Errorf("%q is %s (%v, %v)", pointer, got, ok, err)
		}
	}
	for _, bad := range []string{"a", "a/b", " /a", "/~", "/a~2", "/a~/b", "/\xff", "#/a"} {
		if _, ok, err := v.Lookup(bad); ok || !errors.Is(err, doc.ErrBadPath) {
			t.Errorf("%q: %v, want ErrBadPath", bad, err)
		}
	}
}

func TestPathsAreBuiltAndTakenApart(t *testing.T) {
	p := doc.P("a/b", "~").AppendIndex(3).AppendIndex(-1).Append("", "x")
	if got, want := p.String(), "/a~1b/~0/3/-//x"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{"a/b", "~", "3", "-", "", "x"}, p.Segments()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(doc.MustPath("/a~1b/~0/3/-/"), p.Parent()); diff != "" {
		t.Error(diff)
	}
	if p.Last() != "x" || p.Len() != 6 || p.IsRoot() || !p.HasPrefix(doc.P("a/b", "~")) || p.HasPrefix(doc.P("a")) {
		t.Errorf("the parts of %s", p)
	}
	root := doc.Path{}
	if root.Last() != "" || root.Len() != 0 || !root.IsRoot() || !root.Parent().IsRoot() || !p.HasPrefix(root) || root.HasPrefix(p) {
		t.Error("the parts of the root")
	}
	if got := doc.P("a").Join(doc.P("b", "c")); !got.Equal(doc.MustPath("/a/b/c")) {
		t.Errorf("joined to %s", got)
	}
}

// Two paths that go on from one never share what they add.
func TestPathsDoNotShareTails(t *testing.T) {
	p := doc.P("a", "b", "c").Parent()
	x, y := p.Append("x"), p.AppendIndex(7)
	z := p.Join(doc.P("z"))
	for got, want := range map[string]string{x.String(): "/a/b/x", y.String(): "/a/b/7", z.String(): "/a/b/z", p.String(): "/a/b"} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestPathOrder(t *testing.T) {
	ordered := []string{"", "/", "/a", "/a/b", "/a/b/c", "/a/c", "/a!", "/b"}
	for i, a := range ordered {
		for j, b := range ordered {
			got, want := doc.MustPath(a).Compare(doc.MustPath(b)), 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got != want {
				t.Errorf("%q against %q: %d, want %d", a, b, got, want)
			}
		}
	}
}
