package profile

import (
	"slices"

	"github.com/shoalworks/shoal/doc"
)

// Migration is one change of the form of a set's data: from the version before to the version
// To. Its functions must be pure and quick: the same data gives the same data, on every node
// and however often. They run at loads, and with a WriteVersion at saves too; a panic is an
// error.
type Migration struct {
	// To is the version that it leads to: 2 for the first change of form.
	To int
	// Note says what changes, for errors and logs.
	Note string
	// Up makes data of this version from data of the version before. Nil: nothing is to be
	// done but to add what the template has and the data lacks.
	Up func(doc.Value) (doc.Value, error)
	// Down makes data of the version before from data of this one, such that Up makes the
	// same data of it again: what the older form has no place for is to be kept in members
	// that the older release leaves alone. [AsItIs] is right when this version has only
	// added members. Nil: the data cannot be written in an older form.
	Down func(doc.Value) (doc.Value, error)
}

// AsItIs is the Up or Down of a migration that leaves data as it is.
func AsItIs(v doc.Value) (doc.Value, error) { return v, nil }

// Migrate is what a load makes of data in the form of version from: the migrations up to
// o.Schema, one after the other, what the template has and the data lacks, and the checks of
// the options. It is pure. Errors are those of a load (ErrMigration, ErrNewerSchema,
// ErrSchema), or of the options.
func Migrate(data doc.Value, from int, o *Options) (doc.Value, error) {
	s, err := bench(o)
	if err != nil {
		return doc.Value{}, err
	}
	return s.brought(data, from)
}

// bench is a set without a node, for what is pure.
func bench(o *Options) (*Set, error) {
	e, err := o.withDefaults(minJournalEvery)
	if err != nil {
		return nil, err
	}
	s := &Set{opts: e}
	s.pipes, err = newPipelines(s)
	return s, err
}

// versionDefaults fills in Schema and WriteVersion, and what follows from them: effects in a
// journal are relative to what is stored (PROTOCOL.md J4), so where that has another form than
// what is changed there is no journal.
func (o *Options) versionDefaults() {
	o.Migrations = slices.Clone(o.Migrations)
	if n := len(o.Migrations); n > 0 {
		defaultTo(&o.Schema, o.Migrations[n-1].To)
	}
	defaultTo(&o.Schema, 1)
	defaultTo(&o.WriteVersion, o.Schema)
	if o.WriteVersion != o.Schema {
		o.JournalEvery = -1
	}
}

// versionProblems reports what is wrong with Schema, Migrations and WriteVersion. The schema
// is in range.
func (o *Options) versionProblems(wrong func(field, format string, args ...any)) {
	n := len(o.Migrations)
	for i, m := range o.Migrations {
		if want := o.Schema - n + 1 + i; m.To != want {
			wrong("Migrations", "one to each version up to Schema (%d), in order, expected: at %d to %d, got to %d", o.Schema, i, want, m.To)
			return
		}
	}
	if n >= o.Schema {
		wrong("Migrations", "to 2 and up expected, got to %d", o.Migrations[0].To)
		return
	}
	if o.WriteVersion < 1 || o.WriteVersion > o.Schema {
		wrong("WriteVersion", "1 to Schema (%d) expected, got %d", o.Schema, o.WriteVersion)
		return
	}
	if missing := o.ladder().lacksDown(o.WriteVersion); missing != 0 {
		wrong("WriteVersion", "%d expects a Down of each later migration, that to %d has none", o.WriteVersion, missing)
		return
	}
	if o.WriteVersion != o.Schema && o.Template.Kind() == doc.KindObject {
		if _, err := o.loweredTo(o.Template, o.WriteVersion, AsItIs); err != nil {
			wrong("WriteVersion", "the template does not survive %d: %w", o.WriteVersion, err)
		}
	}
}

func (o *Options) ladder() ladder { return ladder{steps: o.Migrations, top: o.Schema} }
