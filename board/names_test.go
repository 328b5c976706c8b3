package board_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// accounts is a resolver: it knows every key that begins with a u.
type accounts struct {
	start time.Time
	mu    struct {
		sync.Mutex
		calls  []lookup
		flying int
		most   int // calls in flight at a time
		rule   func(ctx context.Context, keys []string) error
	}
}

type lookup struct {
	Keys int
	At   time.Duration
	all  []string
}

func newAccounts() *accounts { return &accounts{start: time.Now()} }

func (a *accounts) resolve(ctx context.Context, keys []string) (map[string]board.Name, error) {
	a.mu.Lock()
	a.mu.calls = append(a.mu.calls, lookup{len(keys), time.Since(a.start), slices.Clone(keys)})
	a.mu.flying++
	a.mu.most = max(a.mu.most, a.mu.flying)
	rule := a.mu.rule
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.mu.flying--
	}()
	if rule != nil {
		if err := rule(ctx, keys); err != nil {
			return nil, err
		}
	}
	out := make(map[string]board.Name)
	for _, key := range keys {
		if key[0] == 'u' {
			out[key] = called(key)
		}
	}
	return out, nil
}

func called(key string) board.Name { return board.Name{Display: "D " + key, User: key} }

func (a *accounts) setRule(rule func(ctx context.Context, keys []string) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.rule = rule
}

func (a *accounts) calls() []lookup {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.mu.calls)
}

// sizes are how many keys each call had.
func (a *accounts) sizes() []int {
	out := []int{}
	for _, c := range a.calls() {
		out = append(out, c.Keys)
	}
	return out
}

// after passes calls on after a time, or when their context ends.
func after(d time.Duration) func(context.Context, []string) error {
	return func(ctx context.Context, _ []string) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// startNames makes a service with names.
func startNames(t *testing.T, a *accounts, o board.NameOptions) *rig {
	t.Helper()
	o.Resolve = a.resolve
	return start(t, &board.Options{Names: &o, CallTimeout: 3 * time.Second, Boards: boards{"Kills": {}}})
}

// users are the keys u<from> to u<to-1>.
func users(from, to int) (keys []string) {
	for i := from; i < to; i++ {
		keys = append(keys, fmt.Sprintf("u%d", i))
	}
	return keys
}

// wantNames expects exactly the names of the keys.
func (r *rig) wantNames(got map[string]board.Name, keys ...string) {
	r.t.Helper()
	names := make(map[string]board.Name)
	for _, key := range keys {
		names[key] = called(key)
	}
	want(r.t, "names", got, names)
}

func (r *rig) names(keys ...string) map[string]board.Name {
	r.t.Helper()
	got, err := r.Names(r.t.Context(), keys...)
	if err != nil {
		r.t.Fatalf("Names: %v", err)
	}
	return got
}

func TestNamesAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{})
		r.wantNames(r.names("u1", "guild:7", "u2", "u1"), "u1", "u2")
		r.wantNames(r.names("u2", "guild:7", "u3"), "u2", "u3")
		want(t, "keys asked", [][]string{a.calls()[0].all, a.calls()[1].all}, [][]string{{"u1", "guild:7", "u2"}, {"u3"}})
		// After an hour the old names will do, and are asked for again; a key without an
		// account may have one by now.
		a.setRule(after(time.Second))
		later(time.Hour)
		began := time.Now()
		r.wantNames(r.names("u1", "u2"), "u1", "u2")
		want(t, "time waited for old names", time.Since(began), 0)
		later(2 * time.Second)
		r.wantNames(r.names("u1", "u2", "guild:7"), "u1", "u2")
		want(t, "keys asked", a.sizes(), []int{3, 1, 2, 1})
	})
}

func TestKeysWithoutAnAccountAreNeverAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{AbsentFor: -1, KeepFor: -1})
		r.wantNames(r.names("u1", "guild:7"), "u1")
		later(1000 * time.Hour)
		r.wantNames(r.names("u1", "guild:7"), "u1")
		want(t, "calls", a.sizes(), []int{2})
	})
}

func TestNamesOfThoseWhoAreHereComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		here := map[string]board.Name{"u1": {Display: "Here", User: "u1"}}
		r := startNames(t, a, board.NameOptions{Local: func(key string) (board.Name, bool) { n, ok := here[key]; return n, ok }})
		want(t, "names", r.names("u1"), here)
		want(t, "calls", a.sizes(), []int{})
		here["u1"] = board.Name{Display: "Renamed", User: "u1"}
		got := r.names("u1", "u2")
		want(t, "names", got, map[string]board.Name{"u1": {Display: "Renamed", User: "u1"}, "u2": called("u2")})
		want(t, "calls", a.sizes(), []int{1})
	})
}

func TestNamesAreBoundedInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{Cache: 3, PerMinute: -1})
		r.wantNames(r.names("u1", "u2", "u3"), "u1", "u2", "u3")
		r.names("u1")       // u2 is the one that was unused for longest
		r.names("u4", "x1") // a key without an account takes no place of a name
		r.wantNames(r.names("u1", "u3", "u4"), "u1", "u3", "u4")
		want(t, "calls", a.sizes(), []int{3, 2})
		r.names("u2")
		want(t, "calls", a.sizes(), []int{3, 2, 1})
		r.names("x2", "x3", "x4")
		r.names("x4", "x1") // x1 was forgotten
		want(t, "calls", a.sizes(), []int{3, 2, 1, 3, 1})
	})
	synctest.Test(t, func(t *testing.T) { // all names of a call are answered, though memory has room for one
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{Cache: 1})
		r.wantNames(r.names(users(0, 150)...), users(0, 150)...)
		want(t, "calls", a.sizes(), []int{100, 50})
	})
}

func TestNamesHaveABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{})
		r.wantNames(r.names(users(0, 150)...), users(0, 150)...)
		later(30 * time.Second)
		r.wantNames(r.names(users(100, 300)...), users(100, 250)...) // 100 are left; 50 are known
		r.wantNames(r.names("u999"))
		want(t, "calls", a.sizes(), []int{100, 50, 100})
		later(30 * time.Second) // what was spent first is a minute ago
		r.wantNames(r.names(users(250, 500)...), users(250, 400)...)
		want(t, "calls", a.sizes(), []int{100, 50, 100, 100, 50})
		// In no minute were more asked for.
		for _, c := range a.calls() {
			sum := 0
			for _, d := range a.calls() {
				if d.At >= c.At && d.At < c.At+time.Minute {
					sum += d.Keys
				}
			}
			if sum > 250 {
				t.Fatalf("%d keys in the minute from %v", sum, c.At)
			}
		}
	})
}

func TestCallersShareTheCallsForNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		a.setRule(after(time.Second))
		r := startNames(t, a, board.NameOptions{})
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				keys := users(i%5, i%5+10)
				r.wantNames(r.names(keys...), keys...)
			})
		}
		wg.Wait()
		asked := map[string]int{}
		for _, c := range a.calls() {
			for _, key := range c.all {
				asked[key]++
			}
		}
		want(t, "keys", slices.Sorted(maps.Keys(asked)), slices.Sorted(slices.Values(users(0, 14))))
		for key, n := range asked {
			want(t, "times that "+key+" was asked for", n, 1)
		}
		want(t, "calls at a time", a.mu.most, 1)
		if n := len(a.calls()); n > 2 {
			t.Fatalf("%d calls", n)
		}
	})
}

func TestFailedCallLeavesRowsUnnamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{})
		r.names("u1")
		down := errors.New("accounts are down")
		a.setRule(func(context.Context, []string) error { return down })
		r.wantNames(r.names("u1", "u2"), "u1")
		want(t, "warnings", r.log.count("names could not be looked up"), 1)
		a.setRule(nil)
		later(4 * time.Second)
		r.wantNames(r.names("u1", "u2", "u3"), "u1")
		want(t, "calls", a.sizes(), []int{1, 1})
		later(time.Second)
		r.wantNames(r.names("u1", "u2", "u3"), "u1", "u2", "u3")
		want(t, "calls", a.sizes(), []int{1, 1, 2})
	})
}

// What waits behind a call that fails does not wait for the next one.
func TestFailedCallReleasesThoseWhoWaitBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{Batch: 10})
		a.setRule(func(ctx context.Context, keys []string) error {
			return errors.Join(after(time.Second)(ctx, keys), errors.New("down"))
		})
		began := time.Now()
		r.wantNames(r.names(users(0, 100)...))
		want(t, "time waited", time.Since(began), time.Second)
		want(t, "calls", a.sizes(), []int{10})
		later(4 * time.Second) // of the five
		a.setRule(nil)
		later(time.Second)
		r.wantNames(r.names(users(0, 100)...), users(0, 100)...)
	})
}

// An old name outlives a resolver that is down.
func TestOldNamesAreUsedWhileTheResolverIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{KeepFor: time.Minute})
		r.names("u1")
		a.setRule(func(context.Context, []string) error { return errors.New("down") })
		for range 5 {
			later(time.Minute)
			r.wantNames(r.names("u1"), "u1")
		}
		synctest.Wait()
		want(t, "calls", a.sizes(), []int{1, 1, 1, 1, 1, 1})
	})
}

func TestResolverThatHangsIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{})
		a.setRule(after(time.Hour))
		began := time.Now()
		r.wantNames(r.names("u1"))
		want(t, "time waited", time.Since(began), 3*time.Second)
		a.setRule(nil)
		later(5 * time.Second)
		r.wantNames(r.names("u1"), "u1")
	})
}

// A resolver that does not look at its context holds up nobody, and is not called twice at a
// time. What it answers in the end is learned.
func TestStubbornResolver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{})
		gate := make(chan struct{})
		a.setRule(func(context.Context, []string) error { <-gate; return nil })
		began := time.Now()
		r.wantNames(r.names("u1", "x"))
		want(t, "time waited", time.Since(began), 3*time.Second)
		later(time.Hour)
		r.wantNames(r.names("u2"))
		want(t, "calls", a.sizes(), []int{2})
		close(gate)
		synctest.Wait()
		r.wantNames(r.names("u1", "x"), "u1")
		want(t, "calls", a.sizes(), []int{2})
		r.wantNames(r.names("u2"), "u2")
		want(t, "calls at a time", a.mu.most, 1)
	})
}

func TestCancelledCallerOfNamesStrandsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{})
		r.names("u0")
		a.setRule(after(time.Second))
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		errs := make(chan error, 1)
		go func() {
			got, err := r.Names(short, "u0", "u1")
			r.wantNames(got, "u0")
			errs <- err
		}()
		synctest.Wait()
		r.wantNames(r.names("u1", "u2"), "u1", "u2")
		if err := <-errs; !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the caller who went: %v", err)
		}
		want(t, "calls", a.sizes(), []int{1, 1, 1})
	})
}

func TestPanicInAResolverWedgesNothing(t *testing.T) {
	for what, end := range map[string]func(){
		"panic":  func() { panic("resolver") },
		"goexit": runtime.Goexit,
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAccounts()
				r := startNames(t, a, board.NameOptions{})
				a.setRule(func(context.Context, []string) error { end(); return nil })
				r.wantNames(r.names("u1"))
				a.setRule(nil)
				later(5 * time.Second)
				r.wantNames(r.names("u1"), "u1")
				want(t, "warnings", r.log.count("names could not be looked up"), 1)
			})
		})
	}
}

func TestCloseReleasesThoseWhoWaitForNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{})
		r.names("u0")
		gate := make(chan struct{})
		a.setRule(func(context.Context, []string) error { <-gate; return nil }) // even a stubborn one
		errs := make(chan error, 1)
		go func() {
			got, err := r.Names(t.Context(), "u0", "u1")
			r.wantNames(got, "u0")
			errs <- err
		}()
		synctest.Wait()
		began := time.Now()
		if report, err := r.Close(t.Context()); err != nil || !report.Complete {
			t.Fatalf("Close: %+v, %v", report, err)
		}
		want(t, "time that Close took", time.Since(began), 0)
		wantRefused(t, <-errs, "service", board.ErrClosed)
		_, err := r.Names(t.Context(), "u1")
		wantRefused(t, err, "service", board.ErrClosed)
		close(gate)
	})
}

// Whoever is let go by a call that the closing has cut hears of the closing, and not that there
// is no such name, though Close may not have come further than that.
func TestACallForNamesThatTheClosingCutsIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{Batch: 1})
		a.setRule(func(ctx context.Context, keys []string) error {
			if keys[0] == "u1" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		errs := make(chan error, 2)
		for range 2 { // one asks, and both wait
			go func() {
				got, err := r.Names(t.Context(), "u1", "u2", "u3")
				r.wantNames(got, "u1")
				errs <- err
			}()
		}
		synctest.Wait()
		r.CutReads()
		synctest.Wait()
		for range 2 {
			wantRefused(t, <-errs, "service", board.ErrClosed)
		}
	})
}

func TestNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{})
		r.submit("Kills", "u1", 3)
		r.submit("Kills", "guild:7", 2)
		r.flush()
		// No way in of the service takes such a key; other software may.
		if _, err := r.store.Boards.Merge(t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "odd/key", Score: 1}}}); err != nil {
			t.Fatal(err)
		}
		page, err := r.Top(t.Context(), "Kills", 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Named(t.Context(), page)
		want(t, "rows", got, []board.NamedStanding{
			{Standing: page.Entries[0], Name: called("u1")}, {Standing: page.Entries[1]}, {Standing: page.Entries[2]},
		})
		want(t, "calls", a.calls()[0].all, []string{"u1", "guild:7"})
		if err != nil {
			t.Fatal(err)
		}
		// A caller who goes has all rows, with what is known.
		a.setRule(after(time.Minute))
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		page.Entries = append(slices.Clone(page.Entries), store.Standing{Entry: store.Entry{Key: "u5"}})
		got, err = r.Named(gone, page)
		if !errors.Is(err, context.Canceled) || len(got) != 4 || got[0].Name != called("u1") {
			t.Fatalf("Named: %v, %v", got, err)
		}
	})
}

func TestNamesRefusesWhatIsNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{})
		_, err := r.Names(t.Context(), "u1", "a/b")
		wantRefused(t, err, "key", board.ErrName)
		want(t, "the error", err.Error(), `board: key: has "/" at byte 1; letters, digits and ._-:@+=~ are allowed`)
		_, err = r.Names(t.Context(), manyKeys(board.MostKeys+1)...)
		wantRefused(t, err, "keys", board.ErrCount)
		r.wantNames(r.names())
		want(t, "calls", a.sizes(), []int{})
	})
	synctest.Test(t, func(t *testing.T) { // without a resolver nobody has a name
		r := start(t, nil)
		r.wantNames(r.names("u1"))
	})
	for _, o := range []board.NameOptions{{Batch: -1}, {Cache: -1}, {RetryAfter: -1}, {PerMinute: 2_000_000}} {
		if _, err := board.NewOn(board.Host{Logger: discard()}, &board.Options{Names: &o}); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// Many callers, a resolver that fails, hangs and panics: nobody waits for ever, a name is
// never another's, and the budget holds.
func TestNamesUnderFire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{Cache: 50, Batch: 20, PerMinute: 400, RetryAfter: time.Second, KeepFor: 10 * time.Second})
		n := 0
		a.setRule(func(ctx context.Context, keys []string) error {
			n++ // one call at a time
			switch n % 5 {
			case 1:
				return errors.New("down")
			case 2:
				panic("resolver")
			case 3:
				return after(time.Minute)(ctx, keys)
			}
			return after(50*time.Millisecond)(ctx, keys)
		})
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				for j := range 200 {
					keys := users((i*7+j)%90, (i*7+j)%90+10)
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(j%7+1)*time.Second)
					got, err := r.Names(ctx, keys...)
					cancel()
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("Names: %v", err)
					}
					for key, name := range got {
						if name != called(key) {
							t.Errorf("%s is called %v", key, name)
						}
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		want(t, "calls at a time", a.mu.most, 1)
		if len(a.calls()) < 20 {
			t.Fatalf("%d calls", len(a.calls()))
		}
	})
}

func TestForgottenNamesAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts()
		r := startNames(t, a, board.NameOptions{})
		r.names("u1", "u2", "x1")
		r.ForgetNames("u1", "x1", "never seen", "")
		r.wantNames(r.names("u1", "u2", "x1"), "u1", "u2")
		want(t, "calls", a.sizes(), []int{3, 2})
		// What a call in flight answers is not remembered.
		for _, stubborn := range []bool{false, true} {
			gate := make(chan struct{})
			a.setRule(func(ctx context.Context, _ []string) error {
				if stubborn {
					<-gate
					return nil
				}
				select {
				case <-gate:
				case <-ctx.Done():
				}
				return context.Cause(ctx)
			})
			r.ForgetNames("u1")
			got := make(chan map[string]board.Name, 1)
			go func() { got <- r.names("u1", "u3") }()
			synctest.Wait()
			r.ForgetNames("u1")
			if stubborn {
				later(3 * time.Second) // it is cut, and hangs
				r.wantNames(<-got)
			}
			r.ForgetNames("u3")
			close(gate)
			if !stubborn {
				r.wantNames(<-got, "u1", "u3")
			}
			a.setRule(nil)
			later(5 * time.Second)
			calls := len(a.calls())
			r.wantNames(r.names("u1", "u3"), "u1", "u3")
			want(t, "calls", a.sizes()[calls:], []int{2})
			r.ForgetNames("u3")
		}
	})
}
