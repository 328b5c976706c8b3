package board_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
)

// A kick that comes too late begins no window: the next score waits for its own.
func TestAKickForNothingBeginsNoWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{FlushEvery: 10 * time.Second, Boards: boards{"Kills": {}}})
		r.Kick()
		later(5 * time.Second)
		r.submit("Kills", "u1", 1)
		later(9 * time.Second)
		want(t, "written before its window", r.stored("Kills"), []string{})
		later(2 * time.Second)
		want(t, "written in its window", r.stored("Kills"), []string{"u1=1"})
		r.submit("Kills", "u1", 2)
		later(11 * time.Second)
		want(t, "written in the next", r.stored("Kills"), []string{"u1=2"})
	})
}
