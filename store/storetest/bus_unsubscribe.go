package storetest

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/store"
)

func unsubscribeCases() []busCase {
	return []busCase{
		{"stops the delivery", stopsDelivery},
		{"waits for a running receiver", waitsForReceiver},
		{"again, and by many at once", closeByMany},
		{"one of several on a topic", closeOneOfSeveral},
		{"while messages come", closeUnderLoad},
	}
}

func busCloseCases() []busCase {
	return []busCase{
		{"later calls answer closed", busClosed},
		{"ends every subscription and waits for receivers", busCloseEndsAll},
		{"leaves other handles alone", busCloseAlone},
		{"ends its goroutines", busGoroutines},
	}
}

// stopsDelivery counts the calls that begin after Close has answered.
func stopsDelivery(t *testing.T, h Harness[store.Bus]) {
	handles := openSome(t, h, 2)
	witness := newInbox()
	subscribe(t, handles[0], "topic", witness.receive)
	for round := range 20 {
		in := newInbox()
		var closed atomic.Bool
		var late atomic.Int32
		s := subscribe(t, handles[round%len(handles)], "topic", func(payload []byte) {
			if closed.Load() {
				late.Add(1)
			}
			in.receive(payload)
		})
		send(t, handles[0], "topic", fmt.Sprint("first ", round), in)
		for range 10 { // some are still queued
			ok(t, "Publish", handles[0].Publish(t.Context(), "topic", []byte("queued")))
		}
		s.Close()
		closed.Store(true)
		for range 10 {
			ok(t, "Publish", handles[0].Publish(t.Context(), "topic", []byte("late")))
		}
		send(t, handles[0], "topic", fmt.Sprint("last ", round), witness)
		if n := late.Load(); n > 0 {
			t.Fatalf("a closed subscription got %d messages", n)
		}
	}
}

// waitsForReceiver closes while the receiver runs.
func waitsForReceiver(t *testing.T, h Harness[store.Bus]) {
	b := open(t, h)
	for round := range 30 {
		topic := fmt.Sprintf("topic/%d", round)
		entered, release := make(chan struct{}, 1), make(chan struct{})
		var finished atomic.Bool
		s := subscribe(t, b, topic, func([]byte) {
			select {
			case entered <- struct{}{}:
			default:
				return
			}
			<-release
			runtime.Gosched()
			finished.Store(true)
		})
		enter(t, b, topic, entered)
		closed := make(chan bool, 2)
		for range 2 {
			go func() {
				s.Close()
				closed <- finished.Load()
			}()
		}
		for range 100 * (round % 3) {
			runtime.Gosched() // let Close get ahead, if it does
		}
		close(release)
		for range 2 {
			if !await(t, "Close", closed) {
				t.Fatal("Close answered while the receiver ran")
			}
		}
	}
}

// enter publishes until the receiver has told that it runs. It leaves entered full, so that
// the receiver does not stop again.
func enter(t *testing.T, b store.Bus, topic string, entered chan struct{}) {
	t.Helper()
	for start := time.Now(); len(entered) == 0; runtime.Gosched() {
		ok(t, "Publish", b.Publish(t.Context(), topic, []byte("enter")))
		if time.Since(start) > Patience {
			t.Fatalf("no message on %s within %v", topic, Patience)
		}
	}
}

func closeByMany(t *testing.T, h Harness[store.Bus]) {
	b := open(t, h)
	in := newInbox()
	for range 10 {
		s := subscribe(t, b, "topic", in.receive)
		send(t, b, "topic", "message", in)
		together(t, 4, func(int) error {
			s.Close()
			s.Close()
			return nil
		})
		s.Close()
	}
}

func closeOneOfSeveral(t *testing.T, h Harness[store.Bus]) {
	b := open(t, h)
	inboxes := []Inbox{newInbox(), newInbox(), newInbox()}
	subscriptions := make([]store.Subscription, len(inboxes))
	for i, in := range inboxes {
		subscriptions[i] = subscribe(t, b, "topic", in.receive)
	}
	send(t, b, "topic", "first", inboxes...)
	subscriptions[1].Close()
	send(t, b, "topic", "second", inboxes[0], inboxes[2])
	subscriptions[0].Close()
	send(t, b, "topic", "third", inboxes[2])
	if inboxes[1].holds("second") || inboxes[0].holds("third") {
		t.Fatal("a closed subscription got a message")
	}
	subscriptions[2].Close()
	in := newInbox()
	subscribe(t, b, "topic", in.receive)
	send(t, b, "topic", "fourth", in)
}

// closeUnderLoad subscribes and closes while others publish.
func closeUnderLoad(t *testing.T, h Harness[store.Bus]) {
	const subscribers, rounds = 3, 15
	handles := openSome(t, h, 2)
	ctx := t.Context()
	var running, late atomic.Int32
	running.Store(subscribers)
	together(t, subscribers+2, func(c int) error {
		b := handles[c%len(handles)]
		if c >= subscribers {
			for running.Load() > 0 {
				if err := b.Publish(ctx, "topic", []byte("load")); err != nil {
					return err
				}
				runtime.Gosched()
			}
			return nil
		}
		defer running.Add(-1)
		for range rounds {
			var closed atomic.Bool
			got := make(chan struct{}, 1)
			s, err := b.Subscribe(ctx, "topic", func([]byte) {
				if closed.Load() {
					late.Add(1)
				}
				select {
				case got <- struct{}{}:
				default:
				}
			})
			if err != nil {
				return err
			}
			limit := time.NewTimer(Patience)
			select {
			case <-got: // the publishers go on until it came
			case <-limit.C:
				err = fmt.Errorf("no message within %v", Patience)
			}
			limit.Stop()
			s.Close()
			closed.Store(true)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if n := late.Load(); n > 0 {
		t.Fatalf("closed subscriptions got %d messages", n)
	}
}

func busClosed(t *testing.T, h Harness[store.Bus]) {
	b := h.Open(t)
	in := newInbox()
	s, err := b.Subscribe(t.Context(), "topic", in.receive)
	ok(t, "Subscribe", err)
	shut(t, b)
	shut(t, b) // again does nothing
	want(t, "Publish", b.Publish(t.Context(), "topic", []byte("x")), store.ErrClosed)
	_, err = b.Subscribe(t.Context(), "topic", in.receive)
	want(t, "Subscribe", err, store.ErrClosed)
	s.Close()
}

// busCloseEndsAll closes the bus while one receiver runs and others have messages queued.
func busCloseEndsAll(t *testing.T, h Harness[store.Bus]) {
	for range 10 {
		b := h.Open(t)
		entered, release := make(chan struct{}, 1), make(chan struct{})
		var finished, closed atomic.Bool
		var late atomic.Int32
		count := func() {
			if closed.Load() {
				late.Add(1)
			}
		}
		_, err := b.Subscribe(t.Context(), "topic", func([]byte) {
			count()
			select {
			case entered <- struct{}{}:
				<-release
				runtime.Gosched()
				finished.Store(true)
			default:
			}
		})
		ok(t, "Subscribe", err)
		for range 5 {
			_, err := b.Subscribe(t.Context(), "topic", func([]byte) { count() })
			ok(t, "Subscribe", err)
		}
		enter(t, b, "topic", entered)
		for range 50 {
			ok(t, "Publish", b.Publish(t.Context(), "topic", []byte("queued")))
		}
		answered := make(chan bool, 1)
		ctx := t.Context()
		go func() {
			err := b.Close(ctx)
			closed.Store(true)
			answered <- err == nil && finished.Load()
		}()
		close(release)
		if !await(t, "Close", answered) {
			t.Fatal("Close failed, or answered while a receiver ran")
		}
		if n := late.Load(); n > 0 {
			t.Fatalf("subscriptions of a closed bus got %d messages", n)
		}
	}
}

func busCloseAlone(t *testing.T, h Harness[store.Bus]) {
	handles := openSome(t, h, 3)
	last := handles[len(handles)-1]
	in := newInbox()
	subscribe(t, last, "topic", in.receive)
	for i, b := range handles[:len(handles)-1] {
		send(t, b, "topic", fmt.Sprint("from ", i), in)
		shut(t, b)
		send(t, last, "topic", fmt.Sprint("after ", i), in)
	}
	send(t, last, "topic", "last", in)
}

func busGoroutines(t *testing.T, h Harness[store.Bus]) {
	before := goleak.IgnoreCurrent()
	handles := []store.Bus{h.Open(t)}
	if h.Shared {
		handles = append(handles, h.Open(t))
	}
	in := newInbox()
	for i := range 20 {
		_, err := handles[i%len(handles)].Subscribe(t.Context(), "topic", in.receive)
		ok(t, "Subscribe", err)
	}
	send(t, handles[0], "topic", "message", in)
	for _, b := range handles {
		shut(t, b)
	}
	if err := goleak.Find(before); err != nil {
		t.Fatal(err)
	}
}
