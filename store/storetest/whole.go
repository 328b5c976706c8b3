package storetest

import (
	"context"
	"errors"

	"github.com/shoalworks/shoal/store"
)

// WholeRecords are the records of an engine, which is closed with them: a [Harness] opens a part,
// and with it an engine of its own.
func WholeRecords(r store.Records, e Closer) store.Records { return wholeRecords{r, e} }

// WholeBoards are the boards of an engine, which is closed with them.
func WholeBoards(b store.Boards, e Closer) store.Boards { return wholeBoards{b, e} }

// WholeBus is the bus of an engine, which is closed with it.
func WholeBus(b store.Bus, e Closer) store.Bus { return wholeBus{b, e} }

type wholeRecords struct {
	store.Records
	engine Closer
}

// Close implements store.Records.
func (w wholeRecords) Close(ctx context.Context) error { return closeBoth(ctx, w.Records, w.engine) }

type wholeBoards struct {
	store.Boards
	engine Closer
}

// Close implements store.Boards.
func (w wholeBoards) Close(ctx context.Context) error { return closeBoth(ctx, w.Boards, w.engine) }

type wholeBus struct {
	store.Bus
	engine Closer
}

// Close implements store.Bus.
func (w wholeBus) Close(ctx context.Context) error { return closeBoth(ctx, w.Bus, w.engine) }

func closeBoth(ctx context.Context, part, engine Closer) error {
	return errors.Join(part.Close(ctx), engine.Close(ctx))
}
