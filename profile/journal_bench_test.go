package profile_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// manySessions are open sessions of profiles of 2 KB.
func manySessions(b *testing.B, n int) (*profile.Set, []*profile.Session) {
	b.Helper()
	set := benchSet(b, &profile.Options{Template: document(2 << 10), Autosave: time.Hour})
	sessions := make([]*profile.Session, n)
	for i := range sessions {
		s, err := set.Load(b.Context(), fmt.Sprintf("u%d", i), nil)
		if err != nil {
			b.Fatal(err)
		}
		sessions[i] = s
	}
	return set, sessions
}

func pay(b *testing.B, s *profile.Session) {
	b.Helper()
	if _, err := s.Transact(game, doc.Increment("/coins", 1)); err != nil {
		b.Fatal(err)
	}
}

// cpu is what this process has used of the processors so far.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkBeat is what one beat costs of processor time with 10,000 open sessions, of which
// some change in it: commits, journal, beat, notes, the memory store included.
func BenchmarkBeat(b *testing.B) {
	for _, changed := range []int{0, 100, 10_000} {
		b.Run(fmt.Sprintf("changed=%d", changed), func(b *testing.B) {
			set, sessions := manySessions(b, 10_000)
			for _, s := range sessions[:changed] { // opens their journals
				pay(b, s)
			}
			if changed > 0 {
				if err := sessions[changed-1].Sync(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			before, appends := cpu(b), set.Stats().Appends
			for b.Loop() {
				for _, s := range sessions[:changed] {
					pay(b, s)
				}
				if err := clock.Sleep(b.Context(), clock.System(), time.Second); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu(b)-before).Milliseconds())/float64(b.N), "cpu-ms/beat")
			b.ReportMetric(float64(set.Stats().Appends-appends)/float64(b.N), "appends/beat")
		})
	}
}

// BenchmarkSync is one Sync of many sessions that sync at the same time.
func BenchmarkSync(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("sessions=%d", n), func(b *testing.B) {
			set, sessions := manySessions(b, n)
			for _, s := range sessions {
				pay(b, s)
				if err := s.Sync(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			saves := set.Stats().Saves
			var wg sync.WaitGroup
			b.ResetTimer()
			for i, s := range sessions {
				wg.Go(func() {
					for range (b.N + n - 1 - i) / n {
						pay(b, s)
						if err := s.Sync(b.Context()); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(set.Stats().Saves-saves), "saves")
		})
	}
}
