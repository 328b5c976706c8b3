package redisstore

import (
	"fmt"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
)

// reply is the list that a script has answered. The first thing that is not as it should be is
// kept in err, and everything after it reads as nothing.
type reply struct {
	list []rueidis.RedisMessage
	err  error
}

func (r *reply) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", errShape, fmt.Sprintf(format, args...))
	}
}

// text reads part i as a text.
func (r *reply) text(i int) string {
	s, err := r.list[i].ToString()
	if err != nil {
		r.fail("part %d: %v", i, err)
	}
	return s
}

// number reads part i as a number.
func (r *reply) number(i int) int64 {
	n, err := r.list[i].AsInt64()
	if err != nil {
		r.fail("part %d: %v", i, err)
	}
	return n
}

// fields reads part i as a list of texts, some of which may be missing.
func (r *reply) fields(i int) []field {
	list, err := r.list[i].ToArray()
	if err != nil {
		r.fail("part %d: %v", i, err)
		return nil
	}
	return r.fieldsOf(list)
}

func (r *reply) fieldsOf(list []rueidis.RedisMessage) []field {
	fields := make([]field, len(list))
	for i := range list {
		if list[i].IsNil() {
			continue
		}
		text, err := list[i].ToString()
		if err != nil {
			r.fail("field %d: %v", i, err)
		}
		fields[i] = field{text: text, known: true}
	}
	return fields
}

// info reads part 0 as a board.
func (r *reply) info() store.BoardInfo {
	info, err := infoOf(r.fields(0))
	if err != nil && r.err == nil {
		r.err = err
	}
	return info
}

// standings reads the members of part i, with the metadata of the values of part i+1 when it
// has some.
func (r *reply) standings(i int, order store.Order) []store.Standing {
	members, values := r.fields(i), r.fields(i+1)
	if len(members) == 0 || r.err != nil {
		return nil
	}
	all := make([]store.Standing, len(members))
	for n, m := range members {
		value := ""
		if n < len(values) {
			value = values[n].text
		}
		if len(m.text) < positionSize {
			r.fail("a member of %d bytes", len(m.text))
			return nil
		}
		all[n].Entry = r.entry(order, m.text[positionSize:], m.text, value)
	}
	return all
}

// entry is the entry of a key at a position, with the metadata of its value, if that has any.
func (r *reply) entry(order store.Order, key, at, value string) store.Entry {
	e, err := entryOf(order, key, at, value)
	if err != nil && r.err == nil {
		r.err = err
	}
	return e
}
