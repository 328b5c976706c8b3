package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// boardsHarness opens boards at the address. Time that passes, passes for all that are open.
func boardsHarness(url string, change func(*redisstore.Engine)) storetest.Harness[store.Boards] {
	var (
		opened []*redisstore.Engine
		passed time.Duration
	)
	return storetest.Harness[store.Boards]{
		Open: func(t *testing.T) store.Boards {
			e := open(t, url, nil)
			change(e)
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
		return boardsHarness(server.URL(enginetest.Prefix(t)), func(*redisstore.Engine) {})
	})
}

// TestBoardsOnCluster takes everything in the smallest steps. With one address to begin with
// the client leaves no goroutines: see TestMain.
func TestBoardsOnCluster(t *testing.T) {
	first := enginetest.Cluster(t).Nodes()[0]
	storetest.Boards(t, func(t *testing.T) storetest.Harness[store.Boards] {
		url := "redis+cluster" + strings.TrimPrefix(first.URL(enginetest.Prefix(t)), "redis")
		return boardsHarness(url, (*redisstore.Engine).SmallBoards)
	})
}
