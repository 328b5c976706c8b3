package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Parts are the drivers a [Store] is made of. One engine may play several parts.
type Parts struct {
	Durable Records // profiles, results, receipts: what must not be lost
	Fast    Records // beats, notes, journal. Default: Durable
	Boards  Boards
	Bus     Bus

	// First is what ends before the parts: who uses them on its own account, whose calls the
	// parts would wait for. Default none.
	First []func(context.Context) error

	// Also is what else ends with the store, after its parts: parts of the engines that nobody
	// uses here. Default none.
	Also []func(context.Context) error
}

// Store is what a fleet shares, as everybody but a driver's author sees it: the four parts,
// each behind the same checks (limits, well-formed keys, one write per key).
type Store struct {
	durable, fast Records
	one           bool // they are the same
	boards        Boards
	bus           Bus
	closers       []func(context.Context) error
}

// New puts a store together. It fails when a part is missing.
func New(p Parts) (*Store, error) {
	if p.Durable == nil || p.Boards == nil || p.Bus == nil {
		return nil, errors.New("store: Durable, Boards and Bus are needed")
	}
	s := &Store{
		durable: checkedRecords{p.Durable},
		boards:  checkedBoards{p.Boards},
		bus:     checkedBus{p.Bus},
		closers: append(slices.Clone(p.First), p.Bus.Close, p.Boards.Close),
	}
	s.fast, s.one = s.durable, p.Fast == nil || sameDriver(p.Fast, p.Durable)
	if !s.one {
		s.fast = checkedRecords{p.Fast}
		s.closers = append(s.closers, p.Fast.Close)
	}
	s.closers = append(s.closers, p.Durable.Close)
	s.closers = append(s.closers, p.Also...)
	return s, nil
}

// sameDriver tells that two parts are played by one driver. One whose type cannot be compared
// (a decorator that is a struct of functions) is never taken for the other.
func sameDriver(a, b Records) bool {
	return reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

// Durable is where profiles and results live.
func (s *Store) Durable() Records { return s.durable }

// Fast is where beats, notes and the journal live. It may be the durable one.
func (s *Store) Fast() Records { return s.fast }

// OneRecords tells that Durable and Fast are the same, so that one Tx can span both.
func (s *Store) OneRecords() bool { return s.one }

// Boards is where leaderboards live.
func (s *Store) Boards() Boards { return s.boards }

// Bus carries messages between nodes.
func (s *Store) Bus() Bus { return s.bus }

// Through is the same store, seen through decorators that come between the checks and the
// drivers: a budget, a tracer. Close the original, not this.
func (s *Store) Through(records func(Records) Records, boards func(Boards) Boards) *Store {
	unchecked := func(r Records) Records {
		if c, ok := r.(checkedRecords); ok {
			r = c.Records
		}
		return checkedRecords{records(r)}
	}
	out := &Store{durable: unchecked(s.durable), one: s.one, bus: s.bus}
	out.fast = out.durable
	if !s.OneRecords() {
		out.fast = unchecked(s.fast)
	}
	out.boards = s.boards
	if c, ok := s.boards.(checkedBoards); ok {
		out.boards = checkedBoards{boards(c.Boards)}
	}
	return out
}

// Close ends what uses the parts, closes the bus, the boards, the fast records and the durable
// ones, in this order, then what else belongs to them, and returns all that went wrong. A driver that plays several parts is closed several
// times, and takes that.
func (s *Store) Close(ctx context.Context) error {
	errs := make([]error, 0, len(s.closers))
	for _, c := range s.closers {
		errs = append(errs, c(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("store: close: %w", err)
	}
	return nil
}
