package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
)

// Every error is one word of the vocabulary: that of a read, and that of a write.
func TestErrorsAreClassified(t *testing.T) {
	said := func(text string) error { return &replyError{text} }
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	broken := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for _, c := range []struct {
		err         error
		written     error // the word of a write; a read is always ErrUnavailable
		repeatWrite bool
		repeatRead  bool
	}{
		{said("OOM command not allowed when used memory > 'maxmemory'. script: 1f, on @user_script:1."), store.ErrUnavailable, false, false},
		{said("READONLY You can't write against a read only replica."), store.ErrUnavailable, false, false},
		{said("LOADING Redis is loading the dataset in memory"), store.ErrUnavailable, true, true},
		{said("CLUSTERDOWN Hash slot not served"), store.ErrUnavailable, true, true},
		{said("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), store.ErrUnavailable, true, true},
		{said("TRYAGAIN Multiple keys request during rehashing of slot"), store.ErrUnavailable, true, true},
		{said("MOVED 3999 127.0.0.1:6381"), store.ErrUnavailable, true, true},
		{said("ASK 3999 127.0.0.1:6381"), store.ErrUnavailable, true, true},
		{said("NOREPLICAS Not enough good replicas to write."), store.ErrUnavailable, false, false},
		{said("MISCONF Redis is configured to save RDB snapshots"), store.ErrUnavailable, false, false},
		{said("BUSY Redis is busy running a script."), store.ErrUnavailable, false, false},
		{said("NOAUTH Authentication required."), store.ErrUnavailable, false, false},
		{said("NOPERM this user has no permissions"), store.ErrUnavailable, false, false},
		{said("WRONGPASS invalid username-password pair"), store.ErrUnavailable, false, false},
		{said("WRONGTYPE Operation against a key holding the wrong kind of value"), store.ErrUnavailable, false, false},
		{said("NOSCRIPT No matching script. Please use EVAL."), store.ErrUnavailable, false, false},
		{said("CROSSSLOT Keys in request don't hash to the same slot"), store.ErrUnavailable, false, false},
		{said("ERR proxy: upstream is gone"), store.ErrUnknown, false, false},
		{said("UNKILLABLE"), store.ErrUnknown, false, false},
		{said(""), store.ErrUnknown, false, false},
		{refused, store.ErrUnavailable, true, true},
		{&unsentError{context.DeadlineExceeded}, store.ErrUnavailable, true, true},
		{fmt.Errorf("behind a wrap: %w", &unsentError{io.EOF}), store.ErrUnavailable, true, true},
		{rueidis.ErrNoSlot, store.ErrUnavailable, true, true},
		{rueidis.ErrNoAddr, store.ErrUnavailable, true, true},
		{broken, store.ErrUnknown, false, true},
		{io.EOF, store.ErrUnknown, false, true},
		{io.ErrUnexpectedEOF, store.ErrUnknown, false, true},
		{os.ErrDeadlineExceeded, store.ErrUnknown, false, true},
		{context.DeadlineExceeded, store.ErrUnknown, false, true},
		{context.Canceled, store.ErrUnknown, false, true},
		{rueidis.ErrClosing, store.ErrUnknown, false, true},
		{errors.New("whatever comes"), store.ErrUnknown, false, true},
	} {
		if err := classify(c.err, writing); !errors.Is(err, c.written) || store.OutcomeOf(err) != store.OutcomeOf(c.written) {
			t.Errorf("a write that fails with %q answers %v, want %v", c.err, err, c.written)
		}
		if err := classify(c.err, reading); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("a read that fails with %q answers %v", c.err, err)
		}
		if got := mayRepeat(translate(c.err), writing); got != c.repeatWrite {
			t.Errorf("a write that fails with %q is sent again: %v, want %v", c.err, got, c.repeatWrite)
		}
		if got := mayRepeat(translate(c.err), reading); got != c.repeatRead {
			t.Errorf("a read that fails with %q is sent again: %v, want %v", c.err, got, c.repeatRead)
		}
		if c.repeatWrite && store.OutcomeOf(classify(c.err, writing)) != store.NotDone {
			t.Errorf("a write that fails with %q is sent again although it may have run", c.err)
		}
	}
	if classify(nil, writing) != nil {
		t.Error("no error is one")
	}
}
