package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// openBoards opens an engine and closes it when the test ends.
func openEngine(t testing.TB, url string) *redisstore.Engine {
	t.Helper()
	e, err := redisstore.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return e
}

// boardsHarness opens boards at the address. Time that passes, passes for all that are open.
func boardsHarness(t *testing.T, url string) storetest.Harness[store.Boards] {
	t.Helper()
	var (
		opened []*redisstore.Engine
		passed time.Duration
	)
	return storetest.Harness[store.Boards]{
		Open: func(t *testing.T) store.Boards {
			e := openEngine(t, url)
			e.PassTime(passed)
			opened = append(opened, e)
			return e.Boards()
		},
		Shared: true, Reopens: true,
		Pass: func(_ *testing.T, d time.Duration) {
			passed += d
			for _, e := range opened {
				e.PassTime(d)
			}
		},
	}
}

func TestBoards(t *testing.T) {
	server := enginetest.Redis(t)
	storetest.Boards(t, func(t *testing.T) storetest.Harness[store.Boards] {
		return boardsHarness(t, server.URL(enginetest.Prefix(t)))
	})
}

func TestBoardsOnCluster(t *testing.T) {
	servers := enginetest.Cluster(t)
	storetest.Boards(t, func(t *testing.T) storetest.Harness[store.Boards] {
		return boardsHarness(t, servers.URL(enginetest.Prefix(t)))
	})
}
