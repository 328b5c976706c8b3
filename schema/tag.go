package schema

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/field"
)

// tagName is the key of the tags.
const tagName = "shoal"

// tag is what a field's tag says; words are what it says of the value itself.
type tag struct {
	required bool
	words    map[string]string
}

// tag reads the tag of a field.
func (d *deriver) tag(f field.Field) *tag {
	t := &tag{words: make(map[string]string)}
	text, ok := f.Tag.Lookup(tagName)
	if !ok {
		return t
	}
	for text != "" {
		var word string
		if strings.HasPrefix(text, "pattern=") {
			word, text = text, ""
		} else {
			word, text, _ = strings.Cut(text, ",")
		}
		d.word(t, word)
	}
	if t.required && (f.OmitZero || f.OmitEmpty) {
		d.fault("tag: it is required, but left out of the JSON form when it is zero or empty")
	}
	return t
}

func (d *deriver) word(t *tag, word string) {
	name, value, given := strings.Cut(word, "=")
	switch {
	case name == "required" && !given:
		t.required = true
	case !slices.Contains([]string{"min", "max", "minlen", "maxlen", "enum", "pattern"}, name) || !given:
		d.fault("tag: %q is none of required, min=, max=, minlen=, maxlen=, enum=, pattern=", word)
	default:
		if _, twice := t.words[name]; twice {
			d.fault("tag: %s is given twice", name)
		}
		t.words[name] = value
	}
}

// take removes a word, so that what is left is known not to apply.
func (t *tag) take(name string) (string, bool) {
	value, ok := t.words[name]
	delete(t.words, name)
	return value, ok
}

// ofItems moves to another tag what is about each item.
func (t *tag) ofItems() *tag {
	items := &tag{words: make(map[string]string)}
	for _, name := range []string{"min", "max", "enum", "pattern"} {
		if value, ok := t.take(name); ok {
			items.words[name] = value
		}
	}
	return items
}

// only refuses what has not been taken.
func (t *tag) only(d *deriver, what string) {
	left := make([]string, 0, len(t.words))
	for name := range t.words {
		left = append(left, name)
	}
	slices.Sort(left)
	for _, name := range left {
		d.fault("tag: %s does not apply to %s", name, what)
	}
}

// bounds puts two bounds into a schema, and refuses those that leave nothing.
func (t *tag) bounds(d *deriver, k keywords, words, keywords [2]string, parse func(string) (doc.Value, error)) {
	for i, word := range words {
		text, ok := t.take(word)
		if !ok {
			continue
		}
		v, err := parse(text)
		if err != nil {
			d.fault("tag: %s=%s: %w", word, text, err)
			continue
		}
		k[keywords[i]] = v
	}
	low, ok := k[keywords[0]]
	high, both := k[keywords[1]]
	if ok && both && boundOf(ratOf(low)).compare(high) < 0 {
		d.fault("tag: %s is above %s", words[0], words[1])
	}
}

func (t *tag) length(d *deriver, k keywords, low, high string) {
	t.bounds(d, k, [2]string{"minlen", "maxlen"}, [2]string{low, high}, func(s string) (doc.Value, error) {
		n, err := strconv.ParseUint(s, 10, 31)
		return doc.Int(int64(n)), plainly(err)
	})
	t.only(d, "a list or a map")
}

func (t *tag) integer(d *deriver, k keywords, typ reflect.Type) {
	parse := func(s string) (doc.Value, error) {
		i, err := strconv.ParseInt(s, 10, 64)
		v := reflect.New(typ).Elem()
		if err == nil && (v.CanInt() && v.OverflowInt(i) || v.CanUint() && (i < 0 || v.OverflowUint(uint64(i)))) {
			err = fmt.Errorf("outside the range of %s", typ)
		}
		return doc.Int(i), plainly(err)
	}
	t.bounds(d, k, [2]string{"min", "max"}, [2]string{"minimum", "maximum"}, parse)
	t.enum(d, k, parse)
	t.only(d, "an integer")
}

func (t *tag) float(d *deriver, k keywords) {
	t.bounds(d, k, [2]string{"min", "max"}, [2]string{"minimum", "maximum"}, func(s string) (doc.Value, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return doc.Value{}, plainly(err)
		}
		return doc.Float(f)
	})
	t.only(d, "a float")
}

func (t *tag) text(d *deriver, k keywords) {
	t.enum(d, k, doc.String)
	if pattern, ok := t.take("pattern"); ok {
		if _, err := regexp.Compile(pattern); err != nil {
			d.fault("tag: pattern: %w", err)
		} else if v, err := doc.String(pattern); err == nil {
			k["pattern"] = v
		}
	}
	t.bounds(d, k, [2]string{"minlen", "maxlen"}, [2]string{"minLength", "maxLength"}, func(s string) (doc.Value, error) {
		n, err := strconv.ParseUint(s, 10, 31)
		return doc.Int(int64(n)), plainly(err)
	})
	t.only(d, "a string")
}

func (t *tag) enum(d *deriver, k keywords, parse func(string) (doc.Value, error)) {
	text, ok := t.take("enum")
	if !ok {
		return
	}
	var values []doc.Value
	for s := range strings.SplitSeq(text, "|") {
		v, err := parse(s)
		if err != nil {
			d.fault("tag: enum: %s: %w", s, err)
			continue
		}
		values = append(values, v)
	}
	k["enum"] = doc.List(values...)
}

// plainly drops what an error of the package strconv says about itself.
func plainly(err error) error {
	var n *strconv.NumError
	if errors.As(err, &n) {
		return n.Err
	}
	return err
}
