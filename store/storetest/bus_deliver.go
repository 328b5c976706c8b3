package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
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
	inboxes := make([]Inbox, len(handles))
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
	inboxes := make([]Inbox, len(topics))
	for i, topic := range topics {
		inboxes[i] = newInbox()
		subscribe(t, handles[i%len(handles)], topic, func(payload []byte) {
			if string(payload) != "for "+topic {
				t.Errorf("%s got %q", topic, payload)
			}
			inboxes[i].receive(payload)
		})
	}
	for range 3 {
		for i, topic := range topics {
			send(t, handles[(i+1)%len(handles)], topic, "for "+topic, inboxes[i])
		}
	}
}

// deliverPayloads sends what is empty, large or binary, and changes it after the call.
// Receivers change what they get, which is their own.
func deliverPayloads(t *testing.T, h Harness[store.Bus]) {
	handles := openSome(t, h, 2)
	var sent sync.Map
	inboxes := make([]Inbox, 3)
	for i := range inboxes {
		inboxes[i] = newInbox()
		subscribe(t, handles[i%len(handles)], "topic", func(payload []byte) {
			if _, known := sent.Load(string(payload)); !known {
				t.Errorf("received %d bytes that nobody sent: %.40q", len(payload), payload)
			}
			inboxes[i].receive(payload)
			clear(payload)
			_ = append(payload, "more"...)
		})
	}
	all := func(payload string) {
		t.Helper()
		sent.Store(payload, true)
		send(t, handles[0], "topic", payload, inboxes...)
	}
	for i, size := range []int{0, 1, 255, 256, 4096, 8000, 8001, 1 << 14, store.MaxPayload - 1, store.MaxPayload} {
		all(string(pattern(size, byte(i))))
	}
	payload := []byte("before")
	sent.Store("before", true)
	for range 20 {
		copy(payload, "before")
		ok(t, "Publish", handles[0].Publish(t.Context(), "topic", payload))
		copy(payload, "XXXXXX")
	}
	ok(t, "Publish of nil", handles[0].Publish(t.Context(), "topic", nil))
	all("after all")
}

func deliverToMany(t *testing.T, h Harness[store.Bus]) {
	handles := openSome(t, h, 3)
	inboxes := make([]Inbox, 150)
	for i := range inboxes {
		inboxes[i] = newInbox()
		subscribe(t, handles[i%len(handles)], fmt.Sprintf("topic/%d", i%3), inboxes[i].receive)
	}
	for i := range 3 {
		var some []Inbox
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
	subscribe(t, b, "topic", func(payload []byte) {
		if string(payload) == "never" {
			t.Error("a message whose context had ended was delivered")
		}
		in.receive(payload)
	})
	ctx := cancelled(t)
	want(t, "Publish", b.Publish(ctx, "topic", []byte("never")), store.ErrUnavailable)
	var called atomic.Bool
	_, err := b.Subscribe(ctx, "topic", func([]byte) { called.Store(true) })
	want(t, "Subscribe", err, store.ErrUnavailable)
	for i := range 5 {
		send(t, b, "topic", fmt.Sprint("message ", i), in)
	}
	if called.Load() {
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
