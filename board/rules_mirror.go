package board

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

// This file decides what a mirrored board takes from a profile, without I/O, clock or lock.

// problems reports what is wrong with the source of a board with this rule.
func (f *Source) problems(rule store.Rule, bad func(field, problem string, args ...any)) {
	if f == nil {
		return
	}
	if err := name.CheckName("set", f.Set); err != nil {
		bad("From", "%v", err)
	}
	if rule == store.Sum {
		bad("From", "best or last expected: a profile holds a total, and a sum would add it again with every save")
	}
	if (f.Score == nil) == (f.Path == "") {
		bad("From", "either Score or Path expected")
	}
	if f.Missing != nil && f.Path == "" {
		bad("From", "Missing goes with Path only")
	}
	if f.Meta != nil && f.MetaPath != "" {
		bad("From", "either Meta or MetaPath expected")
	}
	for _, pointer := range []string{f.Path, f.MetaPath} {
		if _, err := doc.ParsePath(pointer); err != nil {
			bad("From", "%v", err)
		}
	}
}

// sameSource tells whether two sources are equal. Functions cannot be compared: a source with
// one is equal to itself only.
func sameSource(a, b *Source) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	functions := a.Score != nil || b.Score != nil || a.Meta != nil || b.Meta != nil
	missing := a.Missing == b.Missing || a.Missing != nil && b.Missing != nil && *a.Missing == *b.Missing
	return !functions && missing && a.Set == b.Set && a.Path == b.Path && a.MetaPath == b.MetaPath
}

// lens is a source made ready for a board.
type lens struct {
	*Source
	path, meta doc.Path
	decimals   int
}

func newLens(f *Source, decimals int) *lens {
	if f == nil {
		return nil
	}
	l := &lens{Source: f, decimals: decimals}
	l.path, _ = doc.ParsePath(f.Path) // checked by problems
	l.meta, _ = doc.ParsePath(f.MetaPath)
	return l
}

// see is what the board has of a profile; ok is false when the profile has no score. A value
// that is no score of the board is a scoreError: it is never rounded.
func (l *lens) see(p Profile) (e store.Submission, ok bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			ok, err = false, fmt.Errorf("board: the source's function panicked: %v", r)
		}
	}()
	score, ok, err := l.score(p.Data)
	if !ok || err != nil {
		return store.Submission{}, false, err
	}
	e = store.Submission{Key: p.Key, Score: score, Stamp: p.Stamp, Meta: l.metadata(p.Data)}
	return e, true, nil
}

func (l *lens) score(data doc.Value) (score int64, ok bool, err error) {
	if l.Score != nil {
		score, ok = l.Score(data)
		return score, ok, nil
	}
	v, ok := data.Get(l.path)
	if !ok || v.IsNull() {
		if l.Missing == nil {
			return 0, false, nil
		}
		return *l.Missing, true, nil
	}
	score, err = numberScore(v, l.decimals)
	return score, err == nil, err
}

// numberScore is a number of a profile as a score with decimals, exactly or not at all.
func numberScore(v doc.Value, decimals int) (int64, error) {
	if n, ok := v.AsInt(); ok && v.Kind() == doc.KindInt {
		fits := true
		for i := 0; i < decimals && fits; i++ {
			n, fits = shiftIn(n, 0, false)
		}
		if !fits {
			return 0, &scoreError{ErrOverflow, fmt.Sprintf("%s with %d decimals does not fit into 64 bits", clip(v.String()), decimals)}
		}
		return n, nil
	}
	if f, ok := v.AsFloat(); ok {
		return floatScore(f, decimals)
	}
	return 0, notNumber("a number expected, got %s", clip(v.String()))
}

// metadata is what goes with the score. What is too long is left out, as if there were none.
func (l *lens) metadata(data doc.Value) []byte {
	var out []byte
	switch {
	case l.Meta != nil:
		out = l.Meta(data)
	case l.MetaPath != "":
		if v, ok := data.Get(l.meta); ok && !v.IsNull() && v.Size() <= store.MaxMeta {
			out = v.Encode()
		}
	}
	if len(out) > store.MaxMeta {
		return nil
	}
	return out
}

// glimpse is what the board was last told of a key.
type glimpse struct {
	stamp store.Stamp
	score int64
}

// news tells whether the board needs to be told next after last. Metadata is no news: it is
// replaced with the score only. The first state of each
// session is always told: it carries a later epoch, by which whatever an earlier holder may
// still have to write loses, and heals what a crash between save and flush has lost.
func news(rule store.Rule, order store.Order, last, next glimpse) bool {
	if next.stamp.Epoch != last.stamp.Epoch {
		return true
	}
	if rule == store.Best {
		return order.Better(next.score, last.score)
	}
	return next.stamp.After(last.stamp) && next.score != last.score
}

// misfit tells that a profile's value is no score of the board, whoever tries again.
func misfit(err error) bool {
	for _, reason := range []error{ErrInexact, ErrNotNumber, ErrOverflow, ErrLimit, ErrName} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}
