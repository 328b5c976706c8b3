package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// The connection of the bus breaks, and the server is restarted: subscriptions go on.
func TestBusHearsAgain(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	proxy := enginetest.Proxy(t, server.Addr())
	b := open(t, server.URLAt(proxy.Addr(), "p"), nil).Bus()
	other := open(t, server.URL("p"), nil).Bus()
	topics := map[string]storetest.Inbox{}
	for i := range 5 {
		topics[fmt.Sprintf("topic/%d", i)] = nil
	}
	for topic := range topics {
		topics[topic] = storetest.Hear(t, b, topic)
	}
	gone := storetest.Hear(t, b, "gone")
	for _, trouble := range []struct {
		name string
		make func()
	}{
		{"nothing", func() {}},
		{"a reset", proxy.Reset},
		{"another", proxy.Reset},
		{"a restart", func() {
			if err := errors.Join(server.Kill(), server.Start(t.Context())); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		trouble.make()
		for topic, heard := range topics {
			storetest.Arrives(t, other, heard, topic, trouble.name)
		}
		storetest.Arrives(t, b, gone, "gone", trouble.name)
	}
}

// A server that cannot be asked refuses a subscription within its context, and another that
// stands meanwhile is not disturbed.
func TestSubscribeToNobody(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	proxy := enginetest.Proxy(t, server.Addr())
	b := open(t, server.URLAt(proxy.Addr(), "p"), nil).Bus()
	heard := storetest.Hear(t, b, "topic")
	proxy.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Subscribe(ctx, "other", func([]byte) {}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a subscription that nobody confirms answers %v", err)
	}
	proxy.Heal()
	storetest.Arrives(t, b, heard, "topic", "after all")
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	again(t, "a server that is gone", func() error {
		if _, err := b.Subscribe(t.Context(), "third", func([]byte) {}); errors.Is(err, store.ErrUnavailable) {
			return nil
		}
		return errors.New("subscribed")
	})
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	storetest.Arrives(t, b, heard, "topic", "when it is back")
}

// Subscriptions come and go, on one topic, from many sides.
func TestSubscriptionsComeAndGo(t *testing.T) {
	b := open(t, enginetest.Redis(t).URL(enginetest.Prefix(t)), nil).Bus()
	stays := storetest.Hear(t, b, "topic")
	for range 20 {
		s, err := b.Subscribe(t.Context(), "topic", func([]byte) {})
		if err != nil {
			t.Fatal(err)
		}
		only, err := b.Subscribe(t.Context(), "other", func([]byte) {})
		if err != nil {
			t.Fatal(err)
		}
		only.Close() // and again in the next round: it ends and begins at the server
		s.Close()
	}
	storetest.Arrives(t, b, stays, "topic", "still")
	storetest.Arrives(t, b, storetest.Hear(t, b, "other"), "other", "anew")
}

// On a cluster it does not matter which server a message is given to, nor that one is gone.
func TestBusOfACluster(t *testing.T) {
	c := enginetest.OwnCluster(t, &engines.RedisOptions{Settings: map[string]string{"cluster-require-full-coverage": "no"}})
	url := func(i int) string { return "redis+cluster" + strings.TrimPrefix(c.Nodes()[i].URL("p"), "redis") }
	buses := make([]store.Bus, 3)
	heard := make([]storetest.Inbox, 3)
	for i := range buses {
		buses[i] = open(t, url(i), nil).Bus()
		heard[i] = storetest.Hear(t, buses[i], "topic")
	}
	for i, from := range buses {
		for k, at := range heard {
			storetest.Arrives(t, from, at, "topic", fmt.Sprintf("from %d to %d", i, k))
		}
	}
	if err := c.Nodes()[1].Kill(); err != nil {
		t.Fatal(err)
	}
	for i, from := range buses {
		for k, at := range heard {
			storetest.Arrives(t, from, at, "topic", fmt.Sprintf("without one, from %d to %d", i, k))
		}
	}
}

// Messages of another prefix are not heard.
func TestBusKeepsToItsPrefix(t *testing.T) {
	server := enginetest.Redis(t)
	a, other := enginetest.Prefix(t), enginetest.Prefix(t)
	mine, theirs := open(t, server.URL(a), nil).Bus(), open(t, server.URL(other), nil).Bus()
	heard := storetest.Hear(t, mine, "topic")
	for range 10 {
		if err := theirs.Publish(t.Context(), "topic", []byte("theirs")); err != nil {
			t.Fatal(err)
		}
	}
	if err := mine.Publish(t.Context(), "topic", []byte("mine")); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-heard:
		if got != "mine" {
			t.Errorf("it hears %q", got)
		}
	case <-within(t).Done():
		t.Error("it hears nothing")
	}
}

// When the bus is closed while the server is silent, everything ends.
func TestBusClosesInSilence(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	proxy := enginetest.Proxy(t, server.Addr())
	b := open(t, server.URLAt(proxy.Addr(), "p"), &redisstore.Options{AnswerTimeout: 500 * time.Millisecond}).Bus()
	storetest.Hear(t, b, "topic")
	proxy.Cut()
	waits := make(chan error, 1)
	go func() {
		_, err := b.Subscribe(t.Context(), "other", func([]byte) {})
		waits <- err
	}()
	if err := b.Close(within(t)); err != nil {
		t.Error(err)
	}
	if err := <-waits; store.OutcomeOf(err) != store.NotDone {
		t.Errorf("a subscription that waited answers %v", err)
	}
}
