package pgstore

import (
	"github.com/shoalworks/shoal/store"
)

// kind is which statement a single-key transaction goes with: a group is of one kind.
type kind uint8

const (
	create  kind = iota + 1 // Put if Absent
	replace                 // Put if Is
	put                     // Put under any condition
	remove                  // Delete of what is there
	alone                   // what no grouped statement does
)

// kindOf sorts a write.
func kindOf(w store.Write) kind {
	wanted, conditional := w.If.Wants()
	switch {
	case w.Op == store.Put && !conditional:
		return put
	case w.Op == store.Put && wanted == 0:
		return create
	case w.Op == store.Put:
		return replace
	case w.Op == store.Delete && (!conditional || wanted != 0):
		return remove
	}
	return alone
}

// arguments are the parameters of a group's statement.
func arguments(k kind, writes []store.Write) []any {
	keys, versions := make([]string, len(writes)), make([]int64, len(writes))
	values, wanted := make([][]byte, len(writes)), make([]int64, len(writes))
	for i, w := range writes {
		v, _ := w.If.Wants()
		keys[i], versions[i], values[i], wanted[i] = w.Key, int64(w.Version), w.Value, int64(v)
	}
	switch k {
	case create, put:
		return []any{keys, versions, values}
	case replace:
		return []any{keys, versions, values, wanted}
	case remove:
		return []any{keys, wanted}
	case alone:
	}
	return nil
}

// groupStatement is the statement of a kind.
func groupStatement(k kind) string {
	switch k {
	case create:
		return createMany
	case put:
		return storeMany
	case replace:
		return replaceMany
	case remove:
		return removeMany
	case alone:
	}
	return ""
}

// single is the statement of one write by itself, empty for a Delete of what must be absent. It
// meets one row when the condition holds.
func single(w store.Write) (text string, arguments []any) {
	wanted, _ := w.If.Wants()
	if w.Op == store.Check {
		return checkOne, []any{w.Key, int64(wanted)}
	}
	switch kindOf(w) {
	case put:
		return storeOne, []any{w.Key, int64(w.Version), w.Value}
	case create:
		return createOne, []any{w.Key, int64(w.Version), w.Value}
	case replace:
		return replaceOne, []any{w.Key, int64(w.Version), w.Value, int64(wanted)}
	case remove:
		if wanted == 0 {
			return removeAny, []any{w.Key}
		}
		return removeOne, []any{w.Key, int64(wanted)}
	case alone:
	}
	return "", nil
}

// verdict is the outcome of a write whose statement is done: met tells that it met its row. Deleting a missing key is done when nothing is asked of it.
func verdict(w store.Write, met bool) error {
	if met || w.Op == store.Delete && w.If.Unconditional() {
		return nil
	}
	return &store.ConflictError{Key: w.Key}
}
