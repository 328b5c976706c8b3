package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/shoalworks/shoal/store"
)

func receiverCases() []busCase {
	return []busCase{
		{"is called one at a time", oneAtATime},
		{"that is slow holds up nobody", slowReceiver},
		{"may publish and subscribe", receiverPublishes},
		{"may close its own subscription", receiverCloses},
		{"may close another subscription", receiverClosesAnother},
	}
}

func oneAtATime(t *testing.T, h Harness[store.Bus]) {
	const publishers, each = 4, 50
	handles := openSome(t, h, 2)
	in := newInbox()
	var inside, overlaps atomic.Int32
	subscribe(t, handles[0], "topic", func(payload []byte) {
		if inside.Add(1) > 1 {
			overlaps.Add(1)
		}
		in.receive(payload)
		inside.Add(-1)
	})
	ctx := t.Context()
	together(t, publishers, func(c int) error {
		for i := range each {
			if err := handles[c%len(handles)].Publish(ctx, "topic", fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		return nil
	})
	send(t, handles[0], "topic", "last", in)
	if n := overlaps.Load(); n > 0 {
		t.Fatalf("the receiver was called %d times while it ran", n)
	}
}

// slowReceiver blocks a receiver and publishes more than any queue holds. Publishers and
// other subscriptions go on, and so does the slow one when it comes back.
func slowReceiver(t *testing.T, h Harness[store.Bus]) {
	handles := openSome(t, h, 2)
	entered, release := make(chan struct{}, 1), make(chan struct{})
	slow, quick, other := newInbox(), newInbox(), newInbox()
	subscribe(t, handles[0], "topic", func(payload []byte) {
		select {
		case entered <- struct{}{}:
			<-release
		default:
		}
		slow.receive(payload)
	})
	subscribe(t, handles[0], "topic", quick.receive)
	subscribe(t, handles[len(handles)-1], "other", other.receive)
	enter(t, handles[0], "topic", entered)
	for i := range 5000 {
		ok(t, "Publish", handles[0].Publish(t.Context(), "topic", fmt.Append(nil, "message ", i)))
	}
	send(t, handles[0], "topic", "last", quick)
	send(t, handles[0], "other", "other", other)
	close(release)
	send(t, handles[0], "topic", "after", slow, quick)
}

// receiverPublishes passes a message from topic to topic, each subscribed to by the
// receiver of the one before.
func receiverPublishes(t *testing.T, h Harness[store.Bus]) {
	b := open(t, h)
	ctx := t.Context()
	const hops = 5
	end := newInbox()
	failures := make(chan error, 1000)
	subscriptions := make(chan store.Subscription, 1000)
	var receive func(hop int) func([]byte)
	receive = func(hop int) func([]byte) {
		var subscribed atomic.Bool
		return func(payload []byte) {
			if hop == hops {
				end.receive(payload)
				return
			}
			next := fmt.Sprintf("hop/%d", hop+1)
			if subscribed.CompareAndSwap(false, true) {
				s, err := b.Subscribe(ctx, next, receive(hop+1))
				if err != nil {
					failures <- err
					return
				}
				subscriptions <- s
			}
			if err := b.Publish(ctx, next, payload); err != nil {
				failures <- err
			}
		}
	}
	subscribe(t, b, "hop/0", receive(0))
	send(t, b, "hop/0", "message", end)
	for len(subscriptions) > 0 {
		(<-subscriptions).Close()
	}
	if len(failures) > 0 {
		t.Fatal(<-failures)
	}
}

// receiverCloses closes the subscription from within its receiver, which must not wait for
// itself, and is not called again.
func receiverCloses(t *testing.T, h Harness[store.Bus]) {
	b := open(t, h)
	for round := range 20 {
		topic := fmt.Sprintf("topic/%d", round)
		mine, done := make(chan store.Subscription, 1), make(chan struct{}, 16)
		witness := newInbox()
		var calls atomic.Int32
		s := subscribe(t, b, topic, func([]byte) {
			calls.Add(1)
			self := <-mine
			mine <- self
			self.Close()
			self.Close()
			done <- struct{}{}
		})
		mine <- s
		subscribe(t, b, topic, witness.receive)
		send(t, b, topic, "first", witness)
		for calls.Load() == 0 { // the first may be lost on this one
			send(t, b, topic, "again", witness)
		}
		await(t, "a receiver that closes its subscription", done)
		send(t, b, topic, "last", witness)
		s.Close()
		if n := calls.Load(); n != 1 {
			t.Fatalf("the receiver was called %d times, want once", n)
		}
	}
}

func receiverClosesAnother(t *testing.T, h Harness[store.Bus]) {
	handles := openSome(t, h, 2)
	victim, witness := newInbox(), newInbox()
	var closed atomic.Bool
	var late atomic.Int32
	other := subscribe(t, handles[len(handles)-1], "topic", func(payload []byte) {
		if closed.Load() {
			late.Add(1)
		}
		victim.receive(payload)
	})
	send(t, handles[0], "topic", "first", victim)
	done := newInbox()
	subscribe(t, handles[0], "end", func(payload []byte) {
		other.Close()
		closed.Store(true)
		done.receive(payload)
	})
	send(t, handles[0], "end", "now", done)
	subscribe(t, handles[0], "topic", witness.receive)
	send(t, handles[0], "topic", "last", witness)
	if n := late.Load(); n > 0 {
		t.Fatalf("a closed subscription got %d messages", n)
	}
}
