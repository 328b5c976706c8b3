package pgstore

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// Options of [Open]. Nil is fine, and a zero field has its default.
type Options struct {
	// Clock arms the timers: back-offs, deadlines, polls. What time it is, and how old a record
	// is, comes from the server. Default: the system's.
	Clock clock.Clock

	// Logger hears what an operator should know: migrations, the bus reconnecting.
	// Default: nothing is logged.
	Logger *slog.Logger

	// Connections is how many connections the pool holds at most, beside two for beats, four
	// at most, and one for the bus: these are made when the first beat comes and something is
	// subscribed to, so not where another engine has beats and messages. When all are busy
	// callers wait. The address may say it, too (pool_max_conns), and then decides. Default: 16.
	Connections int

	// Writers is how many groups of single-key transactions are under way at once, for the
	// durable and for the fast records each. Default: 3.
	Writers int

	// GroupSize is how many single-key transactions one statement takes at most: more is
	// faster under load, and lets a single write wait longer. Default: 256.
	GroupSize int

	// GroupBytes is how many bytes of values one statement takes at most; a single larger
	// transaction goes by itself. Default: 1 MiB.
	GroupBytes int

	// QueueBytes bounds what waits for the writers, for the durable and for the fast records
	// each, a transaction counting its values and 512 bytes. When it is full callers wait,
	// first come, first served. Default: 64 MiB.
	QueueBytes int

	// CallDeadline is how long the engine is waited for, for one statement or transaction with
	// its repetitions. Beyond it the connection is given up; a write that was sent is then
	// unknown. Beats are waited for 2 s at most. Default: 30 s.
	CallDeadline time.Duration

	// BusQueue is how many messages wait for each subscription, and for being published,
	// before further ones are lost. Default: 1,024.
	BusQueue int

	// PollEvery is how often the bus looks for messages where it cannot listen (behind a
	// transaction pooler, and on engines without LISTEN). Default: 250 ms.
	PollEvery time.Duration

	boards *boardOptions
}

// withDefaults is o with every default filled in, or everything that is wrong with it.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.Clock = clock.Or(out.Clock)
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	errs := []error{
		orDefault("Connections", &out.Connections, 16),
		orDefault("Writers", &out.Writers, 3),
		orDefault("GroupSize", &out.GroupSize, 256),
		orDefault("GroupBytes", &out.GroupBytes, 1<<20),
		orDefault("QueueBytes", &out.QueueBytes, 64<<20),
		orDefault("CallDeadline", &out.CallDeadline, 30*time.Second),
		orDefault("BusQueue", &out.BusQueue, 1024),
		orDefault("PollEvery", &out.PollEvery, 250*time.Millisecond),
	}
	if err := errors.Join(errs...); err != nil {
		return Options{}, fmt.Errorf("pgstore: options: %w", err)
	}
	return out, nil
}

func orDefault[N int | time.Duration](name string, field *N, byDefault N) error {
	if *field < 0 {
		return fmt.Errorf("%s: 0 or more expected, got %v", name, *field)
	}
	if *field == 0 {
		*field = byDefault
	}
	return nil
}
