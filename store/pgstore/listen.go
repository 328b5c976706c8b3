package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/shoalworks/shoal/clock"
)

const (
	// listenPing is how often a connection that hears nothing is asked whether it stands.
	listenPing = 10 * time.Second
	// pingPatience is how long that answer, and a LISTEN, is waited for.
	pingPatience = 5 * time.Second
	// firstReconnect is the pause before the second try to connect; it doubles.
	firstReconnect = 50 * time.Millisecond
	lastReconnect  = 2 * time.Second
)

// receiving hears messages, by whatever way there is, and connects anew when it is cut off.
// What is subscribed to is asked for on every new connection.
func (b *bus) receiving(ctx context.Context) {
	pause := firstReconnect
	for ctx.Err() == nil {
		heard, err := false, error(nil)
		if b.polls.Load() {
			err = b.poll(ctx)
		} else {
			heard, err = b.listen(ctx)
		}
		if isUnsupported(err) {
			b.polls.Store(true)
			continue
		}
		b.changes.take(nil)() // nobody waits for what cannot be made known
		if heard {
			pause = firstReconnect
		}
		if ctx.Err() == nil && err != nil {
			b.database.options.Logger.WarnContext(ctx, "the bus is cut off", "err", err, "again_in", pause)
		}
		_ = clock.Sleep(ctx, b.database.options.Clock, pause)
		pause = min(2*pause, lastReconnect)
	}
	b.changes.take(nil)()
}

// awaitTopics waits until something is subscribed to: before, nobody needs a connection that
// listens, as where the engine is only the durable part of a store. What has changed is left for
// whoever makes it known.
func (b *bus) awaitTopics(ctx context.Context) error {
	for ctx.Err() == nil {
		wait, interrupt := context.WithCancel(ctx)
		b.changes.watch(interrupt)
		wanted := len(b.hub.Topics()) > 0
		if !wanted {
			<-wait.Done()
		}
		interrupt()
		if wanted {
			return nil
		}
	}
	return ended(ctx)
}

// listen listens, as soon as there is something to hear, on a connection of its own until that
// fails; heard tells that it stood.
func (b *bus) listen(ctx context.Context) (heard bool, err error) {
	if err := b.awaitTopics(ctx); err != nil {
		return false, err
	}
	config := b.database.address.pool.ConnConfig.Copy()
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { b.hear(n.Payload) }
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, fmt.Errorf("pgstore: connect the bus: %w", err)
	}
	defer func() {
		closing, cancel := clock.WithTimeout(context.WithoutCancel(ctx), b.database.options.Clock, time.Second)
		defer cancel()
		_ = c.Close(closing)
	}()
	l := &listening{bus: b, conn: c, channels: make(map[string]struct{})}
	for {
		if err := l.step(ctx); err != nil {
			return true, fmt.Errorf("pgstore: listen: %w", err)
		}
	}
}

// listening is a connection that listens.
type listening struct {
	bus      *bus
	conn     *pgx.Conn
	channels map[string]struct{} // that the connection listens to
}

// step makes the connection listen to what is subscribed to, and then waits for messages until
// that changes, or until it is time to ask whether the connection stands.
func (l *listening) step(ctx context.Context) error {
	wait, interrupt := clock.WithTimeout(ctx, l.bus.database.options.Clock, listenPing)
	defer interrupt()
	release := l.bus.changes.take(interrupt)
	defer release()
	if err := l.tune(ctx); err != nil {
		return err
	}
	release()
	for {
		switch _, err := l.conn.WaitForNotification(wait); { // each goes to OnNotification
		case err == nil:
		case ctx.Err() != nil:
			return ended(ctx)
		case wait.Err() != nil && !l.conn.IsClosed():
			return nil
		default:
			return err
		}
	}
}

// tune sends what has changed, or an empty question. A difference is taken to what the
// connection listens to, so that no change is lost.
func (l *listening) tune(ctx context.Context) error {
	wanted := make(map[string]struct{})
	var text strings.Builder
	for _, topic := range l.bus.hub.Topics() {
		channel := channelOf(l.bus.database.address.schema, topic)
		wanted[channel] = struct{}{}
		if _, ok := l.channels[channel]; !ok {
			text.WriteString("LISTEN " + pgx.Identifier{channel}.Sanitize() + ";")
		}
	}
	for channel := range l.channels {
		if _, ok := wanted[channel]; !ok {
			text.WriteString("UNLISTEN " + pgx.Identifier{channel}.Sanitize() + ";")
		}
	}
	ctx, cancel := clock.WithTimeout(ctx, l.bus.database.options.Clock, pingPatience)
	defer cancel()
	if _, err := l.conn.Exec(ctx, text.String()+"SELECT 1"); err != nil {
		return err
	}
	l.channels = wanted
	return nil
}

// hear takes a notification. It never waits.
func (b *bus) hear(text string) {
	f, err := parseFrame(text)
	switch {
	case err != nil:
		b.database.options.Logger.Warn("foreign notification", "err", err)
	case f.origin == b.origin: // delivered when it was published
	case f.payload != nil:
		b.hub.Deliver(f.topic, f.payload)
	default:
		select {
		case b.fetch <- f:
		default: // too many wait for their payloads: it is lost
		}
	}
}

const (
	selectMessages = `SELECT id, payload FROM {s}.messages WHERE id = ANY($1::bigint[])`

	// fetchGroup is how many payloads are read at once.
	fetchGroup = 64
)

// fetching reads the payloads that did not fit into their notifications.
func (b *bus) fetching(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-b.fetch:
			frames := []frame{first}
			for len(frames) < fetchGroup && len(b.fetch) > 0 {
				frames = append(frames, <-b.fetch)
			}
			if err := b.fetchAll(ctx, frames); err != nil && ctx.Err() == nil {
				b.database.options.Logger.WarnContext(ctx, "messages of the bus lost", "err", err)
			}
		}
	}
}

// fetchAll delivers the payloads of frames, in their order.
func (b *bus) fetchAll(ctx context.Context, frames []frame) error {
	ids := make([]int64, len(frames))
	for i, f := range frames {
		ids[i] = f.row
	}
	var payloads map[int64][]byte
	err := b.database.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, b.database.sql(selectMessages), ids)
		if err != nil {
			return err
		}
		payloads = make(map[int64][]byte, len(ids))
		var id int64
		var payload []byte
		_, err = pgx.ForEachRow(rows, []any{&id, &payload}, func() error {
			payloads[id] = slices.Clone(payload)
			return nil
		})
		return err
	})
	for _, f := range frames {
		if payload, ok := payloads[f.row]; ok && err == nil {
			b.hub.Deliver(f.topic, payload)
		}
	}
	return err
}
