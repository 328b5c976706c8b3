package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/internal/engines"
)

// common is a server that all tests of the process use.
type common[E interface{ Close() error }] struct {
	start func(context.Context) (E, error)

	once   sync.Once
	ran    bool
	engine E
	err    error
}

// The servers of this process: there is no other place that lives as long as it does.
var (
	postgres = &common[*engines.Postgres]{start: func(ctx context.Context) (*engines.Postgres, error) {
		return engines.StartPostgres(ctx, nil)
	}}
	redis = &common[*engines.Redis]{start: func(ctx context.Context) (*engines.Redis, error) {
		return engines.StartRedis(ctx, nil)
	}}
	cluster = &common[*engines.Cluster]{start: func(ctx context.Context) (*engines.Cluster, error) {
		return engines.StartCluster(ctx, nil)
	}}
)

// get is the server; the first one who asks starts it.
func (c *common[E]) get(t testing.TB) E {
	t.Helper()
	c.once.Do(func() {
		c.engine, c.err = c.start(context.WithoutCancel(t.Context()))
		c.ran = c.err == nil
	})
	demand(t, c.err)
	return c.engine
}

// close ends the server if there is one.
func (c *common[E]) close() error {
	if !c.ran {
		return nil
	}
	c.ran = false
	return c.engine.Close()
}

// demand ends the test when its server could not be started.
func demand(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, engines.ErrAbsent) && os.Getenv("TEST_ENGINES") != "require":
		t.Skipf("%v (make engines installs it)", err)
	default:
		t.Fatal(err)
	}
}

// tests runs a package's tests and then ends the servers.
type tests struct{ *testing.M }

// Run is the exit code: that of the tests, or 1 when a server could not be ended.
func (m tests) Run() int {
	code := m.M.Run()
	if err := errors.Join(postgres.close(), redis.close(), cluster.close()); err != nil {
		fmt.Fprintln(os.Stderr, "enginetest:", err)
		code = max(code, 1)
	}
	return code
}

// Main runs the tests of a package that uses this one, ends the servers, and fails when a
// goroutine is left. It exits the process.
func Main(m *testing.M, options ...goleak.Option) { goleak.VerifyTestMain(tests{m}, options...) }

// Postgres is the process's PostgreSQL, without fsync, for at most 200 connections of all
// tests together.
func Postgres(t testing.TB) *engines.Postgres { t.Helper(); return postgres.get(t) }

// Redis is the process's Redis, which keeps nothing on disk.
func Redis(t testing.TB) *engines.Redis { t.Helper(); return redis.get(t) }

// Cluster is the process's Redis Cluster of three masters.
func Cluster(t testing.TB) *engines.Cluster { t.Helper(); return cluster.get(t) }
