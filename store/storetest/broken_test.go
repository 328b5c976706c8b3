package storetest_test

import (
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/storetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(brokenName) != "" {
		os.Exit(m.Run()) // a broken driver may well leak
	}
	goleak.VerifyTestMain(m)
}

// brokenName is the variable that tells a child process which broken driver to run.
const brokenName = "STORETEST_BROKEN"

// broken is a driver with one fault, which one topic of a suite has to find.
type broken struct {
	name, topic string
	records     func() func(store.Records) store.Records // for each store, a decorator of handles
	boards      func() func(store.Boards) store.Boards
	bus         func() func(store.Bus) store.Bus
}

func allBroken() []broken {
	all := append(brokenConditions(), brokenReads()...)
	all = append(all, brokenContexts()...)
	all = append(all, brokenRules()...)
	all = append(all, brokenLives()...)
	all = append(all, brokenRanks()...)
	all = append(all, brokenHides()...)
	all = append(all, brokenWalks()...)
	all = append(all, brokenChecks()...)
	return append(all, brokenBuses()...)
}

// TestBrokenDriver runs one broken driver through one topic, in a child process only.
func TestBrokenDriver(t *testing.T) {
	for _, b := range allBroken() {
		if b.name != os.Getenv(brokenName) {
			continue
		}
		if b.records != nil {
			fresh := harness(b.records, (*memstore.Engine).Records)
			storetest.Records(t, fresh)
			t.Run("troubles", func(t *testing.T) { troubles(t, fresh(t)) })
		}
		if b.boards != nil {
			storetest.Boards(t, harness(b.boards, (*memstore.Engine).Boards))
		}
		if b.bus != nil {
			storetest.Bus(t, harness(b.bus, (*memstore.Engine).Bus))
		}
	}
}

// ahead is the system's clock, which can be set forward.
type ahead struct {
	clock.Clock
	by atomic.Int64
}

func (a *ahead) Now() time.Time { return a.Clock.Now().Add(time.Duration(a.by.Load())) }

// harness decorates each handle of a fresh engine.
func harness[T any](fresh func() func(T) T, open func(*memstore.Engine) T) func(*testing.T) storetest.Harness[T] {
	return func(*testing.T) storetest.Harness[T] {
		c := &ahead{Clock: clock.System()}
		e, decorate := memstore.New(&memstore.Options{Clock: c}), fresh()
		return storetest.Harness[T]{
			Open:    func(*testing.T) T { return decorate(open(e)) },
			Shared:  true,
			Reopens: true,
			Pass:    func(_ *testing.T, d time.Duration) { c.by.Add(int64(d)) },
		}
	}
}

// TestSuiteFindsBrokenDrivers runs the suite on drivers that each break one promise, in
// processes of their own, and fails when one passes.
func TestSuiteFindsBrokenDrivers(t *testing.T) {
	names := make(map[string]bool)
	for _, b := range allBroken() {
		if names[b.name] {
			t.Fatalf("two broken drivers have the name %s", b.name)
		}
		names[b.name] = true
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenDriver$/^"+b.topic+"$", "-test.failfast", "-test.timeout=2m", "-rapid.nofailfile")
			child.Env = append(os.Environ(), brokenName+"="+b.name)
			out, err := child.CombinedOutput()
			if err == nil {
				t.Errorf("the suite's topic %s passes it:\n%s", b.topic, out)
			} else if !strings.Contains(string(out), "--- FAIL: TestBrokenDriver/"+b.topic) {
				t.Errorf("it ends otherwise than by failing its topic %s: %v\n%s", b.topic, err, out)
			}
		})
	}
}
