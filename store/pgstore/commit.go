package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/shoalworks/shoal/store"
)

// Commit implements store.Records. Transactions of one key go into groups with those of other
// calls; each of several keys is a transaction of the engine.
func (r *records) Commit(ctx context.Context, txs ...store.Tx) []error {
	errs := make([]error, len(txs))
	if err := r.enter(ctx, "commit"); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	defer r.leave()
	jobs := make([]*job, len(txs))
	var several []int
	for i, tx := range txs {
		if len(tx) > 1 || kindOf(tx[0]) == alone {
			several = append(several, i)
			continue
		}
		jobs[i] = newJob(tx[0])
		if errs[i] = r.laneOf(tx[0].Key).queue.push(ctx, jobs[i]); errs[i] != nil {
			jobs[i] = nil
		}
	}
	r.transactions(ctx, txs, several, errs)
	for i, j := range jobs {
		if j != nil {
			errs[i] = j.wait(ctx)
		}
		if errs[i] != nil {
			errs[i] = fmt.Errorf("pgstore: commit %s: %w", txs[i][0].Key, errs[i])
		}
	}
	return errs
}

// parallel is how many transactions of several keys one Commit has under way.
const parallel = 4

// transactions runs the transactions at these places, a few at once.
func (r *records) transactions(ctx context.Context, txs []store.Tx, places []int, errs []error) {
	var all sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, i := range places {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = r.transaction(ctx, txs[i])
		})
	}
	all.Wait()
}

// transaction applies a transaction wholly or not at all. Its rows are locked in the order of
// their keys, and stay so until it is decided.
func (r *records) transaction(ctx context.Context, tx store.Tx) error {
	ordered := slices.SortedFunc(slices.Values(tx), func(a, b store.Write) int { return strings.Compare(a.Key, b.Key) })
	t := r.tableOf(ordered[0].Key, ordered[len(ordered)-1].Key)
	return t.database.transact(ctx, func(ctx context.Context, in *transaction) error {
		b, refused := &pgx.Batch{}, ""
		for _, w := range ordered {
			t.queue(b, w, func() {
				if refused == "" {
					refused = w.Key
				}
			})
		}
		if err := in.send(ctx, b); err != nil {
			return err
		}
		if refused != "" {
			return &store.ConflictError{Key: refused}
		}
		return nil
	})
}

// queue adds a write to a batch; refused is called when its condition does not hold.
func (t *table) queue(b *pgx.Batch, w store.Write, refused func()) {
	one := func(tag pgconn.CommandTag) error {
		if verdict(w, tag.RowsAffected() == 1) != nil {
			refused()
		}
		return nil
	}
	text, arguments := single(w)
	if text == "" { // a Delete of what must be absent: only a row of ours keeps others from making one
		b.Queue(t.sql(createOne), w.Key, int64(1), []byte{}).Exec(one)
		text, arguments = removeOne, []any{w.Key, int64(1)}
	}
	b.Queue(t.sql(text), arguments...).Exec(one)
}

// Close implements store.Records.
func (r *records) Close(ctx context.Context) error {
	lanes := []*lane{r.lane}
	if r.urgent != nil {
		lanes = append(lanes, r.urgent.lane)
	}
	r.shut()
	var errs []error
	for _, l := range lanes {
		errs = append(errs, l.close(ctx))
	}
	return errors.Join(append(errs, r.close(ctx))...)
}
