package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
)

// busCase is one promise of store.Bus.
type busCase struct {
	name string
	run  func(t *testing.T, h Harness[store.Bus])
}

// busTopics are the cases by topic.
func busTopics() []topic[busCase] {
	return []topic[busCase]{
		{"deliver", deliverCases()},
		{"receiver", receiverCases()},
		{"unsubscribe", unsubscribeCases()},
		{"close", busCloseCases()},
	}
}

// Bus is the specification of a driver of store.Bus. fresh makes a new bus for one case.
//
// A bus may lose, delay, double and reorder, so the cases send until something arrives
// (a bus that delivers nothing within Patience fails) and count nothing.
func Bus(t *testing.T, fresh func(t *testing.T) Harness[store.Bus]) {
	for _, topic := range busTopics() {
		t.Run(topic.name, func(t *testing.T) {
			for _, c := range topic.cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, fresh(t)) })
			}
		})
	}
}

// resend is how long a message is waited for before it is sent again.
const resend = 50 * time.Millisecond

// Inbox keeps what a subscription received; when it is full the rest is lost.
type Inbox chan string

// inboxRoom is how many messages an inbox keeps.
const inboxRoom = 4096

func newInbox() Inbox { return make(Inbox, inboxRoom) }

// receive is a receiver that does not block.
func (in Inbox) receive(payload []byte) {
	select {
	case in <- string(payload):
	default:
	}
}

// subscribe subscribes for as long as the test runs, or until the subscription is closed.
func subscribe(t *testing.T, b store.Bus, topic string, receive func([]byte)) store.Subscription {
	t.Helper()
	s, err := b.Subscribe(t.Context(), topic, receive)
	ok(t, "Subscribe "+topic, err)
	t.Cleanup(s.Close)
	return s
}

// send publishes payload until it is in every inbox, or the test has failed.
func send(t *testing.T, b store.Bus, topic, payload string, inboxes ...Inbox) {
	t.Helper()
	for i, in := range inboxes {
		for start := time.Now(); !in.holds(payload); {
			ok(t, "Publish", b.Publish(t.Context(), topic, []byte(payload)))
			if in.waitFor(payload, resend) {
				break
			}
			if t.Failed() || time.Since(start) > Patience {
				t.Fatalf("inbox %d: %.40q on %.40s did not arrive within %v", i, payload, topic, time.Since(start))
			}
		}
	}
}

// holds looks through what has arrived.
func (in Inbox) holds(payload string) bool {
	for {
		select {
		case got := <-in:
			if got == payload {
				return true
			}
		default:
			return false
		}
	}
}

// waitFor takes what arrives within d.
func (in Inbox) waitFor(payload string, d time.Duration) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	for {
		select {
		case got := <-in:
			if got == payload {
				return true
			}
		case <-limit.C:
			return false
		}
	}
}

// Hear subscribes for as long as the test runs, and collects what comes: up to 4,096 messages that
// nobody has taken out of the inbox.
func Hear(t *testing.T, b store.Bus, topic string) Inbox {
	t.Helper()
	in := newInbox()
	subscribe(t, b, topic, in.receive)
	return in
}

// Arrives publishes a message until it comes out of the inbox, and fails the test when it does not
// within [Patience]. What else is in the inbox is thrown away. That the engine does not take a
// message is no failure: it may be on its way back.
func Arrives(t *testing.T, from store.Bus, in Inbox, topic, payload string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	for {
		err := from.Publish(ctx, topic, []byte(payload))
		if in.waitFor(payload, resend) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%.40q on %.40s did not arrive within %v; Publish = %v", payload, topic, Patience, err)
		}
	}
}
