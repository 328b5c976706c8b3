package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/store"
)

// What each failure means for a read, or a write of which nothing that commits was sent, and
// for one whose COMMIT was.
func TestErrorsOfTheEngine(t *testing.T) {
	refusal := func(code string) error {
		return &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code}
	}
	fatal := func(code string) error { return &pgconn.PgError{Severity: "FATAL", Code: code} }
	for _, c := range []struct {
		name           string
		err            error
		before, during error
	}{
		{"serialization failure", refusal("40001"), store.ErrUnavailable, store.ErrUnavailable},
		{"deadlock", refusal("40P01"), store.ErrUnavailable, store.ErrUnavailable},
		{"ambiguous result", refusal("40003"), store.ErrUnavailable, store.ErrUnknown},
		{"read-only server", refusal("25006"), store.ErrUnavailable, store.ErrUnavailable},
		{"disk full, which passes", refusal("53100"), store.ErrUnavailable, store.ErrUnavailable},
		{"out of memory", refusal("53200"), store.ErrUnavailable, store.ErrUnavailable},
		{"too many connections", fatal("53300"), store.ErrUnavailable, store.ErrUnknown},
		{"program limit", refusal("54000"), store.ErrTooLarge, store.ErrTooLarge},
		{"bad text", refusal("22021"), store.ErrInvalid, store.ErrInvalid},
		{"not supported", refusal("0A000"), store.ErrUnsupported, store.ErrUnsupported},
		{"statement cancelled", refusal("57014"), store.ErrUnavailable, store.ErrUnavailable},
		{"shutdown", fatal("57P01"), store.ErrUnavailable, store.ErrUnknown},
		{"shutdown, said as an error", refusal("57P01"), store.ErrUnavailable, store.ErrUnknown},
		{"crash of another session", fatal("57P02"), store.ErrUnavailable, store.ErrUnknown},
		{"a pooler lost the server", refusal("08P01"), store.ErrUnavailable, store.ErrUnknown},
		{"idle in a transaction", fatal("25P03"), store.ErrUnavailable, store.ErrUnknown},
		{"internal error", refusal("XX000"), store.ErrUnavailable, store.ErrUnavailable},
		{"uncategorized", refusal("XXUUU"), store.ErrUnavailable, store.ErrUnknown},
		{"no table", refusal("42P01"), store.ErrUnavailable, store.ErrUnavailable},
		{"connection broke", errors.New("unexpected EOF"), store.ErrUnavailable, store.ErrUnknown},
		{"context ended meanwhile", context.DeadlineExceeded, store.ErrUnavailable, store.ErrUnknown},
		{"commit answered rollback", pgx.ErrTxCommitRollback, store.ErrUnavailable, store.ErrUnavailable},
		{"no connection", &pgconn.ConnectError{}, store.ErrUnavailable, store.ErrUnavailable},
		{"nothing sent", unsentError{}, store.ErrUnavailable, store.ErrUnavailable},
		{"pool closed", puddle.ErrClosedPool, store.ErrClosed, store.ErrClosed},
		{"already a word", store.ErrSealed, store.ErrSealed, store.ErrSealed},
		{"already unknown", fmt.Errorf("x: %w", store.ErrUnknown), store.ErrUnknown, store.ErrUnknown},
	} {
		for p, want := range map[phase]error{beforeCommit: c.before, duringCommit: c.during} {
			if got := classify(fmt.Errorf("wrapped: %w", c.err), p); !errors.Is(got, want) || words(got) != 1 {
				t.Errorf("%s in phase %d is %v, want %v", c.name, p, got, want)
			}
		}
	}
	if classify(nil, duringCommit) != nil {
		t.Error("no error is an error")
	}
}

type unsentError struct{}

func (unsentError) Error() string     { return "nothing was sent" }
func (unsentError) SafeToRetry() bool { return true }

// words is how many words of the vocabulary an error is.
func words(err error) int {
	n := 0
	for _, word := range []error{
		store.ErrConflict, store.ErrUnavailable, store.ErrTooLarge, store.ErrUnknown, store.ErrUnsupported,
		store.ErrInvalid, store.ErrClosed, store.ErrSealed, store.ErrNoBoard, store.ErrCursor,
	} {
		if errors.Is(err, word) {
			n++
		}
	}
	return n
}

// Only what was rolled back for somebody else's sake is tried again.
func TestOnlyPassingFailuresAreRepeated(t *testing.T) {
	for _, code := range []string{"40001", "40P01"} {
		if !passing(failure{code: code}) || passing(failure{code: code, fatal: true}) {
			t.Errorf("%s: passing is %v, fatal %v", code, passing(failure{code: code}), passing(failure{code: code, fatal: true}))
		}
	}
	for _, code := range []string{"", "40003", "57P01", "08006", "25006", "53100", "XX000"} {
		if passing(failure{code: code}) {
			t.Errorf("%s would be repeated", code)
		}
	}
}

// Any bytes may bound a Range; what the engine gets is printable, or next to it, and parts the
// keys alike.
func TestBoundPartsKeysAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringOfN(rapid.RuneFrom([]rune("!09az~")), 1, 6, -1).Draw(t, "key")
		s := string(rapid.SliceOfN(rapid.SampledFrom([]byte("\x00\x01 !0az~\x7f\x80\xff")), 0, 6).Draw(t, "bound"))
		b := bound(s)
		if (key >= s) != (key >= b) {
			t.Fatalf("%q >= %q is %v, with %q %v", key, s, key >= s, b, key >= b)
		}
		if strings.IndexByte(b, 0) >= 0 || strings.ContainsFunc(b, func(r rune) bool { return r > 0x7f }) {
			t.Fatalf("bound(%q) = %q is no text of every encoding", s, b)
		}
		if key+afterKey <= key || key >= afterAll {
			t.Fatalf("%q is not between", key)
		}
	})
}

func TestFramesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frame{
			origin:  "01234567",
			place:   rapid.Byte().Draw(t, "place"),
			topic:   rapid.StringOfN(rapid.RuneFrom([]rune("!/09az~")), 1, store.MaxTopic, -1).Draw(t, "topic"),
			payload: rapid.SliceOfN(rapid.Byte(), 0, 9000).Draw(t, "payload"),
		}
		text, fits := f.text()
		if fits != (len(text) <= maxNotify) {
			t.Fatalf("%d bytes: fits = %v", len(text), fits)
		}
		got, err := parseFrame(text)
		if err != nil || got.origin != f.origin || got.place != f.place || got.topic != f.topic || string(got.payload) != string(f.payload) || got.payload == nil {
			t.Fatalf("%.60q comes back as %+v, %v", text, got, err)
		}
		if !plain([]byte(text)) {
			t.Fatalf("%.60q is no text of every encoding", text)
		}
		got, err = parseFrame(f.reference() + "42")
		if err != nil || got.row != 42 || got.topic != f.topic || got.payload != nil {
			t.Fatalf("a reference comes back as %+v, %v", got, err)
		}
	})
}

func TestForeignNotificationsAreRefused(t *testing.T) {
	for _, text := range []string{"", " ", "=", "=0123456 x", "=01234567 x", "?0123456700topic x", "@0123456700topic x", "~0123456700topic !", "=0123456700topic", "=01234567zztopic x", "=0123456700 x"} {
		if f, err := parseFrame(text); err == nil {
			t.Errorf("parseFrame(%q) = %+v", text, f)
		}
	}
}

func TestChannelsAreNames(t *testing.T) {
	a, b := channelOf(long(40), "topic"), channelOf(long(40), "topic2")
	if a == b || a == channelOf(long(39), "topic") || len(a) > 63 {
		t.Errorf("channels %s (%d bytes) and %s", a, len(a), b)
	}
}

func long(n int) string { return strings.Repeat("x", n) }
