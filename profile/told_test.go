package profile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// told collects what a set tells of stored states, as "key coins epoch.revision".
type told struct {
	mu   sync.Mutex
	list []string
}

func listen(s *server) *told {
	l := &told{}
	s.OnStored(func(st profile.Stored) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.list = append(l.list, fmt.Sprintf("%s %d %d.%d", st.Key, coins(st.Data), st.Epoch, st.Revision))
	})
	return l
}

// take is what was told since the last time.
func (l *told) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.list
	l.list = nil
	return out
}

func (l *told) want(t *testing.T, what string, list ...string) {
	t.Helper()
	if got := l.take(); !slices.Equal(got, list) {
		t.Errorf("%s: told %q, want %q", what, got, list)
	}
}

func TestStoredStatesAreTold(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", bags())
		l := listen(a)
		a.OnStored(func(profile.Stored) { panic("oh") }) // nobody's trouble but its own
		a.OnLoad(func(_ context.Context, s *profile.Session) { l.want(t, "before OnLoad", "u 0 1.0") })
		u := a.load("u", nil)
		add(t, u, 3)
		l.want(t, "a commit")
		save(t, u)
		l.want(t, "a save", "u 3 1.1")
		save(t, u)
		l.want(t, "nothing to save")
		add(t, u, 1)
		release(t, u)
		l.want(t, "the last save", "u 4 1.2")
		if _, err := a.Edit(t.Context(), "u", profile.Source{}, doc.Increment("/coins", 1)); err != nil {
			t.Fatal(err)
		}
		l.want(t, "an edit of what nobody holds", "u 4 2.2", "u 5 2.3")
		if a.Stats().Panics == 0 {
			t.Error("no panic counted")
		}
	})
}

func TestTradesAreTold(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.Pass, faultstore.FailAfter} {
		bubble(t, func(t *testing.T, f *fleet) {
			a, u, v := market(t, f)
			save(t, u)
			save(t, v)
			l := listen(a)
			a.faults.SetRule(nth(1, on("commit", "profile/players/"), kind))
			if _, err := swap(t.Context(), "t1", u, v); err != nil {
				t.Fatal(err)
			}
			got := l.take()
			slices.Sort(got)
			if kind == faultstore.FailAfter { // a look at a record in doubt may say again what was stored, before or since
				got = slices.DeleteFunc(slices.Compact(got), func(told string) bool { return told == "u 5 1.1" || told == "v 20 1.1" })
			}
			if want := []string{"u 15 1.2", "v 10 1.2"}; !slices.Equal(got, want) {
				t.Errorf("%v: told %q, want %q", kind, got, want)
			}
		})
	}
}

// A save whose answer was lost, and that cannot be read back, is told when a later read shows
// it, although another save follows.
func TestALostSaveIsToldWhenItIsSeen(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", bags())
		l := listen(a)
		u := a.load("u", nil)
		l.want(t, "the load", "u 0 1.0")
		add(t, u, 3)
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			switch {
			case c.Op == "commit" && c.Keys[0] == profileKey("u"):
				return faultstore.Fault{Kind: faultstore.FailAfter}
			case c.Op == "get" && c.Keys[0] == profileKey("u"):
				return faultstore.Fault{Kind: faultstore.FailBefore}
			}
			return faultstore.Fault{}
		})
		if err := u.Save(t.Context()); !errors.Is(err, store.ErrUnknown) {
			t.Fatal(err)
		}
		l.want(t, "a lost answer")
		add(t, u, 1)
		a.faults.SetRule(nth(2, on("commit", profileKey("u")), faultstore.FailBefore)) // the first one meets the lost one's version
		time.Sleep(time.Second)
		a.faults.SetRule(nil)
		time.Sleep(10 * time.Second)
		if got := l.take(); len(got) < 2 || got[0] != "u 3 1.1" || got[len(got)-1] != "u 4 1.2" {
			t.Errorf("told %q", got)
		}
	})
}

func TestRecoveredStatesAreTold(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 3)
		b := f.start("b", journaling())
		l := listen(b)
		time.Sleep(5 * time.Second)
		a.kill()
		time.Sleep(90 * time.Second)
		reapedAll(t, f, 3)
		got := l.take()
		slices.Sort(got)
		if want := []string{"u0 5 1.2", "u1 5 1.2", "u2 5 1.2"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

func TestImportsAreTold(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", bags())
		u := a.load("u", nil)
		add(t, u, 3)
		release(t, u)
		var export bytes.Buffer
		if _, err := a.Export(t.Context(), &export, nil); err != nil {
			t.Fatal(err)
		}
		u = a.load("u", nil)
		add(t, u, 4)
		release(t, u)
		l := listen(a)
		for _, dry := range []bool{true, false} {
			if _, err := a.Import(t.Context(), bytes.NewReader(export.Bytes()), &profile.ImportOptions{Overwrite: profile.Replace, DryRun: dry}); err != nil {
				t.Fatal(err)
			}
			if dry {
				l.want(t, "a dry run")
			}
		}
		l.want(t, "the import", "u 3 3.3")
	})
}

func TestReadMany(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", bags())
		for _, key := range []string{"u", "v"} {
			release(t, a.load(key, nil))
		}
		f.plant(f.raw.Durable(), profileKey("w"), "no profile")
		reads := &count{match: on("get", "profile/")}
		a.faults.SetRule(reads.rule)
		got, err := a.ReadMany(t.Context(), "v", "u", "w", "x", "u")
		if err != nil || len(got) != 2 || got["u"].Key != "u" || got["v"].Epoch != 1 || reads.take() != 1 {
			t.Errorf("%v, %v", got, err)
		}
		if got, err := a.ReadMany(t.Context()); err != nil || len(got) != 0 {
			t.Errorf("no keys: %v, %v", got, err)
		}
		if _, err := a.ReadMany(t.Context(), "u", "no key"); err == nil {
			t.Error("what is no key was read")
		}
		many := make([]string, store.MaxGetKeys+1)
		for i := range many {
			many[i] = fmt.Sprint("k", i)
		}
		if _, err := a.ReadMany(t.Context(), many...); !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("too many: %v", err)
		}
		a.faults.Outage(faultstore.Durable, true)
		if _, err := a.ReadMany(t.Context(), "u"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("an outage: %v", err)
		}
	})
}
