package pgstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// A message that is sent after Subscribe has answered arrives although it is sent only once.
func TestSubscribeIsInForceWhenItAnswers(t *testing.T) {
	url := direct(t)
	a, b := open(t, url, nil).Bus(), open(t, url, nil).Bus()
	storetest.Arrives(t, a, storetest.Hear(t, b, "first"), "first", "listening")
	for i := range 20 {
		topic, payload := fmt.Sprintf("topic/%d", i), strings.Repeat("x", 500*i) // some go through the table
		in := storetest.Hear(t, b, topic)
		if err := a.Publish(t.Context(), topic, []byte(payload)); err != nil {
			t.Fatal(err)
		}
		until(t, topic, func() bool {
			select {
			case got := <-in:
				return got == payload
			default:
				return false
			}
		})
	}
}

// Every subscription is heard again after the connection that listens was ended, and after the
// server was restarted.
func TestListensAgain(t *testing.T) {
	pg := enginetest.OwnPostgres(t, nil)
	a, b := open(t, pg.URL("shoal"), nil).Bus(), open(t, pg.URL("shoal"), nil).Bus()
	var inboxes []storetest.Inbox
	for i := range 5 {
		inboxes = append(inboxes, storetest.Hear(t, b, fmt.Sprint(i)))
	}
	all := func(payload string) {
		t.Helper()
		for i, in := range inboxes {
			storetest.Arrives(t, a, in, fmt.Sprint(i), payload)
		}
	}
	all("before")
	err := pg.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
	if err != nil {
		t.Fatal(err)
	}
	all("after the connection was ended")
	if err := pg.Kill(); err != nil {
		t.Fatal(err)
	}
	inboxes = append(inboxes, storetest.Hear(t, b, "5")) // a subscription that the server hears of later
	if err := a.Publish(t.Context(), "0", []byte("lost")); err != nil {
		t.Errorf("Publish while the server is away = %v", err)
	}
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	all("after the server was away")
}

// Messages come again however often the connections break.
func TestListensAgainAfterReset(t *testing.T) {
	proxy, cut, sure := throughProxy(t, nil)
	in := storetest.Hear(t, cut.Bus(), "topic")
	storetest.Arrives(t, sure.Bus(), in, "topic", "before")
	for i := range 3 {
		proxy.Reset()
		storetest.Arrives(t, sure.Bus(), in, "topic", fmt.Sprint("after ", i))
	}
}

// Each message that is polled for comes once.
func TestPolledMessagesComeOnce(t *testing.T) {
	pooler, schema := enginetest.PgBouncer(t, enginetest.Postgres(t)), enginetest.Schema(t)
	o := &pgstore.Options{PollEvery: 20 * time.Millisecond}
	a, b := open(t, pooler.URL(schema), o).Bus(), open(t, pooler.URL(schema), o).Bus()
	storetest.Arrives(t, a, storetest.Hear(t, b, "witness"), "witness", "first")
	seen := make(map[string]int)
	in := storetest.Hear(t, b, "topic")
	for i := range 100 {
		if err := a.Publish(t.Context(), "topic", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "every message", func() bool {
		select {
		case got := <-in:
			seen[got]++
		default:
		}
		return len(seen) == 100
	})
	storetest.Arrives(t, a, in, "topic", "last")
	for payload, n := range seen {
		if n != 1 {
			t.Errorf("%q came %d times", payload, n)
		}
	}
}

// A message whose row becomes visible after those that were sent later is heard all the same.
func TestPolledMessagesMayComeLate(t *testing.T) {
	pooler, schema := enginetest.PgBouncer(t, enginetest.Postgres(t)), enginetest.Schema(t)
	o := &pgstore.Options{PollEvery: 20 * time.Millisecond}
	a, b := open(t, pooler.URL(schema), o).Bus(), open(t, pooler.URL(schema), o).Bus()
	in := storetest.Hear(t, b, "topic")
	c := connect(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("BEGIN")
	exec("INSERT INTO " + schema + ".messages (sent, origin, topic, payload) VALUES (clock_timestamp(), 'somebody', 'topic', 'late')")
	storetest.Arrives(t, a, in, "topic", "in time")
	storetest.Arrives(t, a, in, "topic", "in time, too")
	exec("COMMIT")
	until(t, "the late message", func() bool {
		select {
		case got := <-in:
			return got == "late"
		default:
			return false
		}
	})
}

// Closing the bus ends it also while the server is away.
func TestBusClosesWithoutServer(t *testing.T) {
	pg := enginetest.OwnPostgres(t, nil)
	e, err := pgstore.Open(t.Context(), pg.URL("shoal"), nil)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Hear(t, e.Bus(), "topic")
	if err := pg.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = e.Bus().Publish(t.Context(), "topic", []byte("lost"))
	if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}
