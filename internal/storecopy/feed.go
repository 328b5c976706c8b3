package storecopy

import (
	"context"
	"errors"
	"iter"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// feed reads all records of a store in the order of their keys. When the store does not answer
// it goes on behind the last record, after a pause.
type feed struct {
	records store.Records
	clock   clock.Clock
	from    string
	next    func() (store.Record, error, bool)
	stop    func()
	failed  int // in a row
}

func (f *feed) open(ctx context.Context) {
	f.next, f.stop = iter.Pull2(f.records.Scan(ctx, store.Range{From: f.from}))
}

func (f *feed) close() {
	if f.stop != nil {
		f.stop()
	}
}

// record is the next record that is copied; a missing one is the end.
func (f *feed) record(ctx context.Context) (store.Record, error) {
	for {
		if f.next == nil {
			f.open(ctx)
		}
		rec, err, ok := f.next()
		switch {
		case !ok:
			return store.Record{}, nil
		case err == nil:
			f.from, f.failed = rec.Key+"\x00", 0
			if !stays(rec.Key) {
				return rec, nil
			}
		default:
			if err := f.again(ctx, err); err != nil {
				return store.Record{}, err
			}
		}
	}
}

// again gets ready to go on after err, or gives up with it.
func (f *feed) again(ctx context.Context, err error) error {
	f.close()
	f.next, f.stop = nil, nil
	if f.failed++; f.failed == tries || ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable) {
		return err
	}
	return clock.Sleep(ctx, f.clock, pause<<f.failed)
}
