package shoal_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

// This file measures what players wait for between two processes of one machine that share a
// folder: the test's own, and the same binary started again as the other game server.

// folderVariable tells the binary to be the other server.
const folderVariable = "SHOAL_BENCH_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(folderVariable); folder != "" {
		if err := otherServer(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// otherServer loads what it is told to, one key a line, commits, syncs, and says so.
func otherServer(folder string) error {
	ctx := context.Background()
	node, closeNode, err := join(ctx, folder)
	if err != nil {
		return err
	}
	defer closeNode()
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		s, err := node.Set("players").Load(ctx, lines.Text(), nil)
		if err != nil {
			return err
		}
		if _, err := s.Transact(profile.Source{}, doc.Increment("/coins", 1)); err != nil {
			return err
		}
		if err := s.Sync(ctx); err != nil {
			return err
		}
		fmt.Println("loaded")
	}
	return lines.Err()
}

// join starts a node on a folder.
func join(ctx context.Context, folder string) (*shoal.Node, func(), error) {
	st, err := shoal.Open(ctx, folder)
	if err != nil {
		return nil, nil, err
	}
	o := shoal.Options{Sets: map[string]*profile.Options{"players": {Template: doc.Must(map[string]any{"coins": 0})}}}
	o.Node.Logger = slog.New(slog.DiscardHandler)
	node, err := shoal.Start(ctx, st, &o)
	if err != nil {
		return nil, nil, err
	}
	return node, func() {
		_, _ = node.Close(ctx)
		_ = st.Close(ctx)
	}, nil
}

// server is the other process.
type server struct {
	b   *testing.B
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Scanner
}

func startServer(b *testing.B, folder string) *server {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), folderVariable+"="+folder)
	cmd.Stderr = os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stdin = r
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	_ = r.Close()
	s := &server{b: b, cmd: cmd, in: w, out: bufio.NewScanner(out)}
	s.expect("ready")
	return s
}

func (s *server) expect(word string) {
	s.b.Helper()
	if !s.out.Scan() || s.out.Text() != word {
		s.b.Fatalf("the other server said %q, %q expected", s.out.Text(), word)
	}
}

// load has the other server load a key, change it, and sync.
func (s *server) load(key string) {
	s.b.Helper()
	if _, err := fmt.Fprintln(s.in, key); err != nil {
		s.b.Fatal(err)
	}
	s.expect("loaded")
}

// stop ends it in order.
func (s *server) stop() {
	_ = s.in.Close()
	_ = s.cmd.Wait()
}

// kill ends it as a crash does.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = s.in.Close()
}

func reportSpread(b *testing.B, each []time.Duration) {
	b.Helper()
	slices.Sort(each)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(each[len(each)/2]), "p50-ms")
	b.ReportMetric(ms(each[len(each)*99/100]), "p99-ms")
	b.ReportMetric(ms(each[len(each)-1]), "max-ms")
}

// BenchmarkHandOver is a Load of a profile that the other process holds, with a change in it
// that is not saved.
func BenchmarkHandOver(b *testing.B) {
	folder := b.TempDir()
	node, closeNode, err := join(b.Context(), folder)
	if err != nil {
		b.Fatal(err)
	}
	defer closeNode()
	other := startServer(b, folder)
	defer other.stop()
	var each []time.Duration
	for b.Loop() {
		b.StopTimer()
		other.load("u")
		b.StartTimer()
		begun := time.Now()
		s, err := node.Set("players").Load(b.Context(), "u", nil)
		if err != nil {
			b.Fatal(err)
		}
		each = append(each, time.Since(begun))
		if how := s.Loaded().How; how != profile.Granted {
			b.Fatalf("loaded by %v", s.Loaded())
		}
	}
	reportSpread(b, each)
}

// BenchmarkTakeover is the time from the kill of the process that holds a profile to its
// session here, with what was synced in it. DeadAfter is 4 s.
func BenchmarkTakeover(b *testing.B) {
	folder := b.TempDir()
	node, closeNode, err := join(b.Context(), folder)
	if err != nil {
		b.Fatal(err)
	}
	defer closeNode()
	var each []time.Duration
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		key := fmt.Sprintf("u%d", i)
		other := startServer(b, folder)
		other.load(key)
		// The node here has beaten long enough to judge, and the kill falls anywhere between
		// two beats.
		if err := clock.Sleep(b.Context(), clock.System(), 1700*time.Millisecond+time.Duration(i%7)*170*time.Millisecond); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		begun := time.Now()
		other.kill()
		s, err := node.Set("players").Load(b.Context(), key, nil)
		if err != nil {
			b.Fatal(err)
		}
		each = append(each, time.Since(begun))
		if l := s.Loaded(); l.Evidence == "" || !strings.Contains(s.Data().String(), `"coins":1`) {
			b.Fatalf("%+v, %v", l, s.Data())
		}
	}
	reportSpread(b, each)
}

// BenchmarkSaves are explicit saves by 256 sessions of 2 KB at once on the embedded store; and
// the same writes by hand, straight to the store, in the same run.
func BenchmarkSaves(b *testing.B) {
	const writers = 256
	template := doc.Must(map[string]any{"coins": 0, "note": strings.Repeat("x", 2000)})
	b.Run("store", func(b *testing.B) {
		st, err := shoal.Open(b.Context(), b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = st.Close(context.Background()) }()
		value := template.Encode()
		versions := make([]store.Version, writers)
		each(b, writers, func(i int) error {
			next := versions[i] + 1
			err := st.Durable().Commit(b.Context(), store.Tx{{
				Key: fmt.Sprintf("profile/players/u%d", i), Op: store.Put, Value: value, If: store.Is(versions[i]), Version: next,
			}})[0]
			versions[i] = next
			return err
		})
	})
	b.Run("sessions", func(b *testing.B) {
		st, err := shoal.Open(b.Context(), b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = st.Close(context.Background()) }()
		o := shoal.Options{Sets: map[string]*profile.Options{"players": {Template: template, JournalEvery: -1}}}
		o.Node.Logger = slog.New(slog.DiscardHandler)
		node, err := shoal.Start(b.Context(), st, &o)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _, _ = node.Close(context.Background()) }()
		sessions := make([]*profile.Session, writers)
		for i := range sessions {
			if sessions[i], err = node.Set("players").Load(b.Context(), fmt.Sprintf("u%d", i), nil); err != nil {
				b.Fatal(err)
			}
		}
		each(b, writers, func(i int) error {
			if _, err := sessions[i].Transact(profile.Source{}, doc.Increment("/coins", 1)); err != nil {
				return err
			}
			return sessions[i].Save(b.Context())
		})
	})
}

// each has so many goroutines do b.N things together.
func each(b *testing.B, n int, do func(i int) error) {
	b.Helper()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for range (b.N + n - 1 - i) / n {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}
