package redisstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// maxConnections bounds Options.Connections.
const maxConnections = 256

// Options of [Open]. Nil is fine, and a zero field has its default.
type Options struct {
	// Clock arms the pauses before a call is sent again. The age of records comes from the
	// server's clock, never from this one. Default: the system's.
	Clock clock.Clock

	// Logger hears what an operator should know: connections of the bus lost and found.
	// Default: nothing is logged.
	Logger *slog.Logger

	// TLS is used with rediss addresses; what the address says of TLS (cacert, cert and key, sni,
	// skip_verify) takes the place of what it has. Default: TLS 1.2 and later, the system's
	// authorities, no certificate of ours.
	TLS *tls.Config

	// DialTimeout bounds the making of one connection. Default: 2 s.
	DialTimeout time.Duration

	// AnswerTimeout is how long a connection may be silent while an answer is due before it is
	// given up, with every call on it, whatever their contexts say. It has to be longer than
	// the longest script: a merge of 10,000 board entries. Default: 5 s.
	AnswerTimeout time.Duration

	// Connections is how many connections to each server journals and boards share, a power
	// of two up to 256. Beats and the bus have connections of their own. Default: 4, and 1 to
	// each server of a cluster.
	Connections int

	// BusQueue is how many messages wait for each subscription before further ones are lost.
	// Default: 1,024.
	BusQueue int
}

// withDefaults is o with every default filled in, or everything that is wrong with it.
func (o *Options) withDefaults(t topology) (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.Clock = clock.Or(out.Clock)
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	connections := 4
	if t == cluster {
		connections = 1
	}
	errs := []error{
		orDefault("options.DialTimeout", &out.DialTimeout, 2*time.Second),
		orDefault("options.AnswerTimeout", &out.AnswerTimeout, 5*time.Second),
		orDefault("options.Connections", &out.Connections, connections),
		orDefault("options.BusQueue", &out.BusQueue, 1024),
	}
	if out.Connections > maxConnections || bits.OnesCount(uint(out.Connections)) != 1 {
		errs = append(errs, fmt.Errorf("options.Connections: a power of two up to %d expected, got %d", maxConnections, out.Connections))
	}
	if err := errors.Join(errs...); err != nil {
		return Options{}, fmt.Errorf("redisstore: %w", err)
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
