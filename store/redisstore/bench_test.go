package redisstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// journals is one Commit of n journals of 2 KB.
func journals(n int, version store.Version) []store.Tx {
	value := make([]byte, 2048)
	txs := make([]store.Tx, n)
	for i := range txs {
		txs[i] = store.Tx{{Key: fmt.Sprintf("journal/players/u%d", i), Op: store.Put, Value: value, If: store.Any(), Version: version}}
	}
	return txs
}

// perSecond reports what one iteration has n of.
func perSecond(b *testing.B, n int, unit string) {
	b.Helper()
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), unit+"/s")
}

// BenchmarkJournals writes what 300 players of one node have changed, as a node does in one
// beat; and the same bytes by plain SETs in one pipeline, which check nothing.
func BenchmarkJournals(b *testing.B) {
	const players = 300
	server := enginetest.Redis(b)
	b.Run("commit", func(b *testing.B) {
		r := open(b, server.URL(enginetest.Prefix(b)), nil).Fast()
		for n := 1; b.Loop(); n++ {
			for _, err := range r.Commit(b.Context(), journals(players, store.Version(n))...) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		perSecond(b, players, "journals")
	})
	b.Run("raw", func(b *testing.B) {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true, DisableCache: true})
		if err != nil {
			b.Fatal(err)
		}
		defer client.Close()
		prefix, value := enginetest.Prefix(b), string(make([]byte, 2064))
		for b.Loop() {
			commands := make([]rueidis.Completed, players)
			for i := range commands {
				commands[i] = client.B().Set().Key(fmt.Sprintf("%sj%d", prefix, i)).Value(value).Build()
			}
			for _, r := range client.DoMulti(b.Context(), commands...) {
				if r.Error() != nil {
					b.Fatal(r.Error())
				}
			}
		}
		perSecond(b, players, "journals")
	})
}

// BenchmarkLook reads what a verdict needs: the beat of another node, the own one and marks;
// beside it the round trip of a PING.
func BenchmarkLook(b *testing.B) {
	server := enginetest.Redis(b)
	r := open(b, server.URL(enginetest.Prefix(b)), nil).Fast()
	for _, key := range []string{"node/a", "node/b", "mark/b/0", "mark/b/1"} {
		if err := commit(b.Context(), r, put(key, "{}", 1, store.Any())); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Get(b.Context(), "node/a", "mark/b/0", "mark/b/1", "node/b"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Get(b.Context(), "journal/players/u1"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ping", func(b *testing.B) {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true, DisableCache: true, AlwaysPipelining: true})
		if err != nil {
			b.Fatal(err)
		}
		defer client.Close()
		for b.Loop() {
			if err := client.Do(b.Context(), client.B().Ping().Build()).Error(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkBeatUnderLoad writes beats while two nodes write journals as fast as they can.
func BenchmarkBeatUnderLoad(b *testing.B) {
	server := enginetest.Redis(b)
	url := server.URL(enginetest.Prefix(b))
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	r := open(b, url, nil).Fast()
	for _, busy := range []store.Records{r, open(b, url, nil).Fast()} {
		wg.Go(func() {
			for n := store.Version(1); ctx.Err() == nil; n++ {
				busy.Commit(ctx, journals(1000, n)...)
			}
		})
	}
	longest := time.Duration(0)
	version := store.Version(0)
	for b.Loop() {
		sent := time.Now()
		if err := commit(b.Context(), r, put("node/a", "{}", version+1, store.Is(version))); err != nil {
			b.Fatal(err)
		}
		version++
		longest = max(longest, time.Since(sent))
	}
	b.ReportMetric(float64(longest.Microseconds())/1000, "longest-ms")
	stop()
	wg.Wait()
}

// BenchmarkCensus lists the beats of 300 nodes, as each does every ten beats.
func BenchmarkCensus(b *testing.B) {
	r := open(b, enginetest.Redis(b).URL(enginetest.Prefix(b)), nil).Fast()
	for i := range 300 {
		if err := commit(b.Context(), r, put(fmt.Sprintf("node/n%d", i), `{"format":1,"name":"n","players":100}`, 1, store.Any())); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		n := 0
		for _, err := range r.Scan(b.Context(), store.Prefix("node/")) {
			if n++; err != nil {
				b.Fatal(err)
			}
		}
		if n != 300 {
			b.Fatal(n)
		}
	}
}

// BenchmarkMessage sends a message through the server to a subscriber on another engine.
func BenchmarkMessage(b *testing.B) {
	url := enginetest.Redis(b).URL(enginetest.Prefix(b))
	from, to := open(b, url, nil).Bus(), open(b, url, nil).Bus()
	var heard atomic.Int64
	came := make(chan struct{}, 1)
	s, err := to.Subscribe(b.Context(), "topic", func([]byte) { heard.Add(1); came <- struct{}{} })
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		if err := from.Publish(b.Context(), "topic", []byte("hello")); err != nil {
			b.Fatal(err)
		}
		<-came
	}
}
