package profile_test

import (
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
)

// A store that refuses what the audit log says of a replay is no reason not to take over, by a
// load or by the reaper.
func TestATakeoverDoesWithoutRowsWhereTheStoreRefusesThem(t *testing.T) {
	for _, loads := range []bool{true, false} {
		bubble(t, func(t *testing.T, f *fleet) {
			f.wrap = func(p store.Parts) store.Parts {
				p.Durable = narrow{Records: p.Durable, most: 1}
				return p
			}
			a, b, s := journaled(t, f)
			give(t, s, ann, 1)
			syncNow(t, s)
			time.Sleep(5500 * time.Millisecond)
			a.kill()
			if loads {
				if next := b.load("u", nil); coins(next.Data()) != 6 {
					t.Errorf("%v", next.Data())
				}
				return
			}
			time.Sleep(5 * time.Minute)
			if f.free("u"); coins(f.storedData("u")) != 6 {
				t.Errorf("reaped: %v", f.storedData("u"))
			}
		})
	}
}
