package profile

import (
	"fmt"
	"strconv"

	"github.com/shoalworks/shoal/doc"
)

// This file holds the rules by which data gets from one version of its form to another
// (DESIGN.md 6.2 and 6.5): pure as the game's own functions are, whose panics it catches.

// ladder is what leads from version to version, up to the top one.
type ladder struct {
	steps []Migration // the last leads to top
	top   int
}

// bottom is the oldest version that can be brought up.
func (l ladder) bottom() int { return l.top - len(l.steps) }

// up brings data of a version to the top one. Data without a version counts as 1.
func (l ladder) up(data doc.Value, from int) (doc.Value, error) {
	switch from = max(from, 1); {
	case from > l.top:
		return data, fmt.Errorf("%w: schema %d, this release knows %d", ErrNewerSchema, from, l.top)
	case from < l.bottom():
		return data, fmt.Errorf("%w: no migration from %d, the oldest known form is %d", ErrMigration, from, l.bottom())
	}
	for _, m := range l.steps[from-l.bottom():] {
		if m.Up == nil {
			continue
		}
		var err error
		if data, err = m.call("up", m.Up, data); err != nil {
			return data, err
		}
	}
	return data, nil
}

// down brings data of the top version to an older one.
func (l ladder) down(data doc.Value, to int) (doc.Value, error) {
	if missing := l.lacksDown(to); missing != 0 {
		return data, fmt.Errorf("%w: no way down from %d", ErrMigration, missing)
	}
	for v := l.top; v > to; v-- {
		m := l.to(v)
		var err error
		if data, err = m.call("down", m.Down, data); err != nil {
			return data, err
		}
	}
	return data, nil
}

// lacksDown is the version from which data cannot be brought down, 0 when it can be all the
// way to an older one.
func (l ladder) lacksDown(to int) int {
	for v := l.top; v > to; v-- {
		if v <= l.bottom() || l.to(v).Down == nil {
			return v
		}
	}
	return 0
}

// to is the migration that leads up to a version above the bottom.
func (l ladder) to(version int) Migration { return l.steps[version-l.bottom()-1] }

// call calls one of a migration's functions. What comes out must be data: an object, that
// nests no deeper than documents may, or than it did.
func (m Migration) call(way string, fn func(doc.Value) (doc.Value, error), data doc.Value) (doc.Value, error) {
	out, err := guarded(fmt.Sprintf("migration %s of %d", way, m.To), fn, data)
	switch {
	case err != nil:
	case out.Kind() != doc.KindObject:
		err = fmt.Errorf("an object expected, got %v", out.Kind())
	case out.Depth() > max(doc.DefaultMaxDepth, data.Depth()):
		err = fmt.Errorf("at most %d levels expected, got %d", doc.DefaultMaxDepth, out.Depth())
	}
	if err != nil {
		return data, fmt.Errorf("%w: %s of %s: %w", ErrMigration, way, m, err)
	}
	return out, nil
}

// String names the migration.
func (m Migration) String() string {
	if m.Note == "" {
		return strconv.Itoa(m.To)
	}
	return fmt.Sprintf("%d (%s)", m.To, m.Note)
}

// guarded takes a panic for an error.
func guarded(where string, fn func(doc.Value) (doc.Value, error), data doc.Value) (out doc.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = data, &PanicError{Where: where, Value: p}
		}
	}()
	return fn(data)
}

// raised is data of an older form in the live one: migrations, then what the template has and
// the data lacks.
func (o *Options) raised(data doc.Value, from int) (doc.Value, error) {
	data, err := o.ladder().up(data, from)
	if err != nil {
		return data, err
	}
	return reconciled(o.Template, data), nil
}

// loaded is what a load makes of data, before the checks.
func (o *Options) loaded(data doc.Value, from int, derive func(doc.Value) (doc.Value, error)) (doc.Value, error) {
	data, err := o.raised(data, from)
	if err != nil {
		return data, err
	}
	return derive(data)
}

// loweredTo is live data in an older form, such that the next load makes the same of it. An
// error says why there is no such thing.
func (o *Options) loweredTo(live doc.Value, version int, derive func(doc.Value) (doc.Value, error)) (doc.Value, error) {
	low, err := o.ladder().down(live, version)
	if err != nil {
		return live, err
	}
	if size := low.Size(); size > o.HardBytes && size > live.Size() {
		return live, fmt.Errorf("%w: %d bytes in the form of %d, at most %d expected", ErrMigration, size, version, o.HardBytes)
	}
	again, err := o.loaded(low, version, derive)
	if err != nil {
		return live, err
	}
	want, err := o.loaded(live, o.Schema, derive)
	if err != nil {
		return live, err
	}
	if d := doc.Diff(want, again); len(d) > 0 {
		return live, fmt.Errorf("%w: down to %d and up again changes %q", ErrMigration, version, d[0].Path)
	}
	return low, nil
}
