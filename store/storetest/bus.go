package storetest

import (
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

// inbox keeps what a subscription received; when it is full the rest is lost.
type inbox chan string

func newInbox() inbox { return make(inbox, 4096) }

// receive is a receiver that does not block.
func (in inbox) receive(payload []byte) {
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
func send(t *testing.T, b store.Bus, topic, payload string, inboxes ...inbox) {
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
func (in inbox) holds(payload string) bool {
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
func (in inbox) waitFor(payload string, d time.Duration) bool {
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
