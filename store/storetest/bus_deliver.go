package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shoalworks/shoal/store"
)

func deliverCases() []busCase {
	return []busCase{
		{"within the process", deliverWithin},
		{"across handles, both ways", deliverAcross},
		{"to no other topic", deliverByTopic},
		{"payloads of every size and byte", deliverPayloads},
		{"to many subscribers", deliverToMany},
		{"a subscription outlives the context of the call", subscribeContext},
		{"nothing when the context has ended", busEndedContext},
		{"to those who come later", deliverToLater},
	}
}

func deliverWithin(t *testing.T, h Harness[store.Bus]) {
	b := open(t, h)
	in := newInbox()
	subscribe(t, b, "topic", in.receive)
	for i := range 20 {
		send(t, b, "topic", fmt.Sprint("message ", i), in)
	}
	ok(t, "Publish to nobody", b.Publish(t.Context(), "nobody", []byte("x")))
}

func deliverAcross(t *testing.T, h Harness[store.Bus]) {
	handles := openSome(t, h, 3)
	inboxes := make([]inbox, len(handles))
	for i, b := range handles {
		inboxes[i] = newInbox()
		subscribe(t, b, "topic", inboxes[i].receive)
	}
	for round := range 5 {
		for i, b := range handles {
			send(t, b, "topic", fmt.Sprintf("message %d of %d", round, i), inboxes...)
		}
	}
}

// deliverByTopic sends to topics that look alike what each may get.
func deliverByTopic(t *testing.T, h Harness[store.Bus]) {
	handles := openSome(t, h, 2)
	long := strings.Repeat("t", store.MaxTopic)
	topics := []string{"a", "A", "a/b", "a/b/c", "a/", "/a", "a.b", "a*", "*", "#", "a/#", "a/+", ">", "a%", "%", "_", "a_", "a'", "a\"", "a:b", "0", "00", long, long[1:], "!#$&()+,-<=>?@[\\]^`{|}~"}
	inboxes := make([]inbox, len(topics))
	var wrong atomic.Pointer[string]
	for i, topic := range topics {
		inboxes[i] = newInbox()
		subscribe(t, handles[i%len(handles)], topic, func(payload []byte) {
			if string(payload) != "for "+topic {
				got := fmt.Sprintf("%s got %q", topic, payload)
				wrong.Store(&got)
			}
			inboxes[i].receive(payload)
		})
	}
	for range 3 {
		for i, topic := range topics {
			send(t, handles[(i+1)%len(handles)], topic, "for "+topic, inboxes[i])
		}
	}
	if got := wrong.Load(); got != nil {
		t.Fatal(*got)
	}
}

// deliverPayloads sends what is empty, large or binary, and changes it after the call.
func deliverPayloads(t *testing.T, h Harness[store.Bus]) {
	handles := openSome(t, h, 2)
	near, far := newInbox(), newInbox()
	subscribe(t, handles[0], "topic", func(payload []byte) {
		near.receive(payload)
		clear(payload) // it is the receiver's own
	})
	subscribe(t, handles[len(handles)-1], "topic", far.receive)
	for i, size := range []int{0, 1, 255, 256, 4096, 8000, 8001, 1 << 14, store.MaxPayload - 1, store.MaxPayload} {
		send(t, handles[0], "topic", string(pattern(size, byte(i))), near, far)
	}
	payload := []byte("before")
	for range 20 {
		copy(payload, "before")
		ok(t, "Publish", handles[0].Publish(t.Context(), "topic", payload))
		copy(payload, "XXXXXX")
	}
	send(t, handles[0], "topic", "before", near, far)
	for _, in := range []inbox{near, far} {
		if in.holds("XXXXXX") {
			t.Fatal("a change after Publish arrived")
		}
	}
	ok(t, "Publish of nil", handles[0].Publish(t.Context(), "topic", nil))
	send(t, handles[0], "topic", "after nil", near, far)
}

func deliverToMany(t *testing.T, h Harness[store.Bus]) {
	handles := openSome(t, h, 3)
	inboxes := make([]inbox, 150)
	for i := range inboxes {
		inboxes[i] = newInbox()
		subscribe(t, handles[i%len(handles)], fmt.Sprintf("topic/%d", i%3), inboxes[i].receive)
	}
	for i := range 3 {
		var some []inbox
		for n := i; n < len(inboxes); n += 3 {
			some = append(some, inboxes[n])
		}
		send(t, handles[0], fmt.Sprintf("topic/%d", i), fmt.Sprint("message ", i), some...)
	}
}

func subscribeContext(t *testing.T, h Harness[store.Bus]) {
	b := open(t, h)
	in := newInbox()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := b.Subscribe(ctx, "topic", in.receive)
	ok(t, "Subscribe", err)
	defer s.Close()
	cancel()
	send(t, b, "topic", "message", in)
}

func busEndedContext(t *testing.T, h Harness[store.Bus]) {
	b := open(t, h)
	in := newInbox()
	subscribe(t, b, "topic", in.receive)
	ctx := cancelled(t)
	want(t, "Publish", b.Publish(ctx, "topic", []byte("never")), store.ErrUnavailable)
	var called atomic.Bool
	_, err := b.Subscribe(ctx, "topic", func([]byte) { called.Store(true) })
	want(t, "Subscribe", err, store.ErrUnavailable)
	for i := range 5 {
		message := fmt.Sprint("message ", i)
		if !sendOne(t.Context(), b, "topic", message, in) {
			t.Fatalf("%q did not arrive", message)
		}
	}
	if called.Load() || in.holds("never") {
		t.Fatal("a call whose context had ended did something")
	}
}

func deliverToLater(t *testing.T, h Harness[store.Bus]) {
	handles := openSome(t, h, 2)
	for i := range 20 {
		in := newInbox()
		s := subscribe(t, handles[i%len(handles)], "topic", in.receive)
		send(t, handles[(i+1)%len(handles)], "topic", fmt.Sprint("message ", i), in)
		s.Close()
	}
}
