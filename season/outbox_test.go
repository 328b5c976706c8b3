package season_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

func stamp(epoch, revision uint64) store.Stamp { return store.Stamp{Epoch: epoch, Revision: revision} }

func TestOutboxKeepsTheNewestOfEachSlot(t *testing.T) {
	o := season.NewOutbox(10)
	for _, p := range []struct {
		k     int64
		key   string
		value int64
		stamp store.Stamp
	}{
		{1, "b", 1, stamp(1, 1)},
		{1, "a", 2, stamp(1, 1)},
		{0, "b", 3, stamp(1, 1)},
		{1, "b", 9, stamp(1, 7)},
		{1, "b", 4, stamp(1, 6)}, // the older one does not win
		{1, "a", 5, stamp(2, 0)}, // a new session's epoch does
	} {
		if err := o.Put(p.k, p.key, p.value, p.stamp); err != nil {
			t.Fatal(err)
		}
	}
	want := []season.OutboxValue{{0, "b", 3}, {1, "a", 5}, {1, "b", 9}}
	if diff := cmp.Diff(want, o.Values()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestOutboxDoesNotSettleWhatCameMeanwhile(t *testing.T) {
	o := season.NewOutbox(10)
	put := func(key string, value int64, revision uint64) {
		if err := o.Put(0, key, value, stamp(1, revision)); err != nil {
			t.Fatal(err)
		}
	}
	put("a", 1, 1)
	put("b", 1, 1)
	put("c", 1, 1)
	o.Settle(func() { put("a", 2, 2) }, func(_ int64, key string) bool { return key != "c" })
	want := []season.OutboxValue{{0, "a", 2}, {0, "c", 1}}
	if diff := cmp.Diff(want, o.Values()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestOutboxIsBounded(t *testing.T) {
	o := season.NewOutbox(2)
	for _, key := range []string{"a", "b"} {
		if err := o.Put(0, key, 1, stamp(1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Put(0, "c", 1, stamp(1, 1)); !errors.Is(err, season.ErrFull) {
		t.Fatalf("a third: %v, want ErrFull", err)
	}
	if err := o.Put(0, "b", 2, stamp(1, 2)); err != nil {
		t.Fatalf("a newer value of one that waits: %v", err)
	}
}
