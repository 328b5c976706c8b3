package pgstore_test

import (
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// boardsAt opens the boards of a schema. Buckets and shelves are so small that boards of
// hundreds have many of them.
func boardsAt(url string, b *pgstore.Boards) storetest.Harness[store.Boards] {
	return storetest.Harness[store.Boards]{
		Open: func(t *testing.T) store.Boards {
			e := open(t, url, b.Options(pgstore.Options{}))
			return storetest.WholeBoards(e.Boards(), e)
		},
		Shared:  true,
		Reopens: true,
		Pass:    func(_ *testing.T, d time.Duration) { b.Pass(d) },
	}
}

// smallBoards are boards with many shelves.
func smallBoards(address func(*testing.T) string) func(*testing.T) storetest.Harness[store.Boards] {
	return func(t *testing.T) storetest.Harness[store.Boards] {
		return boardsAt(address(t), pgstore.NewBoards(20, 4))
	}
}

func TestBoards(t *testing.T) { storetest.Boards(t, smallBoards(direct)) }

func TestBoardsThroughPooler(t *testing.T) { storetest.Boards(t, smallBoards(pooled(t))) }
