package profile

import (
	"context"
	"fmt"
	"slices"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Stored is a state of a profile that the durable store holds.
type Stored struct {
	Key  string
	Data doc.Value // as a load makes it of what is stored: migrated, with the template and derived fields
	// Epoch and Revision order the states of a profile: the larger pair is the newer one, and
	// no pair ever names two states.
	Epoch, Revision uint64
}

// storedHook is a function of OnStored.
type storedHook struct {
	name string
	call func(Stored)
}

// OnStored has fn called with every state of a profile that this node knows the durable store
// to hold: what a load has found, before OnLoad; what a save has stored, autosaves, trades and
// the last save of a session included, before the Save or Release that waited for it returns;
// a save whose answer was lost as soon as a read shows that it was done; edits of profiles that
// nobody holds, imports, and what is recovered from the journals of dead nodes. Never what only
// memory or a journal holds. The same state may come again.
//
// Calls for one session come one after the other, without a lock held, from the goroutine that
// loads, saves or trades: fn must be quick, and must not wait for a call of the session, or for
// a load of its key. A panic is caught, counted and logged.
func (s *Set) OnStored(fn func(Stored)) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.mu.stored = append(s.hooks.mu.stored, storedHook{funcName(fn), fn})
}

func (h *hooks) storing() []storedHook {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.mu.stored)
}

// tellStored tells the functions of OnStored what the session's record holds.
func (s *Session) tellStored() {
	hooks := s.set.hooks.storing()
	if len(hooks) == 0 {
		return
	}
	data, revision := s.stored()
	s.set.tell(hooks, Stored{Key: s.key, Data: data, Epoch: s.epoch, Revision: revision})
}

// tellOpened tells them what the load has found, as it was brought into the game's form.
func (s *Session) tellOpened() {
	hooks := s.set.hooks.storing()
	if len(hooks) == 0 {
		return
	}
	s.mu.Lock()
	st := Stored{Key: s.key, Data: s.mu.data, Epoch: s.epoch, Revision: s.mu.rec.revision}
	s.mu.Unlock()
	s.set.tell(hooks, st)
}

// tellRecord tells them of a record that was written without a session. Data that no load
// would take is left to the load that finds it.
func (s *Set) tellRecord(key string, rec record) {
	hooks := s.hooks.storing()
	if len(hooks) == 0 || !rec.erased.IsZero() {
		return
	}
	data, err := s.brought(rec.data, rec.schema)
	if err != nil {
		s.log.WarnContext(s.life(), "a state of a profile that no load would take is not told", "key", key, "err", err)
		return
	}
	s.tell(hooks, Stored{Key: key, Data: data, Epoch: rec.epoch, Revision: rec.revision})
}

func (s *Set) tell(hooks []storedHook, st Stored) {
	for _, h := range hooks {
		s.tellOne(h, st)
	}
}

func (s *Set) tellOne(h storedHook, st Stored) {
	defer func() {
		if p := recover(); p != nil {
			s.stats.panics.Add(1)
			s.log.ErrorContext(s.life(), "hook panicked", "key", st.Key, "hook", "OnStored "+h.name, "panic", p)
		}
	}()
	h.call(st)
}

// Raise is what a load would make of a View's data: in the form of the set's Schema. Errors are
// those of a load (ErrMigration, ErrNewerSchema, ErrSchema).
func (s *Set) Raise(v View) (doc.Value, error) {
	data, err := s.brought(v.Data, v.Schema)
	if err != nil {
		return doc.Value{}, fmt.Errorf("profile: %s: %w", v.Key, err)
	}
	return data, nil
}

// ReadMany reads profiles without opening them, in one call of the store. Keys without a
// profile are left out, and so is what is not a profile. More than store.MaxGetKeys keys are an
// ErrTooLarge. Otherwise as Read.
func (s *Set) ReadMany(ctx context.Context, keys ...string) (map[string]View, error) {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	if len(keys) == 0 {
		return nil, nil
	}
	if len(keys) > store.MaxGetKeys {
		return nil, fmt.Errorf("profile: read: at most %d keys expected, got %d: %w", store.MaxGetKeys, len(keys), store.ErrTooLarge)
	}
	at := make([]string, len(keys))
	for i, key := range keys {
		if err := name.CheckKey("key", key); err != nil {
			return nil, fmt.Errorf("profile: read: %w", err)
		}
		at[i] = recordKey(s.name, key)
	}
	if err := s.passAll(ctx, node.KindRead, len(keys)); err != nil {
		return nil, fmt.Errorf("profile: read %d profiles: %w", len(keys), err)
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	recs, err := s.durable.Get(ctx, at...)
	if err != nil {
		return nil, fmt.Errorf("profile: read %d profiles: %w", len(keys), err)
	}
	out := make(map[string]View, len(recs))
	for i, r := range recs {
		v, err := viewOf(keys[i], readingOf(r))
		switch {
		case err == nil:
			out[keys[i]] = v
		case isMissing(err):
		default:
			s.log.WarnContext(ctx, "not a profile: left out of a read", "key", keys[i], "err", err)
		}
	}
	return out, nil
}
