package pgstore

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// awayFor is a poller that looked for the last time so long ago, on an engine of its own.
func awayFor(t *testing.T, ago time.Duration) (*poller, *pgx.Conn) {
	t.Helper()
	url := enginetest.Postgres(t).URL(enginetest.Schema(t))
	e := openEngine(t, url)
	now, err := e.live.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &poller{bus: e.bus, low: now.Add(-ago), seen: make(map[int64]time.Time)}
	c := stranger(t, url)
	run(t, c, "SET search_path = "+e.database.address.schema)
	return p, c
}

// A process that was away for long hears all that was sent meanwhile, once, however many pages
// of it there are.
func TestPollerThatWasAway(t *testing.T) {
	p, c := awayFor(t, 40*time.Second)
	const sent = 3*pollPage + 7
	run(t, c, `INSERT INTO messages (sent, origin, topic, payload)
		SELECT now() - interval '30 s' + (i / 2) * interval '1 us', 'other', 'topic', '' FROM generate_series(1, $1::int) i`, sent)
	heard := 0
	for more := true; more; {
		n, err := p.page(t.Context(), []string{"topic"})
		if err != nil {
			t.Fatal(err)
		}
		heard, more = heard+n, n > 0
	}
	if heard != sent {
		t.Errorf("%d messages were heard of %d", heard, sent)
	}
	if len(p.seen) > 0 {
		t.Errorf("%d messages are remembered that have settled", len(p.seen))
	}
}

// A poller for which nothing is sent does not look at what others send again and again.
func TestPollerMovesOn(t *testing.T) {
	p, c := awayFor(t, 40*time.Second)
	run(t, c, `INSERT INTO messages (sent, origin, topic, payload) VALUES (now() - interval '30 s', 'other', 'others', '')`)
	before := p.low
	if err := p.look(t.Context(), []string{"topic"}); err != nil {
		t.Fatal(err)
	}
	if moved := p.low.Sub(before); moved < 30*time.Second {
		t.Errorf("it looks from %v before now on, as before", 40*time.Second-moved)
	}
}
