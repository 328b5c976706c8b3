package main

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
)

const (
	// updaters is how many sessions update at once, each a key of its own.
	updaters = 64
	// updateBytes is the size of what they write.
	updateBytes = 2 << 10
	// updatePool is how many connections our driver has by default.
	updatePool = 16
)

// recordsResult is what came of durable updates: by our driver, and by plain loops of the same
// statement with as many connections, and with one for each session.
type recordsResult struct{ driver, few, many pace }

// of is the ratio to the better of the plain loops.
func (r recordsResult) of() float64 { return r.driver.rate / max(r.few.rate, r.many.rate, 1e-9) }

// records has sessions update 2 KB each, conditionally on the version before.
func (b *engineBench) records(ctx context.Context) (r recordsResult, err error) {
	e, err := pgstore.Open(ctx, b.ground.postgres, &pgstore.Options{Connections: updatePool})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	contenders := []contender{b.updates("driver", func(ctx context.Context, u *update) error {
		return e.Durable().Commit(ctx, store.Tx{{Key: u.key, Op: store.Put, Value: u.value, If: store.Is(u.version), Version: u.version + 1}})[0]
	})}
	for _, connections := range []int{updatePool, updaters} {
		pool, err := b.ground.pool(ctx, connections)
		if err != nil {
			return r, err
		}
		defer pool.Close()
		contenders = append(contenders, b.updates(fmt.Sprintf("plain loop, %d connections", connections), b.plainUpdate(pool)))
	}
	for i, c := range contenders {
		contenders[i].prepare = func(ctx context.Context) error { return makeKeys(ctx, e.Durable(), c.name) }
	}
	paces, err := b.contest(ctx, contenders...)
	if err != nil {
		return r, err
	}
	return recordsResult{paces[0], paces[1], paces[2]}, nil
}

func updateKey(of string, i int) string { return fmt.Sprintf("bench/%s/u_%03d", of, i) }

// makeKeys makes a contender's keys, at version 1.
func makeKeys(ctx context.Context, r store.Records, of string) error {
	for i := range updaters {
		w := store.Write{Key: updateKey(of, i), Op: store.Put, Value: incompressible(), Version: 1}
		if err := r.Commit(ctx, store.Tx{w})[0]; err != nil {
			return err
		}
	}
	return nil
}

// incompressible is a value that no compression makes smaller.
func incompressible() []byte {
	value := make([]byte, updateBytes)
	_, _ = crand.Read(value) // it never fails
	return value
}

// update is what one session writes next.
type update struct {
	key     string
	value   []byte
	version store.Version // what is there
}

// updates has all sessions update their keys for a span.
func (b *engineBench) updates(name string, do func(context.Context, *update) error) contender {
	all := make([]update, updaters)
	for i := range all {
		all[i] = update{updateKey(name, i), incompressible(), 1}
	}
	return contender{name, nil, func(ctx context.Context, span time.Duration) (int, time.Duration, error) {
		begun, end := b.until(span)
		done, errs := make([]int, updaters), make([]error, updaters)
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() {
				for u := &all[i]; ctx.Err() == nil && b.clk.Now().Before(end); done[i]++ {
					if errs[i] = do(ctx, u); errs[i] != nil {
						return
					}
					u.version++
				}
			})
		}
		wg.Wait()
		n := 0
		for _, d := range done {
			n += d
		}
		return n, b.clk.Now().Sub(begun), errors.Join(errors.Join(errs...), context.Cause(ctx))
	}}
}

// plainUpdate is the update of the same table by hand.
func (b *engineBench) plainUpdate(pool *pgxpool.Pool) func(context.Context, *update) error {
	text := "UPDATE " + b.ground.name + ".records SET version = $2, written = clock_timestamp(), value = $3 WHERE key = $1 AND version = $4"
	return func(ctx context.Context, u *update) error {
		tag, err := pool.Exec(ctx, text, u.key, int64(u.version+1), u.value, int64(u.version))
		if err == nil && tag.RowsAffected() != 1 {
			err = store.ErrConflict
		}
		return err
	}
}

// medianRate is the middle one of some rates.
func medianRate(rates []float64) float64 {
	slices.Sort(rates)
	return rates[len(rates)/2]
}
