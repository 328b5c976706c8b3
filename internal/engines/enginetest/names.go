package enginetest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/shoalworks/shoal/internal/engines"
)

// used counts the names that were given out.
var used atomic.Int64

func fresh() string { return fmt.Sprintf("t%d_%dx", os.Getpid(), used.Add(1)) }

// Schema is a fresh name of a schema of [Postgres], which is dropped when the test ends.
func Schema(t testing.TB) string {
	t.Helper()
	p, name := Postgres(t), fresh()
	t.Cleanup(func() {
		if err := p.Exec(context.WithoutCancel(t.Context()), "DROP SCHEMA IF EXISTS "+name+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	return name
}

// Prefix is a fresh prefix of keys of [Redis] or [Cluster]; what has it in Redis is deleted
// when the test ends.
func Prefix(t testing.TB) string {
	t.Helper()
	name := fresh()
	t.Cleanup(func() {
		if !redis.ran {
			return
		}
		if err := forget(context.WithoutCancel(t.Context()), redis.engine, name); err != nil {
			t.Error(err)
		}
	})
	return name
}

// forget deletes all keys with a prefix.
func forget(ctx context.Context, r *engines.Redis, prefix string) error {
	const script = `local cursor, n = '0', 0
repeat
  local found = redis.call('SCAN', cursor, 'MATCH', ARGV[1] .. '*', 'COUNT', 1000)
  cursor = found[1]
  for _, key in ipairs(found[2]) do n = n + redis.call('UNLINK', key) end
until cursor == '0'
return n`
	_, err := r.Do(ctx, "EVAL", script, strconv.Itoa(0), prefix)
	return err
}
