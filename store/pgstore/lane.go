package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
)

// lane writes the single-key transactions of a table, grouped: while its writers are at work
// what comes meanwhile waits, and then goes together. Its writers belong to it until close.
type lane struct {
	table   *table
	queue   *queue
	writers sync.WaitGroup
	cancel  context.CancelFunc
	ended   chan struct{} // the writers are gone
}

// startLane starts so many writers on the connections of a database.
func startLane(ctx context.Context, t *table, writers, maxSize int) *lane {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &lane{
		table: t, queue: newQueue(t.database.options, maxSize),
		cancel: cancel, ended: make(chan struct{}),
	}
	for range writers {
		l.writers.Go(func() { l.run(ctx) })
	}
	go func() {
		l.writers.Wait()
		close(l.ended)
	}()
	return l
}

// run writes until the queue is closed and empty.
func (l *lane) run(ctx context.Context) {
	for l.queue.wait() {
		l.step(ctx)
	}
}

// step writes one group. It takes the group when it has a connection, so that a caller who
// gives up while there is none knows that nothing was done.
func (l *lane) step(ctx context.Context) {
	var group []*job
	taken := false
	var met map[string]struct{}
	err := l.table.database.statement(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		if !taken {
			group, taken = l.queue.take(), true
		}
		if len(group) == 0 {
			return nil
		}
		met, err = l.table.apply(ctx, c, group)
		return err
	})
	if !taken { // no connection: whoever waits hears so
		group = l.queue.take()
	}
	if err != nil && len(group) > 1 && poisoned(failureOf(err)) {
		l.oneByOne(ctx, group)
	} else {
		settle(group, met, err)
	}
	l.queue.end(group)
}

// oneByOne writes each job of a refused group by itself: the engine refuses a statement for the
// sake of one of its rows.
func (l *lane) oneByOne(ctx context.Context, group []*job) {
	for _, j := range group {
		one := []*job{j}
		var met map[string]struct{}
		err := l.table.database.statement(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
			met, err = l.table.apply(ctx, c, one)
			return err
		})
		settle(one, met, err)
	}
}

// settle ends the jobs of a group: met are the keys whose conditions held, err is the
// statement's.
func settle(group []*job, met map[string]struct{}, err error) {
	for _, j := range group {
		one := err
		if err == nil {
			_, ok := met[j.write.Key]
			one = verdict(j.write, ok)
		}
		j.end(one)
	}
}

// apply sends the statement of a group and answers the keys whose conditions held.
func (t *table) apply(ctx context.Context, c *pgx.Conn, group []*job) (map[string]struct{}, error) {
	writes := make([]store.Write, len(group))
	for i, j := range group {
		writes[i] = j.write
	}
	met := make(map[string]struct{}, len(group))
	if len(writes) == 1 { // no need to look before
		text, arguments := single(writes[0])
		tag, err := c.Exec(ctx, t.sql(text), arguments...)
		if tag.RowsAffected() == 1 {
			met[writes[0].Key] = struct{}{}
		}
		return met, err
	}
	slices.SortFunc(writes, func(a, b store.Write) int { return strings.Compare(a.Key, b.Key) })
	k := group[0].kind
	rows, err := c.Query(ctx, t.sql(groupStatement(k)), arguments(k, writes)...)
	if err != nil {
		return nil, err
	}
	var key string
	_, err = pgx.ForEachRow(rows, []any{&key}, func() error {
		met[key] = struct{}{}
		return nil
	})
	return met, err
}

// close lets nothing more in and waits for the writers. When ctx ends first, what no writer
// has is not done, and what one has is unknown.
func (l *lane) close(ctx context.Context) error {
	l.queue.close()
	select {
	case <-l.ended:
		return nil
	case <-ctx.Done():
	}
	l.queue.refuse(fmt.Errorf("pgstore: %w", store.ErrClosed))
	l.cancel()
	<-l.ended
	return fmt.Errorf("pgstore: close: writes were under way: %w", context.Cause(ctx))
}
