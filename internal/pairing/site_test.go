package pairing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/internal/pairing"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	markKey = "pairing/fleet"
	signKey = "pairing/fast"
)

// engine is a record map that all processes of a test reach.
func engine() store.Records { return memstore.New(nil).Records() }

// apart is what a process was given whose fast part is another engine at a place.
func apart(place string) pairing.Given {
	return pairing.Given{Apart: true, Space: "Redis, database 0, prefix shoal", Place: place}
}

// dump is all that is stored.
func dump(t *testing.T, records store.Records) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for rec, err := range records.Scan(t.Context(), store.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		out[rec.Key] = rec.Version.String() + " " + string(rec.Value)
	}
	return out
}

// forget takes the memory of an engine.
func forget(t *testing.T, records store.Records) {
	t.Helper()
	for key := range dump(t, records) {
		must(t, records.Commit(t.Context(), store.Tx{{Key: key, Op: store.Delete}})[0])
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settled is the id that a process agrees on which must be let in.
func settled(t *testing.T, p pairing.Parts, g pairing.Given) pairing.Mark {
	t.Helper()
	m, err := pairing.Settle(t.Context(), p, g)
	if err != nil {
		t.Fatalf("%+v is refused: %v", g, err)
	}
	return m
}

// refused opens with what must be refused, and leave all as it was.
func refused(t *testing.T, p pairing.Parts, g pairing.Given, want string) {
	t.Helper()
	before := [2]map[string]string{dump(t, p.Durable), dump(t, p.Fast)}
	m, err := pairing.Settle(t.Context(), p, g)
	if !errors.Is(err, pairing.ErrRefused) || !strings.Contains(err.Error(), want) {
		t.Errorf("%+v: %+v, %v; want to be refused with %q", g, m, err, want)
	}
	for i, records := range []store.Records{p.Durable, p.Fast} {
		if got := dump(t, records); !equal(before[i], got) {
			t.Errorf("refused, and yet written: %v, before %v", got, before[i])
		}
	}
}

func equal(a, b map[string]string) bool {
	for key := range b {
		if a[key] != b[key] {
			return false
		}
	}
	return len(a) == len(b)
}

// living is a process that is alive from now until the test ends; its log is the answer.
func living(t *testing.T, p pairing.Parts, g pairing.Given) *journal {
	t.Helper()
	log := new(journal)
	p.Logger = slog.New(slog.NewTextHandler(log, nil))
	w := new(pairing.Watcher)
	w.Start(t.Context(), p, settled(t, p, g), g)
	t.Cleanup(func() {
		if err := w.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return log
}

// journal is a log that is read while it is written.
type journal struct {
	mu struct {
		sync.Mutex
		bytes.Buffer
	}
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.String()
}

// behind are the parts as a process sees them whose calls have faults.
func behind(f *faultstore.Faults, p pairing.Parts) pairing.Parts {
	p.Durable, p.Fast = f.Records(p.Durable, faultstore.Durable), f.Records(p.Fast, faultstore.Fast)
	return p
}
