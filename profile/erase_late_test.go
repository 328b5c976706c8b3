package profile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// What was released while the fast store was down for a minute leaves nothing behind.
func TestAReleaseDuringAnOutageOfTheFastStoreLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{JournalEvery: time.Second})
		var all []*profile.Session
		for i := range 5 {
			sess := a.load(fmt.Sprint("u", i), nil)
			add(t, sess, 1)
			if err := sess.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			all = append(all, sess)
		}
		a.faults.Outage(faultstore.Fast, true)
		for _, sess := range all {
			release(t, sess)
		}
		time.Sleep(time.Minute)
		a.faults.Outage(faultstore.Fast, false)
		time.Sleep(10 * time.Minute)
		if left := f.leftovers(); len(left) > 0 {
			t.Errorf("left behind: %s", strings.Join(left, ", "))
		}
	})
}

// An append whose answer was lost lands twenty-five seconds after the release.
func TestAnAppendThatLandsLateIsRemovedWithinStrays(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{JournalEvery: time.Second})
		time.Sleep(5 * time.Second)
		a.faults.SetRule(always(on("commit", "journal/"), faultstore.Fault{Kind: faultstore.Late, After: 25 * time.Second}))
		sess := a.load("u", nil)
		add(t, sess, 1)
		time.Sleep(1300 * time.Millisecond)
		release(t, sess)
		a.faults.SetRule(nil)
		time.Sleep(10 * time.Minute)
		if left := f.leftovers(); len(left) > 0 {
			t.Errorf("left behind: %s", strings.Join(left, ", "))
		}
	})
}
