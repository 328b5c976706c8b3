package memstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

func publish(t *testing.T, b store.Bus, payload string) {
	t.Helper()
	if err := b.Publish(t.Context(), "topic", []byte(payload)); err != nil {
		t.Fatal(err)
	}
}

func subscribe(t *testing.T, b store.Bus, receive func([]byte)) store.Subscription {
	t.Helper()
	s, err := b.Subscribe(t.Context(), "topic", receive)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A full queue loses the oldest.
func TestFullQueueLosesTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(&memstore.Options{Queue: 3})
		b := process(t, e).Bus()
		var got []string
		release := make(chan struct{})
		subscribe(t, b, func(payload []byte) {
			got = append(got, string(payload))
			<-release
		})
		publish(t, b, "first")
		synctest.Wait() // its receiver runs
		for _, payload := range []string{"a", "b", "c", "d", "e"} {
			publish(t, b, payload)
		}
		if n := e.Dropped(); n != 2 {
			t.Errorf("%d dropped, want 2", n)
		}
		close(release)
		synctest.Wait()
		if want := []string{"first", "c", "d", "e"}; !slices.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
	})
}

// A receiver may close the whole bus: it does not wait for itself, but for the others.
func TestReceiverClosesTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(nil)
		b, other := e.Bus(), e.Bus()
		defer func() { _ = other.Close(t.Context()) }()
		release, finished, closed := make(chan struct{}), false, make(chan error, 1)
		subscribe(t, b, func([]byte) {
			<-release
			finished = true
		})
		publish(t, other, "message")
		synctest.Wait() // the first receiver runs
		calls := 0
		subscribe(t, b, func([]byte) {
			calls++
			closed <- b.Close(t.Context())
		})
		publish(t, other, "one")
		publish(t, other, "two")
		synctest.Wait()
		if len(closed) > 0 {
			t.Error("Close did not wait for the other receiver")
		}
		close(release)
		if err := <-closed; err != nil || !finished || calls != 1 {
			t.Errorf("Close = %v, the other finished: %v, %d calls", err, finished, calls)
		}
	})
}

// Close gives up on a receiver that does not return when its context ends, and says so.
func TestBusCloseIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memstore.New(nil).Bus()
		release := make(chan struct{})
		subscribe(t, b, func([]byte) { <-release })
		publish(t, b, "message")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		err := b.Close(ctx)
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("Close = %v after %v, want unavailable after 1s", err, time.Since(begun))
		}
		close(release)
		if err := b.Close(t.Context()); err != nil {
			t.Errorf("Close again = %v", err)
		}
	})
}

// Handles end their own subscriptions only.
func TestCloseEndsOwnSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(nil)
		a, b := e.Bus(), e.Bus()
		defer func() { _ = b.Close(t.Context()) }()
		var atA, atB int
		subscribe(t, a, func([]byte) { atA++ })
		subscribe(t, b, func([]byte) { atB++ })
		publish(t, b, "one")
		synctest.Wait()
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		publish(t, b, "two")
		synctest.Wait()
		if atA != 1 || atB != 2 {
			t.Errorf("received %d and %d, want 1 and 2", atA, atB)
		}
	})
}
