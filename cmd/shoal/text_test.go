package main_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/board"
	main "github.com/shoalworks/shoal/cmd/shoal"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

// Between a key and the one before it there is room for no other.
func TestKeyBefore(t *testing.T) {
	var allowed []string
	for c := range 256 {
		if one := string([]byte{byte(c)}); name.CheckKey("key", one) == nil {
			allowed = append(allowed, one)
		}
	}
	for _, key := range []string{"u", "u_42", "+", "a+", "++", "~", "A", "0", strings.Repeat("k", 128), strings.Repeat("k", 127) + "+"} {
		before := main.KeyBefore(key)
		if before >= key || before != "" && name.CheckKey("key", before) != nil {
			t.Errorf("%q is no key before %q", before, key)
			continue
		}
		// The next key behind it is one more byte, or a larger last byte, and what follows that.
		next := before + allowed[0]
		if len(before) == name.MaxKey {
			short := strings.TrimRight(before, "~")
			if short == "" {
				continue
			}
			last := strings.Index(strings.Join(allowed, ""), short[len(short)-1:])
			next = short[:len(short)-1] + allowed[last+1]
		}
		if next < key && name.CheckKey("key", next) == nil {
			t.Errorf("%q is between %q and %q", next, before, key)
		}
	}
}

// A percentage never promises too much.
func TestPercent(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0%", 100: "100%", 25: "25%", 100.0 / 3: "33.34%", 0.5: "0.5%", 0.049: "0.049%", 1e-5: "0.00001%", 99.999: "100%", 12.5: "12.5%",
	} {
		if got := main.Percent(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}

// The exit code says of which kind an error of a board is.
func TestExitCodesOfBoards(t *testing.T) {
	refused := func(reason error) error { return &board.RefusedError{Board: "Kills", Field: "key", Reason: reason} }
	for _, c := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("anything"), 1},
		{refused(board.ErrName), 2},
		{refused(board.ErrCount), 2},
		{refused(board.ErrCursor), 2},
		{&board.OpenError{Board: "Kills", Keys: []string{"u"}, Cause: context.DeadlineExceeded}, 7},
		{fmt.Errorf("board: merge: %w", store.ErrUnavailable), 4},
		{fmt.Errorf("board: merge: %w: %w", store.ErrUnknown, store.ErrUnavailable), 7},
		{board.ErrAttempts, 4},
		{fmt.Errorf("board: info: %w", store.ErrNoBoard), 5},
		{refused(store.ErrSealed), 6},
		{refused(board.ErrLimit), 6},
		{refused(board.ErrBanned), 6},
		{refused(board.ErrFull), 6},
		{refused(board.ErrRule), 6},
		{board.ErrOrder, 6},
		{board.ErrRemoved, 6},
		{fmt.Errorf("board: hide: %w", store.ErrTooLarge), 6},
	} {
		if got := main.ExitCode(c.err); got != c.code {
			t.Errorf("%v: %d, want %d", c.err, got, c.code)
		}
	}
}
