package hub_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/hub"
)

// contract holds what the drivers hand on.
var _ store.Subscription = (*hub.Subscription)(nil)

// bubble runs a test on a hub in a bubble of synctest, and closes the hub at its end. A goroutine
// that is left fails it.
func bubble(t *testing.T, o hub.Options, test func(t *testing.T, h *hub.Hub)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := hub.New(o)
		test(t, h)
		h.Close()
		if err := h.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// subscribe subscribes to "topic".
func subscribe(t *testing.T, h *hub.Hub, receive func(string)) *hub.Subscription {
	t.Helper()
	s, err := h.Subscribe("topic", func(payload []byte) { receive(string(payload)) })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// deliver delivers messages on "topic" and answers how many were lost.
func deliver(h *hub.Hub, payloads ...string) (lost int) {
	for _, payload := range payloads {
		lost += h.Deliver("topic", []byte(payload))
	}
	return lost
}

// finished tells whether a channel is closed, or has something.
func finished[T any](c <-chan T) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// inBackground runs f on a goroutine of its own; the channel is closed after it.
func inBackground(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}

// Messages come in their order, and none is lost while the queue has room.
func TestMessagesComeInOrder(t *testing.T) {
	const queue = 1000
	bubble(t, hub.Options{Queue: queue}, func(t *testing.T, h *hub.Hub) {
		var got, want []string
		s := subscribe(t, h, func(payload string) { got = append(got, payload) })
		for i := range queue {
			want = append(want, fmt.Sprint(i))
		}
		if lost := deliver(h, want...); lost > 0 {
			t.Errorf("%d were lost", lost)
		}
		synctest.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("received %d messages, want %d in order", len(got), len(want))
		}
		if n := s.Kept(); n > 0 {
			t.Errorf("room for %d messages is kept when none is waiting", n)
		}
	})
}

// A subscriber that has fallen behind by the queue loses messages, the latest or the oldest ones;
// nobody waits for it, others lose nothing, and it goes on with what it has.
func TestFullQueueLoses(t *testing.T) {
	for _, c := range []struct {
		name    string
		options hub.Options
		want    []string
		lost    int
	}{
		{"the latest", hub.Options{Queue: 3}, []string{"0", "1", "2", "3", "again"}, 6},
		{"the oldest", hub.Options{Queue: 3, LoseOldest: true}, []string{"0", "7", "8", "9", "again"}, 6},
		{"all but one", hub.Options{}, []string{"0", "1", "again"}, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, c.options, func(t *testing.T, h *hub.Hub) {
				var slow, quick []string
				release := make(chan struct{})
				subscribe(t, h, func(payload string) {
					<-release
					slow = append(slow, payload)
				})
				subscribe(t, h, func(payload string) { quick = append(quick, payload) })
				lost := 0
				for i := range 10 {
					lost += deliver(h, fmt.Sprint(i))
					synctest.Wait()
				}
				close(release)
				synctest.Wait()
				lost += deliver(h, "again")
				synctest.Wait()
				if !slices.Equal(slow, c.want) || lost != c.lost {
					t.Errorf("the slow one has %q and %d lost, want %q and %d", slow, lost, c.want, c.lost)
				}
				if len(quick) != 11 {
					t.Errorf("the quick one has %q", quick)
				}
			})
		})
	}
}

// What nobody subscribes to, or a subscription that has ended, is not lost: nobody wanted it.
func TestNobodyLosesNothing(t *testing.T) {
	bubble(t, hub.Options{Queue: 1}, func(t *testing.T, h *hub.Hub) {
		s := subscribe(t, h, func(string) { t.Error("received") })
		s.Close()
		if lost := deliver(h, "1", "2", "3"); lost > 0 {
			t.Errorf("%d were lost", lost)
		}
	})
}

// A payload is the receiver's own, and every receiver's another.
func TestPayloadsAreCopies(t *testing.T) {
	bubble(t, hub.Options{Queue: 2}, func(t *testing.T, h *hub.Hub) {
		got := make([]string, 2)
		for i := range got {
			if _, err := h.Subscribe("topic", func(payload []byte) {
				got[i] += string(payload)
				clear(payload)
				_ = append(payload, "more"...)
			}); err != nil {
				t.Fatal(err)
			}
		}
		payload := []byte("as it was")
		h.Deliver("topic", payload)
		clear(payload)
		synctest.Wait()
		if want := []string{"as it was", "as it was"}; !slices.Equal(got, want) {
			t.Errorf("received %q", got)
		}
		if !slices.Equal(payload, make([]byte, len(payload))) {
			t.Errorf("a receiver has written into what was delivered: %q", payload)
		}
	})
}

// Topics are told apart and told about: when one has its first subscription and when its last
// has gone, and not in between.
func TestTopics(t *testing.T) {
	told := 0
	bubble(t, hub.Options{Queue: 1, Changed: func() { told++ }}, func(t *testing.T, h *hub.Hub) {
		expect := func(what string, n int, topics ...string) {
			t.Helper()
			got := h.Topics()
			slices.Sort(got)
			if !slices.Equal(got, topics) || told != n {
				t.Errorf("%s: topics %q, told %d times; want %q and %d", what, got, told, topics, n)
			}
		}
		var all []*hub.Subscription
		for _, topic := range []string{"a", "b", "a"} {
			s, err := h.Subscribe(topic, func(payload []byte) {
				if string(payload) != "for "+topic {
					t.Errorf("%s received %q", topic, payload)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		expect("subscribed", 2, "a", "b")
		for _, topic := range []string{"a", "b", "c"} {
			h.Deliver(topic, []byte("for "+topic))
		}
		synctest.Wait()
		all[0].Close()
		all[0].Close()
		expect("one of two closed", 2, "a", "b")
		all[2].Close()
		expect("both closed", 3, "b")
		h.Close()
		expect("the hub closed", 4)
	})
}

// Whom Changed calls may use the hub: no lock is held.
func TestChangedMayLook(t *testing.T) {
	var h *hub.Hub
	var seen [][]string
	h = hub.New(hub.Options{Queue: 1, Changed: func() { seen = append(seen, h.Topics()) }})
	subscribe(t, h, func(string) {}).Close()
	if len(seen) != 2 || len(seen[0]) != 1 || len(seen[1]) != 0 {
		t.Errorf("seen %q", seen)
	}
}

// Close of a subscription waits for the receiver that runs, and what waits is not received. Many
// may close at once, and again.
func TestCloseWaitsForTheReceiver(t *testing.T) {
	bubble(t, hub.Options{Queue: 4}, func(t *testing.T, h *hub.Hub) {
		release, calls := make(chan struct{}), 0
		s := subscribe(t, h, func(string) {
			<-release
			calls++
		})
		deliver(h, "received", "waiting", "waiting, too")
		synctest.Wait()
		closed := []<-chan struct{}{inBackground(s.Close), inBackground(s.Close)}
		synctest.Wait()
		if finished(closed[0]) || finished(closed[1]) {
			t.Error("Close has answered while the receiver ran")
		}
		if topics := h.Topics(); len(topics) > 0 {
			t.Errorf("an ended subscription is still on %q", topics)
		}
		close(release)
		<-closed[0]
		<-closed[1]
		s.Close()
		deliver(h, "late")
		synctest.Wait()
		if calls != 1 {
			t.Errorf("the receiver was called %d times", calls)
		}
	})
}

// A receiver may close its own subscription, also again: it does not wait for itself, and is not
// called again. Somebody else who closes waits for it.
func TestReceiverClosesItself(t *testing.T) {
	bubble(t, hub.Options{Queue: 4}, func(t *testing.T, h *hub.Hub) {
		mine, release, calls := make(chan *hub.Subscription, 1), make(chan struct{}), 0
		s := subscribe(t, h, func(string) {
			calls++
			self := <-mine
			self.Close()
			self.Close()
			<-release
		})
		mine <- s
		deliver(h, "first", "second")
		synctest.Wait()
		others := []<-chan struct{}{
			inBackground(s.Close),
			inBackground(func() {
				h.Close()
				_ = h.Wait(context.Background())
			}),
		}
		synctest.Wait()
		if finished(others[0]) || finished(others[1]) {
			t.Error("somebody did not wait for a receiver that has closed its own subscription")
		}
		close(release)
		<-others[0]
		<-others[1]
		if calls != 1 {
			t.Errorf("the receiver was called %d times", calls)
		}
	})
}

// A receiver may subscribe, deliver, and close another subscription.
func TestReceiverSubscribes(t *testing.T) {
	bubble(t, hub.Options{Queue: 4}, func(t *testing.T, h *hub.Hub) {
		var got []string
		other := subscribe(t, h, func(payload string) { got = append(got, payload) })
		if _, err := h.Subscribe("begin", func([]byte) {
			subscribe(t, h, func(payload string) { got = append(got, "new: "+payload) })
			other.Close()
			deliver(h, "message")
		}); err != nil {
			t.Fatal(err)
		}
		h.Deliver("begin", nil)
		synctest.Wait()
		if want := []string{"new: message"}; !slices.Equal(got, want) {
			t.Errorf("received %q, want %q", got, want)
		}
	})
}

// Closing the hub ends all, and Wait waits for the receivers that run; afterwards nobody comes in.
func TestCloseEndsAll(t *testing.T) {
	bubble(t, hub.Options{Queue: 4}, func(t *testing.T, h *hub.Hub) {
		release := make(chan struct{})
		var begun, ended atomic.Int64
		for range 3 {
			subscribe(t, h, func(string) {
				begun.Add(1)
				<-release
				ended.Add(1)
			})
			deliver(h, "message")
			synctest.Wait()
		}
		if h.Closed() {
			t.Error("closed")
		}
		h.Close()
		h.Close()
		waited := inBackground(func() { _ = h.Wait(t.Context()) })
		synctest.Wait()
		if finished(waited) || !h.Closed() {
			t.Errorf("Wait has answered while receivers ran, or the hub is open: %v", h.Closed())
		}
		if _, err := h.Subscribe("topic", func([]byte) { t.Error("received") }); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Subscribe = %v", err)
		}
		deliver(h, "late")
		close(release)
		<-waited
		if begun.Load() != 3 || ended.Load() != 3 {
			t.Errorf("%d receivers began and %d ended, want 3", begun.Load(), ended.Load())
		}
	})
}

// Wait gives up on receivers that do not return when its context ends, and says which; one that
// has returned is not among them.
func TestWaitIsBoundedByItsContext(t *testing.T) {
	bubble(t, hub.Options{Queue: 1}, func(t *testing.T, h *hub.Hub) {
		release := make(chan struct{})
		subscribe(t, h, func(string) { <-release })
		if _, err := h.Subscribe("idle", func([]byte) {}); err != nil {
			t.Fatal(err)
		}
		deliver(h, "message")
		synctest.Wait()
		h.Close()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		err := h.Wait(ctx)
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("Wait = %v after %v, want unavailable after 1s", err, time.Since(begun))
		}
		if err != nil && (!strings.Contains(err.Error(), "topic") || strings.Contains(err.Error(), "idle")) {
			t.Errorf("Wait names others than who runs: %v", err)
		}
		close(release)
		synctest.Wait()
		if err := h.Wait(ctx); err != nil {
			t.Errorf("Wait when all have returned = %v, though its context has ended", err)
		}
	})
}

// A receiver may close the whole hub: it does not wait for itself, but for the others.
func TestReceiverClosesTheHub(t *testing.T) {
	bubble(t, hub.Options{Queue: 4}, func(t *testing.T, h *hub.Hub) {
		release, over, calls := make(chan struct{}), false, 0
		subscribe(t, h, func(string) {
			<-release
			over = true
		})
		deliver(h, "message")
		synctest.Wait()
		closed := make(chan error, 1)
		subscribe(t, h, func(string) {
			calls++
			h.Close()
			closed <- h.Wait(t.Context())
		})
		deliver(h, "one", "two")
		synctest.Wait()
		if len(closed) > 0 {
			t.Error("Wait did not wait for the other receiver")
		}
		close(release)
		if err := <-closed; err != nil || !over || calls != 1 {
			t.Errorf("Wait = %v, the other finished: %v, %d calls", err, over, calls)
		}
	})
}

// Subscribers come, go and get messages while the hub is being closed: each is refused or ended,
// and when Wait has answered no receiver runs, nor will.
func TestSubscribeWhileClosing(t *testing.T) {
	const subscribers, rounds = 8, 200
	before := goleak.IgnoreCurrent()
	for range rounds {
		var changes atomic.Int64
		h := hub.New(hub.Options{Queue: 2, Changed: func() { changes.Add(1) }})
		var over atomic.Bool
		var late, refused atomic.Int64
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range subscribers {
			all.Go(func() {
				<-start
				for {
					s, err := h.Subscribe(fmt.Sprint(i%3), func([]byte) {
						if over.Load() {
							late.Add(1)
						}
					})
					if errors.Is(err, store.ErrClosed) {
						refused.Add(1)
						return
					}
					h.Deliver(fmt.Sprint(i%3), nil)
					if i%2 == 0 {
						s.Close()
					}
				}
			})
		}
		close(start)
		h.Close()
		if err := h.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		over.Store(true)
		for i := range 3 {
			h.Deliver(fmt.Sprint(i), nil)
		}
		all.Wait()
		if late.Load() > 0 || refused.Load() != subscribers || len(h.Topics()) > 0 || changes.Load()%2 != 0 {
			t.Fatalf("%d receivers ran after the end, %d were refused, topics left %q, %d changes",
				late.Load(), refused.Load(), h.Topics(), changes.Load())
		}
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// One goroutine has one name, and another one another.
func TestGoroutinesAreToldApart(t *testing.T) {
	mine := hub.Goroutine()
	if !strings.HasPrefix(mine, "goroutine ") || hub.Goroutine() != mine {
		t.Errorf("this goroutine is %q and then %q", mine, hub.Goroutine())
	}
	other := make(chan string)
	go func() { other <- hub.Goroutine() }()
	if name := <-other; name == mine || !strings.HasPrefix(name, "goroutine ") {
		t.Errorf("this goroutine is %q, another %q", mine, name)
	}
}
