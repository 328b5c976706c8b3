package redisstore_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/storetest"
)

// The boards that are measured have this many entries, and flushes this many.
const (
	measured = 100_000
	flushed  = 1000
)

// fillBoard makes a board with scores below a million, which tie.
func fillBoard(b *testing.B, boards store.Boards) {
	b.Helper()
	storetest.FillBoard(b, boards, measured, storetest.RandomScores(1_000_000))
}

// rawClient is the client library without this driver.
func rawClient(b *testing.B, addr string) rueidis.Client {
	b.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true, AlwaysPipelining: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	return c
}

// run runs commands in one pipeline.
func run(b *testing.B, c rueidis.Client, commands []rueidis.Completed) {
	b.Helper()
	for _, r := range c.DoMulti(b.Context(), commands...) {
		if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) {
			b.Fatal(err)
		}
	}
}

// BenchmarkFlush measures batches of a thousand entries of a board of 100,000, each of which
// changes, against what somebody would write who needs none of it: ZADD in a pipeline, with
// scores that are doubles; and against the commands of the script in a pipeline.
func BenchmarkFlush(b *testing.B) {
	server := enginetest.Redis(b)
	raw := rawClient(b, server.Addr())
	random := rand.New(rand.NewPCG(2, 2))
	pick := func() []int { return random.Perm(measured)[:flushed] }
	var used time.Duration
	rate := func(b *testing.B) {
		b.ReportMetric(float64(b.N)*flushed/b.Elapsed().Seconds(), "entries/s")
		b.ReportMetric(float64((serverTime(b, server)-used).Nanoseconds())/float64(b.N)/flushed/1000, "server-µs/entry")
	}

	b.Run("zadd", func(b *testing.B) {
		key := enginetest.Prefix(b) + "z"
		for first := 0; first < measured; first += flushed {
			commands := make([]rueidis.Completed, flushed)
			for i := range commands {
				commands[i] = raw.B().Zadd().Key(key).ScoreMember().ScoreMember(random.Float64(), storetest.EntryKey(first+i)).Build()
			}
			run(b, raw, commands)
		}
		used = serverTime(b, server)
		for b.Loop() {
			commands := make([]rueidis.Completed, 0, flushed)
			for _, i := range pick() {
				commands = append(commands, raw.B().Zadd().Key(key).ScoreMember().ScoreMember(random.Float64(), storetest.EntryKey(i)).Build())
			}
			run(b, raw, commands)
		}
		rate(b)
	})
	b.Run("commands", func(b *testing.B) {
		key := enginetest.Prefix(b)
		z, h := key+"z", key+"h"
		sequence := uint64(0)
		now := make([]string, measured)
		for first := 0; first < measured; first += flushed {
			var commands []rueidis.Completed
			for i := range flushed {
				sequence++
				position := positionOf(random.Uint64(), sequence)
				now[first+i] = position
				commands = append(commands, raw.B().Zadd().Key(z).ScoreMember().ScoreMember(0, position+storetest.EntryKey(first+i)).Build(),
					raw.B().Hset().Key(h).FieldValue().FieldValue(storetest.EntryKey(first+i), position).Build())
			}
			run(b, raw, commands)
		}
		used = serverTime(b, server)
		for b.Loop() {
			commands := make([]rueidis.Completed, 0, 4*flushed)
			for _, i := range pick() {
				sequence++
				name, position := storetest.EntryKey(i), positionOf(random.Uint64(), sequence)
				commands = append(commands,
					raw.B().Hget().Key(h).Field(name).Build(),
					raw.B().Zrem().Key(z).Member(now[i]+name).Build(),
					raw.B().Zadd().Key(z).ScoreMember().ScoreMember(0, position+name).Build(),
					raw.B().Hset().Key(h).FieldValue().FieldValue(name, position).Build())
				now[i] = position
			}
			run(b, raw, commands)
		}
		rate(b)
	})
	for _, rule := range []store.Rule{store.Best, store.Last, store.Sum} {
		b.Run(rule.String(), func(b *testing.B) {
			boards := open(b, server.URL(enginetest.Prefix(b)), nil).Boards()
			fillBoard(b, boards)
			n := uint64(0)
			used = serverTime(b, server)
			for b.Loop() {
				n++
				batch := store.Batch{Rule: rule, Source: "s", N: n}
				for _, i := range pick() {
					batch.Entries = append(batch.Entries, store.Submission{
						Key: storetest.EntryKey(i), Score: int64(n) * 1_000_000, Stamp: store.Stamp{Epoch: 1, Revision: n},
					})
				}
				if _, err := boards.Merge(b.Context(), "top", batch); err != nil {
					b.Fatal(err)
				}
			}
			rate(b)
		})
	}
}

func positionOf(place, sequence uint64) string {
	return string(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, place), sequence))
}

// serverTime is the time of a processor that the server has used for commands since it began:
// other work on the machine does not count.
func serverTime(b *testing.B, server *engines.Redis) time.Duration {
	b.Helper()
	answer, err := server.Do(b.Context(), "INFO", "cpu")
	if err != nil {
		b.Fatal(err)
	}
	text, _ := answer.(string)
	total := 0.0
	for _, name := range []string{"used_cpu_user_main_thread:", "used_cpu_sys_main_thread:"} {
		_, rest, _ := strings.Cut(text, name)
		rest, _, _ = strings.Cut(rest, "\r")
		seconds, err := strconv.ParseFloat(rest, 64)
		if err != nil {
			b.Fatal(err)
		}
		total += seconds
	}
	return time.Duration(total * float64(time.Second))
}

// BenchmarkBatch tells how long a batch holds up the server in which every entry changes, also
// when somebody walks the board and all that changes is logged.
func BenchmarkBatch(b *testing.B) {
	server := enginetest.Redis(b)
	for _, size := range []int{100, flushed, store.MaxMerge} {
		for _, walked := range []bool{false, true} {
			b.Run(fmt.Sprintf("size=%d/walked=%v", size, walked), func(b *testing.B) {
				boards := open(b, server.URL(enginetest.Prefix(b)), nil).Boards()
				fillBoard(b, boards)
				random := rand.New(rand.NewPCG(3, 3))
				used := time.Duration(0)
				for n := int64(1); b.Loop(); n++ {
					if walked {
						if _, _, err := boards.Walk(b.Context(), "top", store.Cursor{}, 10); err != nil {
							b.Fatal(err)
						}
					}
					batch := store.Batch{Rule: store.Best}
					for _, i := range random.Perm(measured)[:size] {
						batch.Entries = append(batch.Entries, store.Submission{Key: storetest.EntryKey(i), Score: n*1_000_000 + random.Int64N(1_000_000)})
					}
					before := serverTime(b, server)
					if _, err := boards.Merge(b.Context(), "top", batch); err != nil {
						b.Fatal(err)
					}
					used += serverTime(b, server) - before
				}
				b.ReportMetric(float64(used.Microseconds())/float64(b.N)/1000, "server-ms")
			})
		}
	}
}

// BenchmarkRank measures the exact rank of anybody against one ZREVRANK on a plain board, on the
// same connection, one call after the other; and pages.
func BenchmarkRank(b *testing.B) {
	server := enginetest.Redis(b)
	raw := rawClient(b, server.Addr())
	random := rand.New(rand.NewPCG(4, 4))
	measure := func(name string, call func() error) {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			used := serverTime(b, server)
			for b.Loop() {
				begun := time.Now()
				if err := call(); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
			b.ReportMetric(float64((serverTime(b, server)-used).Nanoseconds())/float64(b.N)/1000, "server-µs")
		})
	}
	key := enginetest.Prefix(b) + "z"
	for first := 0; first < measured; first += flushed {
		commands := make([]rueidis.Completed, flushed)
		for i := range commands {
			commands[i] = raw.B().Zadd().Key(key).ScoreMember().ScoreMember(random.Float64(), storetest.EntryKey(first+i)).Build()
		}
		run(b, raw, commands)
	}
	boards := open(b, server.URL(enginetest.Prefix(b)), nil).Boards()
	fillBoard(b, boards)
	measure("zrevrank", func() error {
		return raw.Do(b.Context(), raw.B().Zrevrank().Key(key).Member(storetest.EntryKey(random.IntN(measured))).Build()).Error()
	})
	for _, mode := range []store.RankMode{store.Ordinal, store.Competition} {
		measure(mode.String(), func() error {
			_, _, err := boards.Standing(b.Context(), "top", storetest.EntryKey(random.IntN(measured)), mode)
			return err
		})
	}
	measure("around5", func() error {
		_, err := boards.Around(b.Context(), "top", storetest.EntryKey(random.IntN(measured)), 5, store.Ordinal)
		return err
	})
	measure("page50", func() error {
		_, err := boards.Page(b.Context(), "top", random.Int64N(measured-50), 50, store.Ordinal)
		return err
	})
	measure("dense1000", func() error {
		_, err := boards.Page(b.Context(), "top", 1000, 1, store.Dense)
		return err
	})
}

// BenchmarkMemory tells what an entry takes of the server's memory, beside what it takes in a
// plain ZSET, and with a stamp.
func BenchmarkMemory(b *testing.B) {
	server := enginetest.Redis(b)
	raw := rawClient(b, server.Addr())
	size := func(key string) int64 {
		n, err := raw.Do(b.Context(), raw.B().MemoryUsage().Key(key).Samples(0).Build()).AsInt64()
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	for b.Loop() {
		plain := enginetest.Prefix(b) + "z"
		for first := 0; first < measured; first += flushed {
			commands := make([]rueidis.Completed, flushed)
			for i := range commands {
				commands[i] = raw.B().Zadd().Key(plain).ScoreMember().ScoreMember(float64(i), storetest.EntryKey(first+i)).Build()
			}
			run(b, raw, commands)
		}
		e := open(b, server.URL(enginetest.Prefix(b)), nil)
		fillBoard(b, e.Boards())
		b.ReportMetric(float64(size(plain))/measured, "plain-B/entry")
		b.ReportMetric(float64(size(e.BoardKey("top", "standings"))+size(e.BoardKey("top", "entries")))/measured, "B/entry")
		for first := 0; first < measured; first += store.MaxMerge {
			batch := store.Batch{Rule: store.Last}
			for i := range store.MaxMerge {
				batch.Entries = append(batch.Entries, store.Submission{Key: storetest.EntryKey(first + i), Score: int64(i), Stamp: store.Stamp{Epoch: 1, Revision: 1}})
			}
			if _, err := e.Boards().Merge(b.Context(), "top", batch); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(size(e.BoardKey("top", "standings"))+size(e.BoardKey("top", "entries")))/measured, "stamped-B/entry")
	}
}
