package shoal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

// This file has boards show the names that are in profiles.

// maxNameBytes is the size from which a name in a profile is cut, at a whole character.
const maxNameBytes = 128

// Names say where in the profiles of a set the names of their owners are, for
// board.Service.Names. Names are read from the store, in bulk, as the boards' NameOptions
// bound it; those of the sessions of this node come from memory.
type Names struct {
	// Set is the name of the set of profiles. Default: the ranked set.
	Set string
	// Display is the JSON Pointer of the name that is shown, a text. Longer ones than 128
	// bytes are cut. Default "": none.
	Display string
	// User is the JSON Pointer of the account's name, likewise. Default "": none.
	User string
}

// problems reports what is wrong.
func (s *Names) problems(o *Options) (errs []error) {
	if s == nil {
		return nil
	}
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("shoal: options: Names."+format, args...))
	}
	set, ok := o.Sets[s.setIn(o)]
	switch {
	case !ok:
		bad("Set: the name of one of the Sets expected, got %q", s.setIn(o))
	case set != nil && set.AsStored:
		bad("Set: a set with its data in the game's form expected, %q is not", s.setIn(o))
	}
	if s.Display == "" && s.User == "" {
		bad("Display: the JSON Pointer of a name expected, there or in User")
	}
	for field, pointer := range map[string]string{"Display": s.Display, "User": s.User} {
		if _, err := doc.ParsePath(pointer); err != nil {
			bad("%s: %w", field, err)
		}
	}
	if f := o.Flush; f != nil && f.Names != nil && f.Names.Resolve != nil {
		bad("Set: Flush.Names.Resolve names the players already")
	}
	return errs
}

// setIn is the set that the names are in.
func (s *Names) setIn(o *Options) string {
	if s.Set != "" {
		return s.Set
	}
	return o.ranked()
}

// resolving are the boards' options with names from the profiles.
func (n *Node) resolving(o *Options, given *board.NameOptions) *board.NameOptions {
	if o.Names == nil {
		return given
	}
	out := board.NameOptions{}
	if given != nil {
		out = *given
	}
	r := nameReader{set: n.sets[o.Names.setIn(o)], local: out.Local}
	r.display, _ = doc.ParsePath(o.Names.Display) // checked by problems
	r.user, _ = doc.ParsePath(o.Names.User)
	out.Resolve, out.Local = r.resolve, r.here
	return &out
}

// forgetOldNames has this node forget the name of somebody who leaves it, since the session knew
// better, and of somebody who is erased. Other nodes may show it until it is KeepFor old.
func (n *Node) forgetOldNames(boards *board.Service, o *Options) {
	if o.Names == nil || boards == nil || n.sets[o.Names.setIn(o)] == nil {
		return
	}
	set := n.sets[o.Names.setIn(o)]
	set.OnLeave(func(_ context.Context, s *profile.Session) { boards.ForgetNames(s.Key()) })
	set.OnErase(func(ctx context.Context, key string) error {
		forget := func() { boards.ForgetNames(key) }
		forget()
		context.AfterFunc(ctx, forget) // what was read until the profile has gone
		return nil
	})
}

// nameReader reads names in profiles.
type nameReader struct {
	set           *profile.Set
	display, user doc.Path
	local         func(key string) (board.Name, bool)
}

// here is the name of a player whose session this node has.
func (r nameReader) here(key string) (board.Name, bool) {
	if r.local != nil {
		if n, ok := r.local(key); ok {
			return n, true
		}
	}
	s, ok := r.set.Session(key)
	if !ok {
		return board.Name{}, false
	}
	return r.named(s.Data())
}

// resolve reads the profiles of the keys. One whose data no load takes has no name.
func (r nameReader) resolve(ctx context.Context, keys []string) (map[string]board.Name, error) {
	out := make(map[string]board.Name, len(keys))
	for some := range slices.Chunk(keys, store.MaxGetKeys) {
		views, err := r.set.ReadMany(ctx, some...)
		if err != nil {
			return out, err
		}
		for key, v := range views {
			data, err := r.set.Raise(v)
			if err != nil {
				continue
			}
			if n, ok := r.named(data); ok {
				out[key] = n
			}
		}
	}
	return out, nil
}

// named is what a profile says.
func (r nameReader) named(data doc.Value) (board.Name, bool) {
	n := board.Name{Display: textAt(data, r.display), User: textAt(data, r.user)}
	return n, n != board.Name{}
}

// textAt is the text at a place, cut to what a name may have; "" is none.
func textAt(data doc.Value, at doc.Path) string {
	v, ok := data.Get(at)
	if !ok || at.IsRoot() {
		return ""
	}
	text, _ := v.AsString()
	if len(text) <= maxNameBytes {
		return text
	}
	cut := maxNameBytes
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.Clone(text[:cut]) // the whole may be large, and names are kept
}
