package engines_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// rows is the first column of what a statement answers.
func rows(t *testing.T, addr, sql string) []string {
	t.Helper()
	c, err := pgconn.Connect(t.Context(), "postgres://shoal@"+addr+"/shoal?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	results, err := c.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range results {
		for _, row := range r.Rows {
			out = append(out, string(row[0]))
		}
	}
	return out
}

func TestPostgresKeepsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	p := enginetest.OwnPostgres(t, nil)
	if err := p.Exec(t.Context(), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func() error{"stop": p.Stop, "kill": p.Kill} {
		if err := end(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := p.Exec(t.Context(), "SELECT 1"); err == nil {
			t.Fatalf("%s: it still serves", name)
		}
		if err := p.Start(t.Context()); err != nil {
			t.Fatalf("%s: start: %v", name, err)
		}
		if diff := cmp.Diff([]string{"1"}, rows(t, p.Addr(), "SELECT n FROM kept")); diff != "" {
			t.Fatalf("%s: (-want +got)\n%s", name, diff)
		}
	}
	if err := p.Start(t.Context()); err == nil {
		t.Fatal("a server that runs was started again")
	}
}

func TestPostgresSortsByLanguage(t *testing.T) {
	t.Parallel()
	p := enginetest.Postgres(t)
	got := rows(t, p.Addr(), "SELECT x FROM unnest(ARRAY['a','B','c']) AS t(x) ORDER BY x; SELECT x FROM unnest(ARRAY['a','B','c']) AS t(x) ORDER BY x COLLATE \"C\"")
	if diff := cmp.Diff([]string{"a", "B", "c", "B", "a", "c"}, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

func TestPostgresPauseHoldsSessions(t *testing.T) {
	t.Parallel()
	p := enginetest.OwnPostgres(t, &engines.PostgresOptions{Settings: map[string]string{"max_connections": "33"}})
	if diff := cmp.Diff([]string{"33"}, rows(t, p.Addr(), "SHOW max_connections")); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Exec(ctx, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a server that sleeps said %v", err)
	}
	if err := p.Continue(); err != nil {
		t.Fatal(err)
	}
	if err := p.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
}

func TestPostgresSchemasAreDropped(t *testing.T) {
	p := enginetest.Postgres(t)
	var name string
	t.Run("inner", func(t *testing.T) {
		name = enginetest.Schema(t)
		if err := p.Exec(t.Context(), "CREATE SCHEMA "+name+"; CREATE TABLE "+name+".x (n int)"); err != nil {
			t.Fatal(err)
		}
	})
	if got := rows(t, p.Addr(), "SELECT count(*) FROM pg_namespace WHERE nspname = '"+name+"'"); got[0] != "0" {
		t.Fatalf("schema %s is still there", name)
	}
}

func TestPgBouncerPoolsTransactions(t *testing.T) {
	t.Parallel()
	p := enginetest.Postgres(t)
	b := enginetest.PgBouncer(t, p)
	if diff := cmp.Diff([]string{"1"}, rows(t, b.Addr(), "SELECT 1")); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "postgres://shoal@" + b.Addr() + "/shoal?schema=s1&sslmode=disable&pooler=transaction"; b.URL("s1") != want {
		t.Fatalf("URL = %s, want %s", b.URL("s1"), want)
	}
}

func TestEnginesThatAreAbsent(t *testing.T) {
	t.Setenv("PATH", "")
	for name, start := range map[string]func(context.Context) error{
		"postgres": func(ctx context.Context) error { _, err := engines.StartPostgres(ctx, nil); return err },
		"redis":    func(ctx context.Context) error { _, err := engines.StartRedis(ctx, nil); return err },
		"sentinel": func(ctx context.Context) error { _, err := engines.StartSentinel(ctx, nil); return err },
		"cluster":  func(ctx context.Context) error { _, err := engines.StartCluster(ctx, nil); return err },
		"pgbouncer": func(ctx context.Context) error {
			_, err := engines.StartPgBouncer(ctx, &engines.Postgres{})
			return err
		},
	} {
		if err := start(t.Context()); !errors.Is(err, engines.ErrAbsent) {
			t.Errorf("%s: %v, want ErrAbsent", name, err)
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	// A folder of its own for temporary files, so that what is left is ours.
	t.Setenv("TMPDIR", openFolder(t))
	p, err := engines.StartPostgres(t.Context(), nil)
	if errors.Is(err, engines.ErrAbsent) {
		enginetest.Postgres(t) // skips, or fails
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := engines.StartRedis(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil { // the worst way to go
		t.Fatal(err)
	}
	if err := errors.Join(p.Close(), r.Close(), p.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) != 0 {
		t.Fatalf("left: %v, %v", left, err)
	}
}

func TestStartSweepsTheFoldersOfTheDead(t *testing.T) {
	t.Setenv("TMPDIR", openFolder(t))
	dead := filepath.Join(os.TempDir(), "shoal-engine-dead")
	stranger := filepath.Join(os.TempDir(), "somebody-else")
	for _, folder := range []string{dead, stranger} {
		if err := os.MkdirAll(filepath.Join(folder, "redis"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dead, "owner.lock"), nil, 0o600); err != nil { // that nobody holds
		t.Fatal(err)
	}
	own := enginetest.OwnRedis(t, nil)
	second := enginetest.OwnRedis(t, nil) // must not sweep the first
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the dead one's folder: %v", err)
	}
	if _, err := os.Stat(stranger); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*engines.Redis{own, second} {
		if err := r.Snapshot(t.Context()); err != nil { // it has its folder
			t.Fatal(err)
		}
	}
}

// openFolder is a temporary folder that other accounts may pass through.
func openFolder(t *testing.T) string {
	t.Helper()
	outer := t.TempDir()
	for _, path := range []string{filepath.Dir(outer), outer} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return outer
}
