package laws_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// The engine of beats and journals dies with all it knew, and comes back empty, while nodes play.
// Sessions go on, saves are acknowledged meanwhile, and nothing that was acknowledged is lost:
// what was synced is in the memory of its node, which lives.
func TestTheFastEngineLosesItsMemory(t *testing.T) {
	redis := enginetest.OwnRedis(t, nil)
	pg := enginetest.Postgres(t).URL(enginetest.Schema(t))
	s := site{open: func(t *testing.T) store.Parts {
		t.Helper()
		return beside(onPostgres(t, pg), onRedis(t, redis.URL("laws")))
	}}
	nodes, l := s.fleet(t, 3), newLedger()
	var players []string
	for i := range 9 {
		players = append(players, fmt.Sprint("u", i))
	}
	session := nodes[0].load(t, "held") // through all of it
	ctx, end := context.WithTimeout(t.Context(), 8*time.Second)
	defer end()
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { play(ctx, n, l, players, uint64(i)) })
	}
	for range 2 {
		time.Sleep(time.Second)
		must(t, redis.Kill())
		l.doAndKeep(within(t), session, session.Save)
		time.Sleep(time.Second)
		must(t, redis.Start(t.Context()))
		l.doAndKeep(within(t), session, session.Sync)
	}
	wg.Wait()
	must(t, session.Release(within(t)))
	l.judge(t, nodes[1], append(players, "held"))
}
