package profile

import (
	"context"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// View is a profile as it is stored, for looking at. It may be older than what its holder
// has in memory. It holds no lock, and changes nothing.
type View struct {
	Key      string
	Data     doc.Value // in the form of Schema: see Migrate
	Revision uint64
	Schema   int
	Created  time.Time
	Updated  time.Time
	Epoch    uint64
	Holder   *Holder // nil: nobody holds it
	TookFrom *TookFrom
	Tags     doc.Value // an object, or null
	Age      time.Duration
	Bytes    int // of the whole record
}

// Holder is the session that a stored profile names.
type Holder struct {
	Node    string
	Since   time.Time
	Beating bool // it vouches for its node's beats
}

// TookFrom tells of the last takeover that a profile has seen.
type TookFrom struct {
	Node     string
	Epoch    uint64 // of the session that was ended
	Evidence node.Evidence
	At       time.Time
}

// Read reads a profile without opening it. A missing one is ErrNoProfile; what is not a
// profile is ErrForeign or ErrNewerSchema. In the request budget it goes behind saves and
// loads, and is a node.ErrBudget when there is nothing left for it.
func (s *Set) Read(ctx context.Context, key string) (View, error) {
	if err := name.CheckKey("key", key); err != nil {
		return View{}, fmt.Errorf("profile: read: %w", err)
	}
	r, err := s.readAs(ctx, node.ClassBackground, key)
	if err != nil {
		return View{}, fmt.Errorf("profile: read %s: %w", key, err)
	}
	v, err := viewOf(key, r)
	if err != nil {
		return View{}, fmt.Errorf("profile: read %s: %w", key, err)
	}
	return v, nil
}

func viewOf(key string, r reading) (View, error) {
	switch {
	case r.absent():
		return View{}, ErrNoProfile
	case r.later():
		return View{}, fmt.Errorf("%w: %w", ErrNewerSchema, r.problem)
	case r.foreign():
		return View{}, fmt.Errorf("%w: %w", ErrForeign, r.problem)
	}
	rec := r.record
	v := View{
		Key: key, Data: rec.data, Revision: rec.revision, Schema: rec.schema, Created: rec.created,
		Updated: rec.updated, Epoch: rec.epoch, Tags: rec.tags, Age: r.age, Bytes: len(r.value),
	}
	v.Holder = holderOf(rec)
	if t := rec.tookFrom; t != nil {
		v.TookFrom = &TookFrom{Node: t.node, Epoch: t.epoch, Evidence: t.evidence, At: t.at}
	}
	return v, nil
}

// holderOf is the session that a record names, nil when it is free.
func holderOf(r record) *Holder {
	if t := r.session; t != nil {
		return &Holder{Node: t.node, Since: t.since, Beating: t.beating}
	}
	return nil
}

// Scan calls fn with every stored profile of the set, in byte order of the keys, until fn
// answers an error, which is returned. A profile that is there throughout comes once; what
// is not a profile is left out and logged. It reads page by page, beside everything else.
func (s *Set) Scan(ctx context.Context, fn func(View) error) error {
	if err := s.node.Pass(ctx, node.ClassBackground, node.KindList); err != nil {
		return fmt.Errorf("profile: scan %s: %w", s.name, err)
	}
	prefix := recordPrefix(s.name)
	for rec, err := range s.durable.Scan(ctx, store.Prefix(prefix)) {
		if err != nil {
			return fmt.Errorf("profile: scan %s: %w", s.name, err)
		}
		key := rec.Key[len(prefix):]
		v, err := viewOf(key, readingOf(rec))
		switch {
		case err == nil:
			if err := fn(v); err != nil {
				return err
			}
		case isMissing(err):
		default:
			s.log.WarnContext(ctx, "not a profile: left out of a scan", "key", key, "err", err)
		}
	}
	return nil
}
