package profile

import (
	"fmt"
	"sync"

	"github.com/shoalworks/shoal/doc"
)

// TypedSession is a session whose data is a T. Everything that a [Session] can do it can do too.
type TypedSession[T any] struct {
	*Session
	typed *Typed[T]

	mu struct {
		sync.Mutex
		made  bool
		data  doc.Value // that value was decoded from
		value T
	}
}

// Value is the data as a T, decoded once for each revision. It belongs to the caller, who may
// change it as they like: that changes nothing but their copy.
//
// Should something untyped have made the data what is no T, which the form that [OptionsFor]
// derives does not let happen, then it is the last T there was; [TypedSession.Read] tells what
// is wrong.
func (s *TypedSession[T]) Value() T {
	v, _ := s.Read()
	return v
}

// Read is Value, and an ErrSchema with the path of each place if the data is no T.
func (s *TypedSession[T]) Read() (T, error) {
	data := s.Data()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.decodeLocked(data); err != nil {
		return s.typed.codec.Clone(s.mu.value), fmt.Errorf("profile: read %s: %w: %w", s.Key(), ErrSchema, err)
	}
	return s.typed.codec.Clone(s.mu.value), nil
}

// decodeLocked has the value be what data is.
func (s *TypedSession[T]) decodeLocked(data doc.Value) error {
	if s.mu.made && s.mu.data.Equal(data) { // Mostly the same tree, which shows at a glance.
		return nil
	}
	v, err := s.typed.codec.Decode(data)
	if err != nil {
		return err
	}
	s.mu.made, s.mu.data, s.mu.value = true, data, v
	return nil
}

// fresh is data as a T of the caller's own.
func (s *TypedSession[T]) fresh(data doc.Value) (T, error) {
	s.mu.Lock()
	known := s.mu.made && s.mu.data.Equal(data)
	var v T
	if known {
		v = s.typed.codec.Clone(s.mu.value)
	}
	s.mu.Unlock()
	if known {
		return v, nil
	}
	v, err := s.typed.codec.Decode(data)
	if err != nil {
		return v, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return v, nil
}

// Update changes the data: fn gets it as a T and alters it, and what is different afterwards is
// committed as one transaction, all or nothing, under the rules of [Session.Transact]. Members
// that T does not know stay (see codec.Codec.Graft). If fn changes nothing there is no commit.
//
// fn is called once at most, and not at all when Source.ID is known already or the session has
// ended. It runs while other transactions wait, so it must be quick and must not call the
// session; and what it does elsewhere stays done if the transaction is then refused, so it had
// better do nothing elsewhere. An error of fn is returned, and nothing was applied.
func (s *TypedSession[T]) Update(src Source, fn func(*T) error) (Commit, error) {
	return s.Change(src, func(before doc.Value) ([]doc.Op, error) {
		v, err := s.fresh(before)
		if err != nil {
			return nil, err
		}
		if err := fn(&v); err != nil {
			return nil, err
		}
		after, err := s.typed.codec.Graft(before, v)
		if err != nil {
			return nil, err
		}
		// The transaction finds the difference itself, and what is shared costs nothing.
		return []doc.Op{doc.Set(doc.Path{}, after)}, nil
	})
}
