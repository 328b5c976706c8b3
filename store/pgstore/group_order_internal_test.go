package pgstore

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// A group that makes rows takes them in the order of their bytes, as every writer does, and
// whatever the order of the database's texts is: somebody who has the first of them and wants
// the second is never waited for in a circle.
// case S15.
func TestGroupsLockInTheOrderOfBytes(t *testing.T) {
	for name, condition := range map[string]store.Condition{"create": store.Absent(), "put": {}} {
		t.Run(name, func(t *testing.T) {
			pg, schema := enginetest.Postgres(t), enginetest.Schema(t)
			// The group never looks for a circle, so it is the other that would hear of one.
			d := databaseAt(t, pg.URL(schema)+"&options=-c%20deadlock_timeout%3D1h")
			other, watch := stranger(t, pg.URL(schema)), stranger(t, pg.URL(schema))
			run(t, other, "SET deadlock_timeout = '10ms'")
			run(t, other, "BEGIN")
			insert := "INSERT INTO " + schema + ".records VALUES ('key/' || $1::text, 9, now(), '') ON CONFLICT (key) DO NOTHING"
			run(t, other, insert, "B")

			var group []*job
			for i, key := range []string{"key/a", "key/B"} {
				w := store.Write{Key: key, Op: store.Put, Value: []byte("x"), Version: store.Version(1 + i), If: condition}
				group = append(group, newJob(w))
			}
			answer := make(chan error, 1)
			go func() {
				table := &table{database: d, name: "records"}
				answer <- d.statement(context.WithoutCancel(t.Context()), func(ctx context.Context, c *pgx.Conn) error {
					_, err := table.apply(ctx, c, group)
					return err
				})
			}()
			waiting := 0
			for waiting == 0 {
				err := watch.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%'||$1||'%'", schema).Scan(&waiting)
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := other.Exec(t.Context(), insert, "a"); err != nil {
				t.Errorf("a writer in the order of the bytes = %v", err)
			}
			run(t, other, "ROLLBACK")
			if err := <-answer; err != nil {
				t.Error(err)
			}
		})
	}
}

// stranger is a plain connection to the server.
func stranger(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), strings.Split(url, "?")[0]+"?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

func run(t *testing.T, c *pgx.Conn, sql string, arguments ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, arguments...); err != nil {
		t.Fatal(err)
	}
}
