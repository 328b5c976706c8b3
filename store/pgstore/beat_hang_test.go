package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
)

// A connection that never answers again does not hold up a node's beats for as long as other
// calls may take: the next ones are on another connection.
func TestBeatsLeaveAConnectionThatHangs(t *testing.T) {
	pg := enginetest.Postgres(t)
	proxy := enginetest.Proxy(t, pg.Addr())
	e := open(t, pg.URLAt(proxy.Addr(), enginetest.Schema(t)), &pgstore.Options{CallDeadline: time.Minute})
	beat := func(ctx context.Context, v store.Version) error {
		return e.Fast().Commit(ctx, store.Tx{putOf("node/a", "beat", v, store.Condition{})})[0]
	}
	if err := beat(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	// What is lost may be the answer of another connection.
	for hangs := false; !hangs; {
		ctx, cancel := context.WithCancel(t.Context())
		lost, answer := proxy.DropAnswers(), make(chan error, 1)
		go func() { answer <- beat(ctx, 2) }()
		<-lost
		proxy.Heal()
		cancel()
		hangs = store.OutcomeOf(<-answer) == store.Unknown
	}
	until(t, "a beat on another connection", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := beat(ctx, 3)
		if err != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown) {
			t.Fatal(err)
		}
		return err == nil
	})
	proxy.Reset() // else closing waits for the one that hangs
}
