package sqlitestore

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// Options of [Open]. Nil is fine, and a zero field has its default.
type Options struct {
	// Clock is the host's wall clock and arms the timers. Default: the system's.
	Clock clock.Clock

	// Logger hears what an operator should know: leftovers removed, messages lost.
	// Default: nothing is logged.
	Logger *slog.Logger

	// GroupSize is how many transactions (or board entries) one SQLite transaction takes at
	// most: more is faster under load, and lets a single write wait longer. Default: 512.
	GroupSize int

	// GroupBytes is how many bytes of values one SQLite transaction takes at most; a single
	// larger transaction goes by itself. Default: 8 MiB.
	GroupBytes int

	// QueueBytes bounds what waits for the writer of each file, a transaction counting its
	// values and 512 bytes. When it is full callers wait, first come, first served.
	// Default: 64 MiB.
	QueueBytes int

	// BusyDeadline is how long a call waits for another process that holds a lock, before
	// it answers store.ErrUnavailable. Default: 5 s.
	BusyDeadline time.Duration

	// Readers is how many connections of each file read at once, each with a cache of up to
	// 8 MiB. When all are busy callers wait. Default: as many as processors, at least 4.
	Readers int

	// CheckpointPages is the length of the write-ahead log, in pages of 4 KiB, from which
	// it is copied back into the file: less is slower, more takes longer to recover.
	// Default: 16,000.
	CheckpointPages int

	// BusQueue is how many messages wait for each subscription, and for each other process,
	// before further ones are lost. Default: 1,024.
	BusQueue int
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
		orDefault("GroupSize", &out.GroupSize, 512),
		orDefault("GroupBytes", &out.GroupBytes, 8<<20),
		orDefault("QueueBytes", &out.QueueBytes, 64<<20),
		orDefault("BusyDeadline", &out.BusyDeadline, 5*time.Second),
		orDefault("Readers", &out.Readers, max(4, runtime.GOMAXPROCS(0))),
		orDefault("CheckpointPages", &out.CheckpointPages, 16_000),
		orDefault("BusQueue", &out.BusQueue, 1024),
	}
	if err := errors.Join(errs...); err != nil {
		return Options{}, fmt.Errorf("sqlitestore: options: %w", err)
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
