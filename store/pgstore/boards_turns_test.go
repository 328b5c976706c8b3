package pgstore_test

import (
	"sync"
	"testing"

	"github.com/shoalworks/shoal/store"
)

// Walks that begin, seals and drops wait for a locked board without taking the connections of
// everybody else.
func TestWalksAndSealsWaitInLine(t *testing.T) {
	g := newGround(t, 8, 4)
	g.merge(t, "key", 10, 10)
	e := open(t, g.url+"&pool_max_conns=3", g.options)
	if _, err := e.Boards().Create(t.Context(), "other", store.BoardSpec{Order: store.Ascending, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
	waiting := func() int64 {
		return g.number(t, `SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE NOT l.granted AND a.query LIKE '%`+g.schema+`%'`)
	}
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"walk", func() error {
			_, _, err := e.Boards().Walk(t.Context(), "top", store.Cursor{}, 3)
			return err
		}},
		{"seal", func() error {
			_, err := e.Boards().Seal(t.Context(), "top")
			return err
		}},
		{"drop", func() error { return e.Boards().Drop(t.Context(), "top") }},
	} {
		letGo := g.hold(t, `SELECT 1 FROM boards WHERE name = 'top' FOR UPDATE`)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if err := c.call(); err != nil {
					t.Errorf("%s = %v", c.name, err)
				}
			})
		}
		until(t, "a call to wait", func() bool { return waiting() > 0 })
		for n := range uint64(20) {
			if _, err := e.Boards().Merge(t.Context(), "other", sumOf(c.name, n+1, 1)); err != nil {
				t.Error(err)
			}
			if most := waiting(); most > 1 {
				t.Errorf("%d connections wait for the board at once (%s)", most, c.name)
				break
			}
		}
		letGo()
		group.Wait()
	}
}
