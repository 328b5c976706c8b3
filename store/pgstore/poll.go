package pgstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/clock"
)

const (
	// settleTime is how long after it was stamped a row may become visible, by the server's
	// clock: rows younger than that are looked for again.
	settleTime = 5 * time.Second

	// idlePoll is how often somebody looks who has nothing to look for.
	idlePoll = time.Hour

	pollPage = 500

	selectNew = `SELECT id, sent, topic, payload FROM {s}.messages
		WHERE sent > $1::timestamptz AND topic = ANY($2::text[]) AND origin <> $3::text AND NOT id = ANY($4::bigint[])
		ORDER BY sent, id LIMIT $5::bigint`
)

// poller is where a bus that cannot listen has come to in the messages table.
type poller struct {
	bus  *bus
	low  time.Time           // by the server's clock: everything up to here was seen, or comes no more
	seen map[int64]time.Time // what was seen beyond, and when it was sent
}

// poll looks for messages until that fails. Nobody looks while nothing is subscribed to.
func (b *bus) poll(ctx context.Context) error {
	p := &poller{bus: b}
	idle := true
	for {
		wait, interrupt := context.WithCancel(ctx)
		err := p.step(ctx, wait, interrupt, &idle)
		interrupt()
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if err != nil {
			return fmt.Errorf("pgstore: poll: %w", err)
		}
	}
}

// step looks once, and waits for the next time or until what is subscribed to changes, which
// interrupt tells. What was sent while nothing was subscribed to is left out.
func (p *poller) step(ctx, wait context.Context, interrupt context.CancelFunc, idle *bool) error {
	release := p.bus.changes.take(interrupt)
	defer release()
	topics := p.bus.hub.Topics()
	every := p.bus.database.options.PollEvery
	switch {
	case len(topics) == 0:
		*idle, every = true, idlePoll
	case *idle:
		if err := p.begin(ctx); err != nil {
			return err
		}
		*idle = false
	default:
		if err := p.look(ctx, topics); err != nil {
			return err
		}
	}
	release()
	_ = clock.Sleep(wait, p.bus.database.options.Clock, every)
	return nil
}

// begin starts with what is sent from now on.
func (p *poller) begin(ctx context.Context) error {
	p.seen = make(map[int64]time.Time)
	return p.bus.database.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, selectNow).Scan(&p.low)
	})
}

// look delivers what is new.
func (p *poller) look(ctx context.Context, topics []string) error {
	for {
		n, err := p.page(ctx, topics)
		if err != nil || n < pollPage {
			return err
		}
	}
}

// polled is a row of selectNew.
type polled struct {
	id      int64
	sent    time.Time
	topic   string
	payload []byte
}

// page delivers one page of what is new, and answers how much it was.
func (p *poller) page(ctx context.Context, topics []string) (int, error) {
	d := p.bus.database
	var now time.Time // before the page was read
	var news []polled
	err := d.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		b := &pgx.Batch{}
		b.Queue(selectNow).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
		seen := slices.AppendSeq([]int64{}, maps.Keys(p.seen))
		b.Queue(d.sql(selectNew), p.low, topics, p.bus.origin, seen, int64(pollPage)).Query(func(rows pgx.Rows) (err error) {
			news, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m polled, err error) {
				err = row.Scan(&m.id, &m.sent, &m.topic, &m.payload)
				return m, err
			})
			return err
		})
		return c.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return 0, err
	}
	for _, m := range news {
		p.seen[m.id] = m.sent
		p.bus.hub.Deliver(m.topic, m.payload)
	}
	p.settle(now, news)
	return len(news), nil
}

// settle moves low on after a page: whoever was away for long has whole pages behind them that
// are older than what settles.
func (p *poller) settle(now time.Time, news []polled) {
	low := now.Add(-settleTime)
	if n := len(news); n == pollPage { // others may follow that were sent when the last was
		if last := news[n-1].sent.Add(-time.Microsecond); last.Before(low) {
			low = last
		}
	}
	if low.After(p.low) {
		p.low = low
	}
	maps.DeleteFunc(p.seen, func(_ int64, sent time.Time) bool { return !sent.After(p.low) })
}
