package sqlitestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// The tests between processes start this test binary again. The child does one of the jobs
// below on the folder, speaks in lines on its standard output, and ends when its standard
// input does.

const (
	childJob    = "SQLITESTORE_TEST_JOB"
	childFolder = "SQLITESTORE_TEST_FOLDER"
	childName   = "SQLITESTORE_TEST_NAME"
)

func TestMain(m *testing.M) {
	if job := os.Getenv(childJob); job != "" {
		os.Exit(childMain(job))
	}
	goleak.VerifyTestMain(m)
}

// child is a started process.
type child struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

// startChild starts the job on the folder. It is killed when the test ends.
func startChild(t testing.TB, job, folder, name string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), self)
	command.Env = append(os.Environ(), childJob+"="+job, childFolder+"="+folder, childName+"="+name)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{command: command, input: input, output: bufio.NewReader(output)}
	t.Cleanup(c.kill)
	return c
}

// kill is kill -9, and waits for the end.
func (c *child) kill() {
	_ = c.command.Process.Kill() // it may have ended
	_ = c.command.Wait()
}

// line is the child's next line; ok is false when it has ended.
func (c *child) line() (line string, ok bool) {
	line, err := c.output.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err == nil
}

// expect reads one line and fails when it is another.
func (c *child) expect(t testing.TB, want string) {
	t.Helper()
	if got, ok := c.line(); !ok || got != want {
		t.Fatalf("the child said %q (%v), want %q", got, ok, want)
	}
}

// finish ends the child's input and waits for it to end well.
func (c *child) finish(t testing.TB) {
	t.Helper()
	if err := c.input.Close(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, ok := c.line(); !ok {
			break
		}
	}
	if err := c.command.Wait(); err != nil {
		t.Fatalf("the child ended with %v", err)
	}
}

// childMain does a job and answers the exit code.
func childMain(job string) int {
	jobs := map[string]func(ctx context.Context, e *sqlitestore.Engine, name string) error{
		"load": childLoad, "merge": childMerge, "count": childCount, "hog": childHog, "echo": childEcho,
		"stir": childStir,
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // the end of the input is the end of the job
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	e, err := sqlitestore.Open(ctx, os.Getenv(childFolder), nil)
	if err == nil {
		err = jobs[job](ctx, e, os.Getenv(childName))
	}
	if err == nil {
		err = e.Close(context.WithoutCancel(ctx))
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "child:", job, err)
		return 1
	}
	return 0
}

// say writes a line at once and whole, so that a killed child never says half.
func say(format string, args ...any) {
	_, _ = os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n")
}

// childLoad updates pairs of keys in one transaction each, from many goroutines, and says
// what was acknowledged.
func childLoad(ctx context.Context, e *sqlitestore.Engine, name string) error {
	var group sync.WaitGroup
	failed := make(chan error, 16)
	for g := range cap(failed) {
		group.Go(func() {
			a, b := fmt.Sprintf("load/%s/%d/a", name, g), fmt.Sprintf("load/%s/%d/b", name, g)
			got, err := e.Durable().Get(ctx, a)
			if err != nil {
				failed <- err
				return
			}
			for v := got[0].Version; ctx.Err() == nil; v++ {
				value := []byte(strconv.FormatUint(uint64(v+1), 10) + strings.Repeat(" ", 1000))
				err := e.Durable().Commit(ctx, store.Tx{
					{Key: a, Op: store.Put, Value: value, If: store.Is(v), Version: v + 1},
					{Key: b, Op: store.Put, Value: value, If: store.Is(v), Version: v + 1},
				})[0]
				if err != nil {
					failed <- err
					return
				}
				say("%s %d", a, v+1)
			}
		})
	}
	group.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// What was acknowledged before kill -9 is there, pairs are whole, and versions are right.
func TestKilledUnderLoad(t *testing.T) {
	folder := t.TempDir()
	acknowledged := make(map[string]store.Version)
	random := rand.New(rand.NewPCG(7, 7))
	for round := range 4 {
		c := startChild(t, "load", folder, "x")
		for range 200 + random.IntN(800) {
			hear(t, c, acknowledged)
		}
		c.kill()
		for { // what it said before it died counts
			line, ok := c.line()
			if !ok {
				break
			}
			note(t, line, acknowledged)
		}
		e := open(t, folder, nil)
		for a, v := range acknowledged {
			b := strings.TrimSuffix(a, "a") + "b"
			got, err := e.Durable().Get(t.Context(), a, b)
			if err != nil {
				t.Fatal(err)
			}
			// One write more may have been applied without an answer.
			if got[0].Version != v && got[0].Version != v+1 || got[1].Version != got[0].Version {
				t.Fatalf("round %d: %s and %s have versions %d and %d, %d was acknowledged", round, a, b, got[0].Version, got[1].Version, v)
			}
			if !strings.HasPrefix(string(got[1].Value), strconv.FormatUint(uint64(got[1].Version), 10)+" ") {
				t.Fatalf("%s of version %d holds %.20q", b, got[1].Version, got[1].Value)
			}
		}
	}
}

// hear notes one acknowledgement of the child.
func hear(t *testing.T, c *child, acknowledged map[string]store.Version) {
	t.Helper()
	line, ok := c.line()
	if !ok {
		t.Fatal("the child ended by itself")
	}
	note(t, line, acknowledged)
}

func note(t *testing.T, line string, acknowledged map[string]store.Version) {
	t.Helper()
	key, number, _ := strings.Cut(line, " ")
	v, err := strconv.ParseUint(number, 10, 63)
	if err != nil {
		t.Fatalf("the child said %q", line)
	}
	acknowledged[key] = store.Version(v)
}

const countTo = 300

// childCount adds one to a shared number countTo times, by compare and set.
func childCount(ctx context.Context, e *sqlitestore.Engine, name string) error {
	random := rand.New(rand.NewPCG(uint64(len(name)), uint64(os.Getpid())))
	for n := 0; n < countTo; {
		got, err := e.Durable().Get(ctx, "shared")
		if err != nil {
			return err
		}
		value := 0
		if !got[0].Missing() {
			if value, err = strconv.Atoi(string(got[0].Value)); err != nil {
				return err
			}
		}
		err = e.Durable().Commit(ctx, store.Tx{{
			Key: "shared", Op: store.Put, Value: []byte(strconv.Itoa(value + 1)),
			If: store.Is(got[0].Version), Version: store.VersionFrom(random.Uint64()),
		}})[0]
		switch store.OutcomeOf(err) {
		case store.Done:
			n++
		case store.NotDone: // a conflict: again
		case store.Unknown:
			return err
		}
	}
	say("counted")
	return nil
}

// Two processes lose no update of each other.
func TestTwoProcessesLoseNothing(t *testing.T) {
	folder := t.TempDir()
	first, second := startChild(t, "count", folder, "a"), startChild(t, "count", folder, "b")
	first.expect(t, "counted")
	second.expect(t, "counted")
	got, err := open(t, folder, nil).Durable().Get(t.Context(), "shared")
	if err != nil || string(got[0].Value) != strconv.Itoa(2*countTo) {
		t.Fatalf("%s, %v, want %d", got[0].Value, err, 2*countTo)
	}
}

// childHog commits back to back: four goroutines, so that the next group is always waiting.
// It counts them.
func childHog(ctx context.Context, e *sqlitestore.Engine, name string) error {
	value := make([]byte, 2048)
	var group sync.WaitGroup
	failed := make(chan error, 4)
	for g := range cap(failed) {
		group.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				txs := []store.Tx{putTx(fmt.Sprintf("hog/groups/%s%d", name, g), store.Version(n), []byte(strconv.Itoa(n)))}
				for i := range 255 {
					txs = append(txs, putTx(fmt.Sprintf("hog/%s%d/%03d", name, g, i), store.Version(n), value))
				}
				if err := errors.Join(e.Durable().Commit(ctx, txs...)...); err != nil {
					failed <- err
					return
				}
				if n == 10 {
					say("hogging")
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// A process that writes back to back does not starve a single write of another: counted in
// groups that go by meanwhile, not in time.
func TestNoStarvation(t *testing.T) {
	folder := t.TempDir()
	hogs := []*child{startChild(t, "hog", folder, "a"), startChild(t, "hog", folder, "b")}
	for _, c := range hogs {
		for range 4 {
			c.expect(t, "hogging")
		}
	}
	e := open(t, folder, nil)
	const writes = 50
	total, worst := 0, 0
	for i := range writes {
		before := hogged(t, e)
		put(t, e.Durable(), "mine", "1", store.Version(i+1))
		passed := hogged(t, e) - before
		total, worst = total+passed, max(worst, passed)
	}
	t.Logf("%d groups of the others passed during %d writes, %d at most during one", total, writes, worst)
	if total > 10*writes || worst > 100 {
		t.Fatalf("%d groups of the others passed during %d writes, %d at most during one", total, writes, worst)
	}
}

// hogged is how many groups the hogs have written.
func hogged(t *testing.T, e *sqlitestore.Engine) (n int) {
	t.Helper()
	for r, err := range e.Durable().Scan(t.Context(), store.Prefix("hog/groups/")) {
		if err != nil {
			t.Fatal(err)
		}
		groups, err := strconv.Atoi(string(r.Value))
		if err != nil {
			t.Fatal(err)
		}
		n += groups
	}
	return n
}

// childMerge merges batches of random scores and says how many it has done.
func childMerge(ctx context.Context, e *sqlitestore.Engine, name string) error {
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	for n := 1; ctx.Err() == nil; n++ {
		entries := make([]store.Submission, 100)
		for i := range entries {
			entries[i] = store.Submission{Key: fmt.Sprintf("%s-%d", name, 100*random.IntN(200)+i), Score: random.Int64N(1000)}
		}
		entries[0] = store.Submission{Key: name + "-batches", Score: int64(n)}
		if _, err := e.Boards().Merge(ctx, "top", store.Batch{Rule: store.Best, Entries: entries}); err != nil {
			return err
		}
		say("%s-batches %d", name, n)
	}
	return nil
}

// Two processes merge into one board and are killed: no acknowledged batch is missing, and
// the counts are those of the entries.
func TestKilledWhileMerging(t *testing.T) {
	folder := t.TempDir()
	e := open(t, folder, nil)
	if _, err := e.Boards().Create(t.Context(), "top", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		acknowledged := make(map[string]store.Version)
		var children []*child
		for i := range 2 {
			children = append(children, startChild(t, "merge", folder, fmt.Sprintf("r%dc%d", round, i)))
		}
		for range 30 {
			for _, c := range children {
				hear(t, c, acknowledged)
			}
		}
		for _, c := range children {
			c.kill()
		}
		for key, n := range acknowledged {
			found, err := e.Boards().Scores(t.Context(), "top", key)
			if err != nil || found[key].Score < int64(n) {
				t.Fatalf("round %d: %s is %+v, %d was acknowledged (%v)", round, key, found[key], n, err)
			}
		}
		buckets, _, err := e.CheckCounts(t.Context())
		if err != nil || buckets < 2 {
			t.Fatalf("round %d: %d buckets, %v", round, buckets, err)
		}
	}
}

// childEcho answers every message on topic "to" with the same on topic "back".
func childEcho(ctx context.Context, e *sqlitestore.Engine, _ string) error {
	s, err := e.Bus().Subscribe(ctx, "to", func(payload []byte) {
		_ = e.Bus().Publish(ctx, "back", payload)
	})
	if err != nil {
		return err
	}
	defer s.Close()
	say("listening")
	<-ctx.Done()
	return nil
}
