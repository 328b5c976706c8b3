package redisstore_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// A board is dropped and made anew, again and again, while others list: whichever of its lives a
// list meets, it names the board once.
func TestListNamesABoardOfManyLivesOnce(t *testing.T) {
	server := enginetest.Redis(t)
	prefix := enginetest.Prefix(t)
	e := open(t, server.URL(prefix), nil)
	ask(t, server, "ZADD", e.BoardList(), "0", "a DEAD") // so that pages of two end between the lives
	b := open(t, server.URL(prefix), nil).Boards()
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for i := 0; err == nil; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err = b.Create(t.Context(), "top", store.BoardSpec{Order: store.Descending, Generation: fmt.Sprint(i)}); err == nil {
				err = b.Drop(t.Context(), "top")
			}
		}
		done <- err
	}()
	for range 6000 {
		names, err := e.Boards().List(t.Context(), "", "", 2)
		if err != nil || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("List = %q, %v", names, err)
			break
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
