package redisstore_test

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// BenchmarkCommit writes journals of 512 bytes on their versions, so many in a call, and tells what
// each costs the server.
func BenchmarkCommit(b *testing.B) {
	const sessions, size = 10_000, 512
	server := enginetest.Redis(b)
	for _, batch := range []int{1, 8, 25, 100, 256} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			r := open(b, server.URL(enginetest.Prefix(b)), nil).Fast()
			value := make([]byte, size)
			_, _ = rand.Read(value) // it never fails
			versions := make([]store.Version, sessions)
			txs, first := make([]store.Tx, batch), 0
			write := func() {
				for i := range txs {
					at := (first + i) % sessions
					txs[i] = store.Tx{{
						Key: fmt.Sprintf("journal/players/u%06d", at), Op: store.Put, Value: value,
						If: store.Is(versions[at]), Version: versions[at] + 1,
					}}
					versions[at]++
				}
				first += batch
				for _, err := range r.Commit(b.Context(), txs...) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			for first < sessions {
				write()
			}
			used := serverTime(b, server)
			b.ReportAllocs()
			for b.Loop() {
				write()
			}
			b.ReportMetric(float64((serverTime(b, server)-used).Nanoseconds())/float64(b.N)/float64(batch)/1000, "server-µs/write")
		})
	}
}
