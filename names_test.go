package shoal_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

func TestNamesComeFromProfiles(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		named := func(o *shoal.Options) { o.Names = &shoal.Names{Display: "/who/name", User: "/handle"} }
		a := w.launch("a", named)
		for key, data := range map[string]map[string]any{
			"ann": {"who": map[string]any{"name": "Ann of the Reef"}, "handle": "@ann"},
			"bob": {"handle": "@bob"},
			"cid": {"who": map[string]any{"name": 7}},
			"dot": {"who": map[string]any{"name": strings.Repeat("é", 100)}},
		} {
			s := a.load(key)
			for member, v := range data {
				_, err := s.Transact(profile.Source{}, doc.Set("/"+member, doc.Must(v)))
				must(t, err)
			}
			must(t, s.Release(t.Context()))
		}
		b := w.launch("b", named)
		reads := 0
		b.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if c.Op == "get" && strings.HasPrefix(c.Keys[0], "profile/") {
				reads++
			}
			return faultstore.Fault{}
		})
		names, err := b.Boards().Names(t.Context(), "ann", "bob", "cid", "dot", "nobody")
		must(t, err)
		want := map[string]board.Name{
			"ann": {Display: "Ann of the Reef", User: "@ann"}, "bob": {User: "@bob"}, "dot": {Display: strings.Repeat("é", 64)},
		}
		if fmt.Sprint(names) != fmt.Sprint(want) || reads != 1 {
			t.Errorf("%v in %d reads, want %v in one", names, reads, want)
		}

		s := b.load("eve") // here: from memory, saved or not
		_, err = s.Transact(profile.Source{}, doc.Set("/handle", doc.Must("@eve")))
		must(t, err)
		reads = 0
		if names, err := b.Boards().Names(t.Context(), "eve"); err != nil || names["eve"].User != "@eve" || reads != 0 {
			t.Errorf("%v, %v, %d reads", names, err, reads)
		}

		if _, err := b.Set("players").Erase(t.Context(), "bob", profile.Source{}, nil); err != nil {
			t.Fatal(err)
		}
		if names, err := b.Boards().Names(t.Context(), "bob"); err != nil || len(names) != 0 {
			t.Errorf("an erased player is called %v, %v", names, err)
		}

		b.faults.Outage(faultstore.Durable, true)
		if names, err := b.Boards().Names(t.Context(), "ann", "zoe"); err != nil || len(names) != 1 {
			t.Errorf("without a store: %v, %v", names, err)
		}
		b.faults.Outage(faultstore.Durable, false)
		time.Sleep(time.Minute)
		must(t, s.Release(t.Context()))
	})
}

func TestNamesAreChecked(t *testing.T) {
	st, err := shoal.Open(t.Context(), "memory:")
	must(t, err)
	nobody := func(context.Context, []string) (map[string]board.Name, error) { return nil, nil } //nolint:nilnil // never called
	for want, o := range map[string]*shoal.Options{
		`Names.Set: the name of one of the Sets expected, got "x"`: {Names: &shoal.Names{Set: "x", User: "/u"}},
		`Names.Set: the name of one of the Sets expected, got ""`:  {Names: &shoal.Names{User: "/u"}, Ranked: "-"},
		"Names.Display: the JSON Pointer":                          {Names: &shoal.Names{}},
		"Names.User: ":                                             {Names: &shoal.Names{User: "u"}},
		"Flush.Names.Resolve":                                      {Names: &shoal.Names{User: "/u"}, Flush: &board.Options{Names: &board.NameOptions{Resolve: nobody}}},
	} {
		o.Sets = map[string]*profile.Options{"players": nil}
		_, err := shoal.Start(t.Context(), st, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	must(t, st.Close(t.Context()))
}

// More names at once than one read of the store takes.
func TestManyNamesAtOnce(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", func(o *shoal.Options) {
			o.Names = &shoal.Names{Display: "/name"}
			o.Flush.Names = &board.NameOptions{PerMinute: -1, Batch: 5000}
		})
		s := c.load("u7")
		_, err := s.Transact(profile.Source{}, doc.Set("/name", doc.Must("Seven")))
		must(t, err)
		must(t, s.Release(t.Context()))
		keys := make([]string, 3000)
		for i := range keys {
			keys[i] = fmt.Sprint("u", i)
		}
		if names, err := c.Boards().Names(t.Context(), keys...); err != nil || names["u7"].Display != "Seven" {
			t.Errorf("%v, %v", names, err)
		}
	})
}

// A name that was changed here is the one that this node shows after its owner has left.
func TestANameStaysWhenItsOwnerLeaves(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", func(o *shoal.Options) { o.Names = &shoal.Names{Display: "/name"} })
		for i, name := range []string{"", "Ann", "Anna"} {
			if name != "" {
				s := c.load("ann")
				_, err := s.Transact(profile.Source{}, doc.Set("/name", doc.Must(name)))
				must(t, err)
				must(t, s.Release(t.Context()))
			}
			names, err := c.Boards().Names(t.Context(), "ann")
			if err != nil || names["ann"].Display != name {
				t.Errorf("%d: %v, %v, want %q", i, names, err, name)
			}
		}
	})
}

// The name of an erased player is not taken in again by somebody who asks while the erasure
// is under way.
func TestAnErasedNameIsNotTakenInAgain(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", func(o *shoal.Options) { o.Names = &shoal.Names{Display: "/name"} })
		s := c.load("ann")
		_, err := s.Transact(profile.Source{}, doc.Set("/name", doc.Must("Ann")))
		must(t, err)
		must(t, s.Release(t.Context()))
		stop := make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					_, _ = c.Boards().Names(t.Context(), "ann")
				}
			}
		}()
		c.Set("players").OnErase(func(context.Context, string) error {
			time.Sleep(time.Second)
			return nil
		})
		_, err = c.Set("players").Erase(t.Context(), "ann", profile.Source{}, nil)
		must(t, err)
		close(stop)
		<-ended
		synctest.Wait()
		if names, err := c.Boards().Names(t.Context(), "ann"); err != nil || len(names) != 0 {
			t.Errorf("an erased player is called %v, %v", names, err)
		}
	})
}

// A name that is cut does not keep the whole text in memory.
func TestLongNamesAreNotKept(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", func(o *shoal.Options) { o.Names = &shoal.Names{Display: "/name"} })
		keys := make([]string, 40)
		for i := range keys {
			keys[i] = fmt.Sprint("u", i)
			s := c.load(keys[i])
			_, err := s.Transact(profile.Source{}, doc.Set("/name", doc.Must(strings.Repeat("n", 1<<19))))
			must(t, err)
			must(t, s.Release(t.Context()))
		}
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap()
		if names, err := c.Boards().Names(t.Context(), keys...); err != nil || len(names) != len(keys) || len(names["u7"].Display) != 128 {
			t.Fatalf("%d names, %v", len(names), err)
		}
		if grown := int64(heap()) - int64(before); grown > 4<<20 {
			t.Errorf("%d bytes for %d names", grown, len(keys))
		}
	})
}
