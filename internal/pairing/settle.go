package pairing

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// Parts are the two record maps of a store that are to belong together.
type Parts struct {
	// Durable and Fast are the parts. Both required.
	Durable, Fast store.Records
	// Clock times waits. Default: the system's.
	Clock clock.Clock
	// Random makes identities and versions. Default: the system's.
	Random func() uint64
	// Logger hears of memory that was lost. Default: nobody does.
	Logger *slog.Logger
}

// defaults fills in what is left open.
func (p Parts) defaults() Parts {
	p.Clock = clock.Or(p.Clock)
	if p.Random == nil {
		p.Random = random
	}
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	return p
}

// random is 64 random bits.
func random() uint64 {
	var b [8]byte
	_, _ = crand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:])
}

func (p Parts) version() store.Version { return store.VersionFrom(p.Random()) }

// put is a conditional write of a form.
func (p Parts) put(key string, v any, was store.Version) store.Write {
	return store.Write{Key: key, Op: store.Put, Value: encode(v), If: store.Is(was), Version: p.version()}
}

const (
	// rounds is how often an opening looks again at what its write has become, or after an
	// answer that may pass.
	rounds = 10
	// pause is how long it waits before the second look; each wait after it is twice as long,
	// up to maxPause.
	pause    = 20 * time.Millisecond
	maxPause = time.Second
)

// settling is one opening, or one change, under way.
type settling struct {
	Parts
	given Given
	mine  map[string]bool // ids of lives that were begun here: their sign is written without asking
}

func (p Parts) settling(g Given) *settling {
	return &settling{Parts: p.defaults(), given: g, mine: make(map[string]bool)}
}

// again runs step until it says that it is done. What a write has become is found out by the
// next step, which reads: a conflict or a lost answer is no error here. An error of the step that
// may pass is tried again.
func (x *settling) again(ctx context.Context, step func(context.Context) (done bool, err error)) error {
	wait := pause
	var last error
	for range rounds {
		done, err := step(ctx)
		switch {
		case err == nil && done:
			return nil
		case err == nil, errors.Is(err, store.ErrConflict):
		case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrUnknown):
			last = err
		default:
			return err
		}
		if err := clock.Sleep(ctx, x.Clock, wait); err != nil {
			return errors.Join(err, last)
		}
		wait = min(2*wait, maxPause)
	}
	if last == nil {
		last = fmt.Errorf("%w: other processes change it all the time", store.ErrUnavailable)
	}
	return fmt.Errorf("pairing: not settled: %w", last)
}

// Settle finds out whether the parts belong together as they were given, and makes them do so
// when nobody has opened them before. It answers the mark that both agree on, or an error: an
// [ErrRefused], for which nothing was written, or that of a store that does not answer. When the
// fast part is another engine and has no sign, it takes up to Patience to learn whether anybody lives
// who sees one. When it is not, a sign that is missing and cannot be written is left to the next:
// there is no other live part, and a tool may have the right to read only.
func Settle(ctx context.Context, p Parts, g Given) (Mark, error) {
	x := p.settling(g)
	var agreed Mark
	err := x.again(ctx, func(ctx context.Context) (bool, error) {
		now, err := x.read(ctx)
		if err != nil {
			return false, err
		}
		v, err := judge(now.mark, now.sign, g)
		if err != nil {
			return false, err
		}
		if v != fine {
			if err = x.act(ctx, v, now); v != restore || store.OutcomeOf(err) != store.NotDone || errors.Is(err, store.ErrConflict) {
				return false, err
			}
			x.Logger.DebugContext(ctx, "the live part of the store lacks its sign, and it cannot be written", "err", err)
		}
		agreed = *now.mark
		return x.answered(ctx, agreed)
	})
	return agreed, err
}

// act does what the verdict asks for.
func (x *settling) act(ctx context.Context, v verdict, now seen) error {
	switch v {
	case create:
		return x.create(ctx)
	case restore:
		return x.sign(ctx, now)
	case ask:
		if x.mine[now.mark.ID] {
			return x.sign(ctx, now)
		}
		return x.doubt(ctx, now)
	case refuse, fine:
	}
	return nil
}

// answered answers those who doubt, before this process goes on: one that was not answered may
// take the fast part over until then. It is not done when one could not be answered any more.
func (x *settling) answered(ctx context.Context, m Mark) (bool, error) {
	if !m.Apart {
		return true, nil
	}
	s, err := x.survey(ctx)
	if err = errors.Join(err, s.fastErr); err != nil || find(m.ID, s.mark, s.sign) != well {
		return false, err
	}
	return true, x.answer(ctx, s, x.given.Place)
}

// create writes the first mark.
func (x *settling) create(ctx context.Context) error {
	next, err := x.nextOf(ctx, nil)
	if err != nil {
		return err
	}
	return x.Durable.Commit(ctx, store.Tx{x.put(markKey, next, 0)})[0]
}

// nextOf is the mark of a new life, begun here.
func (x *settling) nextOf(ctx context.Context, m *Mark) (*Mark, error) {
	now, err := x.Durable.Now(ctx)
	if err != nil {
		return nil, err
	}
	id := x.version().String()
	x.mine[id] = true
	return m.next(id, x.given, now), nil
}

// sign writes the sign of the mark into the fast part, over what was seen there.
func (x *settling) sign(ctx context.Context, now seen) error {
	return x.Fast.Commit(ctx, store.Tx{x.put(signKey, Sign{format, now.mark.ID}, now.signVersion)})[0]
}
