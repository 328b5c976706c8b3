package profile_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// Joins, leaves, hand-overs and lost answers in any order: each stay has one beginning and
// one end, and nobody stays behind.
func TestPlayersSoup(t *testing.T) {
	for seed := range uint64(8) {
		bubble(t, func(t *testing.T, f *fleet) { stir(t, f, seed) })
	}
}

func stir(t *testing.T, f *fleet, seed uint64) {
	t.Helper()
	a, b := f.start("a", nil), f.start("b", nil)
	lobbies := []*lobby{newLobby(t, a, nil), newLobby(t, b, nil)}
	state := seed + 1
	draw := func(n uint64) uint64 { // splitmix64
		state += 0x9e3779b97f4a7c15
		z := (state ^ state>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return (z ^ z>>31) % n
	}
	for i, s := range []*server{a, b} {
		var mu sync.Mutex
		calls := uint64(i)
		s.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			mu.Lock()
			defer mu.Unlock()
			calls++
			fault := faultstore.Fault{Delay: time.Duration(calls*7%40) * time.Millisecond}
			if calls%29 == 0 && c.Op == "commit" {
				fault.Kind = faultstore.FailAfter
			}
			return fault
		})
	}
	for range 400 {
		l, key := lobbies[draw(2)], fmt.Sprint("u", draw(4))
		p, ok := l.Player(key)
		switch {
		case ok && draw(2) == 0:
			synctest.Wait() // no callback is just beginning: from now on none may
			l.leave(p)
		case ok:
			p.Leave()
		default:
			_, _ = l.Join(key)
		}
		time.Sleep(time.Duration(draw(120)) * time.Millisecond)
	}
	a.faults.SetRule(nil)
	b.faults.SetRule(nil)
	for _, l := range lobbies {
		if r, err := l.Close(t.Context()); err != nil || l.Len() != 0 {
			t.Errorf("seed %d: %+v %v", seed, r, err)
		}
	}
	time.Sleep(5 * time.Minute)
	ends := 0
	for _, l := range lobbies {
		for key := range l.told {
			ends += grammar(t, key, l.heard(key))
			f.free(key)
		}
	}
	if ends < 20 {
		t.Errorf("seed %d: only %d stays", seed, ends)
	}
}

// grammar checks that what a game heard of a player is a sequence of stays.
func grammar(t *testing.T, key string, told []string) (ends int) {
	t.Helper()
	in := false
	for _, what := range told {
		end := strings.HasPrefix(what, "left") || strings.HasPrefix(what, "kicked")
		if in != end {
			t.Errorf("%s: %q", key, told)
			return ends
		}
		in = what == "joined"
		if end {
			ends++
		}
	}
	if in {
		t.Errorf("%s: never left: %q", key, told)
	}
	return ends
}

// case P17: what a player leaves behind is nothing.
func TestTenThousandStaysLeaveNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		l := newLobby(t, f.start("a", &profile.Options{Template: doc.Must(map[string]any{"coins": 0})}), nil)
		cycle := func(n int) {
			for i := range n {
				key := fmt.Sprint("u", i%50)
				p := l.join(key)
				synctest.Wait()
				p.Leave()
				<-p.Gone()
				l.mu.Lock()
				l.told[key] = nil
				l.mu.Unlock()
			}
		}
		heap := func() uint64 {
			synctest.Wait()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		cycle(1000)
		goroutines, before := runtime.NumGoroutine(), heap()
		cycle(10_000)
		time.Sleep(time.Second)
		after := heap()
		if n := runtime.NumGoroutine(); n > goroutines {
			t.Errorf("%d goroutines, were %d", n, goroutines)
		}
		if after > before+1<<20 {
			t.Errorf("heap grew from %d to %d", before, after)
		}
	})
}
