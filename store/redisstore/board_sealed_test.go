package redisstore_test

import (
	"errors"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// A server without room shows a sealed board whole, so that it can be kept elsewhere and dropped.
func TestWalkOfASealedBoardWithoutRoom(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	b := open(t, server.URL("p"), nil).Boards()
	createBoard(t, b, "open", "g")
	createBoard(t, b, "top", "g")
	for _, name := range []string{"open", "top"} {
		merge(t, b, name, points(3, "a", "b", "c"))
	}
	if _, err := b.Seal(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	ask(t, server, "CONFIG", "SET", "maxmemory", "1")
	var at store.Cursor
	var err error
	for first := true; first || !at.Done(); first = false {
		if _, at, err = b.Walk(t.Context(), "top", at, 1); err != nil {
			t.Fatalf("the walk ends after %d of %d: %v", at.Seen, at.Total, err)
		}
	}
	if _, _, err := b.Walk(t.Context(), "open", store.Cursor{}, 1); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a walk begins of a board whose changes there is no room to remember: %v", err)
	}
}
