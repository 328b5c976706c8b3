package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/clock"
)

// Statements of the bus. The number of a row is said in the notification; both come with the
// commit.
const (
	notifyMany = `SELECT pg_notify(channel, message) FROM unnest($1::text[], $2::text[]) AS n (channel, message)`

	notifyRows = `WITH kept AS (
			INSERT INTO {s}.messages (sent, origin, topic, payload)
			SELECT clock_timestamp(), $3::text, topic, payload FROM unnest($1::text[], $2::bytea[]) AS m (topic, payload)
			RETURNING id, topic
		)
		SELECT pg_notify(c.channel, c.reference || k.id)
		FROM kept k JOIN (SELECT DISTINCT * FROM unnest($1::text[], $4::text[], $5::text[]) AS u (topic, channel, reference)) c ON c.topic = k.topic
		ORDER BY k.id`

	insertMessages = `INSERT INTO {s}.messages (sent, origin, topic, payload)
		SELECT clock_timestamp(), $3::text, topic, payload FROM unnest($1::text[], $2::bytea[]) AS m (topic, payload)`

	deleteMessages = `DELETE FROM {s}.messages WHERE sent < clock_timestamp() - $1::bigint * interval '1 second'`
)

const (
	publishGroup = 256     // messages of one statement; a frame's place counts them
	publishBytes = 1 << 20 // and bytes; a larger message goes by itself
	// messages stay in the table for so many seconds: a listener fetches them at once, one
	// that polls within a few polls.
	messageSeconds = 60
	// sweepEvery is how often a publisher removes the older ones.
	sweepEvery = 20 * time.Second
)

// publishing sends what is published, grouped.
func (b *bus) publishing(ctx context.Context) {
	var swept time.Time
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-b.outgoing:
			kept, err := b.send(ctx, b.gather(first))
			if err != nil && !failing && ctx.Err() == nil {
				b.database.options.Logger.WarnContext(ctx, "messages of the bus are being lost", "err", err)
			}
			if failing = err != nil; failing {
				_ = clock.Sleep(ctx, b.database.options.Clock, 100*time.Millisecond)
			}
			if now := b.database.options.Clock.Now(); kept && now.Sub(swept) >= sweepEvery {
				swept = now
				b.sweep(ctx)
			}
		}
	}
}

// gather takes what else waits.
func (b *bus) gather(first outgoing) []outgoing {
	group, bytes := []outgoing{first}, len(first.payload)
	for len(group) < publishGroup && bytes < publishBytes {
		select {
		case next := <-b.outgoing:
			group = append(group, next)
			bytes += len(next.payload)
		default:
			return group
		}
	}
	return group
}

// send sends a group; kept tells that some of it is in the messages table. It is tried once
// where it may have been sent: a message is lost rather than late.
func (b *bus) send(ctx context.Context, group []outgoing) (kept bool, err error) {
	if b.polls.Load() {
		return true, b.keep(ctx, insertMessages, group)
	}
	var channels, texts []string
	var large []outgoing
	for i, m := range group {
		text, fits := frame{origin: b.origin, place: uint8(i), topic: m.topic, payload: m.payload}.text()
		if !fits {
			large = append(large, m)
			continue
		}
		channels, texts = append(channels, channelOf(b.database.address.schema, m.topic)), append(texts, text)
	}
	if len(texts) > 0 {
		err = b.database.statement(ctx, exec(b.database.sql(notifyMany), channels, texts))
	}
	if len(large) > 0 && err == nil {
		err = b.keep(ctx, notifyRows, large)
	}
	if isUnsupported(err) {
		b.polls.Store(true)
		b.changes.note()
		return true, b.keep(ctx, insertMessages, group)
	}
	return len(large) > 0, err
}

// keep puts messages into the table; notifyRows tells listeners as well.
func (b *bus) keep(ctx context.Context, statement string, group []outgoing) error {
	topics, payloads := make([]string, len(group)), make([][]byte, len(group))
	channels, references := make([]string, len(group)), make([]string, len(group))
	for i, m := range group {
		topics[i], payloads[i] = m.topic, m.payload
		channels[i] = channelOf(b.database.address.schema, m.topic)
		references[i] = frame{origin: b.origin, topic: m.topic}.reference()
	}
	arguments := []any{topics, payloads, b.origin}
	if statement == notifyRows {
		arguments = append(arguments, channels, references)
	}
	return b.database.statement(ctx, exec(b.database.sql(statement), arguments...))
}

// sweep removes messages that nobody waits for any more.
func (b *bus) sweep(ctx context.Context) {
	err := b.database.statement(ctx, exec(b.database.sql(deleteMessages), int64(messageSeconds)))
	if err != nil && ctx.Err() == nil {
		b.database.options.Logger.WarnContext(ctx, "old messages of the bus stay", "err", err)
	}
}

// exec is a statement whose answer does not matter.
func exec(text string, arguments ...any) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, text, arguments...)
		return err
	}
}

// isUnsupported tells that the engine has no LISTEN and NOTIFY.
func isUnsupported(err error) bool {
	if err == nil {
		return false
	}
	code := failureOf(err).code
	return code == codeUnsupported || code == codeUndefined
}
