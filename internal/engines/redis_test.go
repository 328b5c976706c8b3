package engines_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// do sends a command that must succeed.
func do(t *testing.T, r *engines.Redis, args ...string) any {
	t.Helper()
	answer, err := r.Do(t.Context(), args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return answer
}

// again kills a server and starts it.
func again(t *testing.T, r *engines.Redis) {
	t.Helper()
	if err := errors.Join(r.Kill(), r.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func TestRedisLosesItsMemory(t *testing.T) {
	t.Parallel()
	r := enginetest.OwnRedis(t, nil)
	do(t, r, "SET", "k", "1")
	again(t, r)
	if got := do(t, r, "GET", "k"); got != nil {
		t.Fatalf("after a kill: %v", got)
	}
}

func TestRedisGoesBackInTime(t *testing.T) {
	t.Parallel()
	r := enginetest.OwnRedis(t, nil)
	do(t, r, "SET", "k", "1")
	if err := r.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	do(t, r, "SET", "k", "2")
	again(t, r)
	if got := do(t, r, "GET", "k"); got != "1" {
		t.Fatalf("after going back: %v, want 1", got)
	}
	if err := errors.Join(r.Forget(), r.Forget()); err != nil {
		t.Fatal(err)
	}
	again(t, r)
	if got := do(t, r, "GET", "k"); got != nil {
		t.Fatalf("after forgetting: %v", got)
	}
}

func TestRedisAppendOnlyKeeps(t *testing.T) {
	t.Parallel()
	r := enginetest.OwnRedis(t, &engines.RedisOptions{AppendOnly: true, Settings: map[string]string{"maxmemory": "64mb"}})
	do(t, r, "SET", "k", "1")
	again(t, r)
	if got := do(t, r, "GET", "k"); got != "1" {
		t.Fatalf("after a kill: %v, want 1", got)
	}
	if diff := cmp.Diff([]any{"maxmemory", "67108864"}, do(t, r, "CONFIG", "GET", "maxmemory")); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

func TestRedisPauseHoldsIt(t *testing.T) {
	t.Parallel()
	r := enginetest.OwnRedis(t, nil)
	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.Do(ctx, "PING"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a server that sleeps said %v", err)
	}
	if err := r.Continue(); err != nil {
		t.Fatal(err)
	}
	if got := do(t, r, "PING"); got != "PONG" {
		t.Fatalf("PING = %v", got)
	}
	if err := errors.Join(r.Stop(), r.Stop(), r.Kill()); err != nil {
		t.Fatal(err)
	}
	if err := r.Pause(); err == nil {
		t.Fatal("a server that has ended was paused")
	}
}

func TestRedisAnswers(t *testing.T) {
	t.Parallel()
	r, prefix := enginetest.Redis(t), enginetest.Prefix(t)
	if diff := cmp.Diff(int64(2), do(t, r, "RPUSH", prefix+"l", "a", "b")); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]any{"a", "b"}, do(t, r, "LRANGE", prefix+"l", "0", "-1")); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	var refused engines.RedisError
	if _, err := r.Do(t.Context(), "GET", prefix+"l"); !errors.As(err, &refused) {
		t.Fatalf("GET of a list: %v", err)
	}
	if want := "redis://" + r.Addr() + "?prefix=a%2Fb"; r.URL("a/b") != want {
		t.Fatalf("URL = %s, want %s", r.URL("a/b"), want)
	}
}

func TestRedisPrefixesAreDeleted(t *testing.T) {
	r := enginetest.Redis(t)
	var name string
	t.Run("inner", func(t *testing.T) {
		name = enginetest.Prefix(t)
		do(t, r, "SET", name+"k", "1")
	})
	if got := do(t, r, "GET", name+"k"); got != nil {
		t.Fatalf("%sk = %v", name, got)
	}
}

func TestSentinelFailsOver(t *testing.T) {
	t.Parallel()
	s := enginetest.Sentinel(t, nil)
	first := s.Nodes()[0]
	if got, err := s.Master(t.Context()); err != nil || got != first {
		t.Fatalf("Master = %v, %v", got, err)
	}
	do(t, first, "SET", "k", "1")
	if err := s.FailOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := s.Master(t.Context())
	if err != nil || second != s.Nodes()[1] {
		t.Fatalf("Master = %v, %v", second, err)
	}
	do(t, second, "SET", "k", "2")
	if want := "redis+sentinel://" + s.Addr() + "/shoal?prefix=p"; s.URL("p") != want {
		t.Fatalf("URL = %s, want %s", s.URL("p"), want)
	}
}

func TestSentinelReplacesADeadMaster(t *testing.T) {
	t.Parallel()
	s := enginetest.Sentinel(t, nil)
	first := s.Nodes()[0]
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitMaster(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	do(t, s.Nodes()[1], "SET", "k", "1")
}

func TestClusterSharesSlots(t *testing.T) {
	t.Parallel()
	c := enginetest.Cluster(t)
	if n := len(c.Nodes()); n != 3 {
		t.Fatalf("%d nodes", n)
	}
	var moved engines.RedisError
	served := 0
	for _, r := range c.Nodes() {
		switch _, err := r.Do(t.Context(), "SET", "k", "1"); {
		case err == nil:
			served++
		case !errors.As(err, &moved):
			t.Fatal(err)
		}
	}
	if served != 1 {
		t.Fatalf("%d masters serve one key", served)
	}
}

func TestOwnClusterSurvivesARestart(t *testing.T) {
	t.Parallel()
	c := enginetest.OwnCluster(t, &engines.RedisOptions{Settings: map[string]string{"cluster-require-full-coverage": "no"}})
	r := c.Nodes()[0] // slot 12182 ("foo") is the third's, 3300 ("b") the first's
	do(t, r, "SET", "b", "1")
	again(t, r)
	if _, err := r.Do(t.Context(), "GET", "b"); err != nil {
		var refused engines.RedisError // it may take a moment until it knows the others again
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
	}
}
