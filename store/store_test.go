package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/store"
)

func TestNewNeedsItsParts(t *testing.T) {
	s := &spy{}
	whole := store.Parts{Durable: spyRecords{s}, Boards: spyBoards{s}, Bus: spyBus{s}}
	for name, drop := range map[string]func(*store.Parts){
		"Durable": func(p *store.Parts) { p.Durable = nil },
		"Boards":  func(p *store.Parts) { p.Boards = nil },
		"Bus":     func(p *store.Parts) { p.Bus = nil },
		"all":     func(p *store.Parts) { *p = store.Parts{} },
	} {
		p := whole
		drop(&p)
		if st, err := store.New(p); err == nil || st != nil {
			t.Errorf("New without %s = %v, %v, want an error", name, st, err)
		}
	}
}

func TestFastIsDurableByDefault(t *testing.T) {
	durable, fast := &spy{}, &spy{}
	whole := store.Parts{Durable: spyRecords{durable}, Boards: spyBoards{durable}, Bus: spyBus{durable}}
	for _, c := range []struct {
		fast store.Records
		one  bool
	}{{nil, true}, {whole.Durable, true}, {spyRecords{fast}, false}} {
		p := whole
		p.Fast = c.fast
		st, err := store.New(p)
		if err != nil {
			t.Fatal(err)
		}
		if st.OneRecords() != c.one || (st.Fast() == st.Durable()) != c.one {
			t.Errorf("Fast %v: OneRecords = %v, want %v", c.fast, st.OneRecords(), c.one)
		}
		before := len(fast.calls)
		if _, err := st.Fast().Get(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		if reached := len(fast.calls) > before; reached == c.one {
			t.Errorf("Fast %v: the fast driver was reached: %v", c.fast, reached)
		}
		if _, err := st.Fast().Get(t.Context(), ""); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("Fast %v is not checked: %v", c.fast, err)
		}
	}
}

func TestCloseClosesAllInOrder(t *testing.T) {
	s := &spy{}
	st := watched(t, s)
	if err := st.Close(t.Context()); err != nil {
		t.Errorf("Close = %v", err)
	}
	if want := []string{"close bus", "close boards", "close records"}; !slices.Equal(s.calls, want) {
		t.Errorf("closed %q, want %q", s.calls, want)
	}
	s.calls = nil
	apart, err := store.New(store.Parts{Durable: spyRecords{s}, Fast: spyRecords{&spy{}}, Boards: spyBoards{s}, Bus: spyBus{s}})
	if err != nil {
		t.Fatal(err)
	}
	s.closed = []error{io.ErrUnexpectedEOF, nil, io.ErrClosedPipe}
	if err := apart.Close(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Close = %v, want both errors", err)
	}
	if len(s.calls) != 3 {
		t.Errorf("after an error only %q were closed", s.calls)
	}
}

// tracer is a decorator that counts what comes through.
type tracer struct {
	store.Records
	store.Boards
	gets, merges *int
}

func (r tracer) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	*r.gets++
	return r.Records.Get(ctx, keys...)
}

// tracedRecords and tracedBoards give a tracer one part's Close.
type tracedRecords struct{ tracer }

func (r tracedRecords) Close(ctx context.Context) error { return r.Records.Close(ctx) }

type tracedBoards struct{ tracer }

func (b tracedBoards) Close(ctx context.Context) error { return b.Boards.Close(ctx) }

func (b tracedBoards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	*b.merges++
	return b.Boards.Merge(ctx, board, batch)
}

// Decorators of Through come between the checks and the drivers, and leave the original as
// it is.
func TestThroughDecorates(t *testing.T) {
	s := &spy{}
	for _, fast := range []store.Records{nil, spyRecords{s}} {
		st, err := store.New(store.Parts{Durable: spyRecords{s}, Fast: fast, Boards: spyBoards{s}, Bus: spyBus{s}})
		if err != nil {
			t.Fatal(err)
		}
		gets, merges := 0, 0
		through := st.Through(
			func(r store.Records) store.Records { return tracedRecords{tracer{Records: r, gets: &gets}} },
			func(b store.Boards) store.Boards { return tracedBoards{tracer{Boards: b, merges: &merges}} })
		if through.OneRecords() != st.OneRecords() || through.Bus() != st.Bus() {
			t.Errorf("OneRecords %v became %v", st.OneRecords(), through.OneRecords())
		}
		ctx := t.Context()
		for _, r := range []store.Records{through.Durable(), through.Fast(), st.Durable(), st.Fast()} {
			if _, err := r.Get(ctx, "key"); err != nil {
				t.Error(err)
			}
			if _, err := r.Get(ctx, ""); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("a malformed Get = %v", err)
			}
		}
		good := store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "k"}}}
		for _, b := range []store.Boards{through.Boards(), st.Boards()} {
			if _, err := b.Merge(ctx, "board", good); err != nil {
				t.Error(err)
			}
			if _, err := b.Merge(ctx, "", good); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("a malformed Merge = %v", err)
			}
		}
		if gets != 2 || merges != 1 {
			t.Errorf("the decorators saw %d Gets and %d Merges, want the 2 and 1 well-formed ones of theirs", gets, merges)
		}
		s.calls = nil
		if err := through.Close(ctx); err != nil || len(s.calls) > 0 {
			t.Errorf("Close of what is seen through = %v, closed %q", err, s.calls)
		}
	}
}

func TestOutcomeOf(t *testing.T) {
	done, notDone, unknown := store.Done, store.NotDone, store.Unknown
	for _, c := range []struct {
		err  error
		want store.Outcome
	}{
		{nil, done},
		{store.ErrConflict, notDone},
		{&store.ConflictError{Key: "k"}, notDone},
		{store.ErrUnavailable, notDone},
		{store.ErrTooLarge, notDone},
		{store.ErrUnsupported, notDone},
		{store.ErrInvalid, notDone},
		{&store.InvalidError{Field: "f"}, notDone},
		{&store.InvalidError{Field: "f", Large: true}, notDone},
		{store.ErrClosed, notDone},
		{store.ErrSealed, notDone},
		{store.ErrNoBoard, notDone},
		{store.ErrCursor, notDone},
		{store.ErrUnknown, unknown},
		{context.Canceled, unknown},
		{context.DeadlineExceeded, unknown},
		{io.EOF, unknown},
		{fmt.Errorf("driver: commit: %w", &store.ConflictError{Key: "k"}), notDone},
		{fmt.Errorf("driver: %w: %w", store.ErrUnavailable, context.Canceled), notDone},
		{fmt.Errorf("driver: %w: %w", store.ErrUnknown, context.Canceled), unknown},
		{fmt.Errorf("driver: %w: %w", store.ErrUnavailable, store.ErrUnknown), unknown}, // never assume
		{errors.Join(store.ErrConflict, store.ErrUnknown), unknown},
	} {
		if got := store.OutcomeOf(c.err); got != c.want {
			t.Errorf("OutcomeOf(%v) = %v, want %v", c.err, got, c.want)
		}
	}
}

func TestTypedErrorsAreTheirSentinels(t *testing.T) {
	conflict := error(&store.ConflictError{Key: "profile/a/b"})
	if !errors.Is(conflict, store.ErrConflict) || errors.Is(conflict, store.ErrInvalid) || !strings.Contains(conflict.Error(), "profile/a/b") {
		t.Errorf("%v is not a conflict that names its key", conflict)
	}
	for large, want := range map[bool]error{false: store.ErrInvalid, true: store.ErrTooLarge} {
		err := error(&store.InvalidError{Field: "key", Problem: "is odd", Large: large})
		for _, word := range []error{store.ErrInvalid, store.ErrTooLarge, store.ErrConflict} {
			if errors.Is(err, word) != errors.Is(word, want) {
				t.Errorf("large %v: %v is %v: %v", large, err, word, errors.Is(err, word))
			}
		}
		if err.Error() != "store: key: is odd" {
			t.Errorf("message %q", err)
		}
	}
}

func TestConditions(t *testing.T) {
	for _, c := range []struct {
		condition     store.Condition
		text          string
		unconditional bool
		wants         store.Version
		absent, at7   bool // whether it holds
	}{
		{store.Any(), "any", true, 0, true, true},
		{store.Condition{}, "any", true, 0, true, true},
		{store.Absent(), "absent", false, 0, true, false},
		{store.Is(0), "absent", false, 0, true, false},
		{store.Is(7), "is 7", false, 7, false, true},
		{store.Is(8), "is 8", false, 8, false, false},
		{store.Is(math.MaxInt64), "is " + store.Version(math.MaxInt64).String(), false, math.MaxInt64, false, false},
	} {
		v, ok := c.condition.Wants()
		if c.condition.String() != c.text || c.condition.Unconditional() != c.unconditional || v != c.wants || ok == c.unconditional {
			t.Errorf("%v: unconditional %v, wants %v, %v", c.condition, c.condition.Unconditional(), v, ok)
		}
		if c.condition.Holds(0) != c.absent || c.condition.Holds(7) != c.at7 {
			t.Errorf("%v holds when absent: %v, at 7: %v", c.condition, c.condition.Holds(0), c.condition.Holds(7))
		}
	}
	if store.Is(0) != store.Absent() {
		t.Error("Is(0) is not Absent")
	}
}

func TestVersions(t *testing.T) {
	for random, want := range map[uint64]store.Version{
		0: 1, 1: 1, 2: 2, 1 << 63: 1, 1<<63 | 5: 5, math.MaxInt64: math.MaxInt64, math.MaxUint64: math.MaxInt64,
	} {
		if got := store.VersionFrom(random); got != want {
			t.Errorf("VersionFrom(%d) = %d, want %d", random, uint64(got), uint64(want))
		}
	}
	for v, want := range map[store.Version]string{0: "0", 35: "z", 36: "10", math.MaxInt64: "1y2p0ij32e8e7"} {
		if v.String() != want {
			t.Errorf("%d is printed %s, want %s", uint64(v), v, want)
		}
	}
	if !(store.Record{Key: "k"}).Missing() || (store.Record{Key: "k", Version: 1}).Missing() {
		t.Error("Missing is not version 0")
	}
}

func TestOrdersAndStamps(t *testing.T) {
	if !store.Descending.Better(2, 1) || store.Descending.Better(1, 2) || !store.Ascending.Better(1, 2) || store.Ascending.Better(2, 1) {
		t.Error("Better is the wrong way round")
	}
	if store.Descending.Better(1, 1) || store.Ascending.Better(1, 1) || !store.Descending.Better(math.MaxInt64, math.MinInt64) || !store.Ascending.Better(math.MinInt64, math.MaxInt64) {
		t.Error("Better is wrong for the same or the extremes")
	}
	stamps := []store.Stamp{{}, {0, 1}, {1, 0}, {1, 1}, {1, math.MaxUint64}, {2, 0}, {math.MaxUint64, 0}} // rising
	for i, a := range stamps {
		for j, b := range stamps {
			if a.After(b) != (i > j) {
				t.Errorf("%v after %v: %v", a, b, a.After(b))
			}
		}
	}
}

func TestWordsOfEnums(t *testing.T) {
	for got, want := range map[fmt.Stringer]string{
		store.Done: "done", store.NotDone: "not done", store.Unknown: "unknown", store.Outcome(0): "no outcome",
		store.Descending: "descending", store.Ascending: "ascending", store.Order(0): "no order",
		store.Ordinal: "ordinal", store.Competition: "competition", store.Dense: "dense", store.RankMode(3): "no rank mode",
		store.Best: "best", store.Last: "last", store.Sum: "sum", store.Rule(9): "no rule",
	} {
		if got.String() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPrefix(t *testing.T) {
	for p, want := range map[string]store.Range{
		"":             {},
		"a":            {From: "a", To: "b"},
		"profile/a/":   {From: "profile/a/", To: "profile/a0"},
		"~":            {From: "~", To: "\x7f"},
		"a\xff":        {From: "a\xff", To: "b"},
		"a\xff\xff":    {From: "a\xff\xff", To: "b"},
		"\xff":         {From: "\xff"},
		"\xff\xff":     {From: "\xff\xff"},
		"\xfe\xff":     {From: "\xfe\xff", To: "\xff"},
		"a\x00":        {From: "a\x00", To: "a\x01"},
		"note/n1/set/": {From: "note/n1/set/", To: "note/n1/set0"},
	} {
		if got := store.Prefix(p); got != want {
			t.Errorf("Prefix(%q) = %+v, want %+v", p, got, want)
		}
	}
}

// FuzzPrefix compares membership in the range with the meaning of a prefix.
func FuzzPrefix(f *testing.F) {
	for _, p := range []string{"", "a", "a/", "~", "\xff", "a\xff\xff", "a\x00"} {
		for _, key := range []string{"", "a", "a/b", "b", "~~", "\xff\xff", "a\xff\xffz", "a\x00\x00"} {
			f.Add(p, key)
		}
	}
	f.Fuzz(func(t *testing.T, p, key string) {
		r := store.Prefix(p)
		for _, k := range []string{key, p + key, p, p + "\xff", r.To} {
			if within := k >= r.From && (r.To == "" || k < r.To); within != strings.HasPrefix(k, p) {
				t.Errorf("Prefix(%q) = %+v; %q is within: %v, has the prefix: %v", p, r, k, within, strings.HasPrefix(k, p))
			}
		}
	})
}

// funcRecords is a decorator whose type cannot be compared.
type funcRecords struct {
	store.Records
	before func()
}

// Two parts played by drivers of a type that cannot be compared are two drivers.
func TestDriversThatCannotBeComparedAreApart(t *testing.T) {
	inner := &spy{}
	st, err := store.New(store.Parts{
		Durable: funcRecords{spyRecords{inner}, func() {}}, Fast: funcRecords{spyRecords{inner}, func() {}}, Boards: spyBoards{inner}, Bus: spyBus{inner},
	})
	if err != nil || st.OneRecords() {
		t.Errorf("%v; taken for one: %v", err, st.OneRecords())
	}
}
