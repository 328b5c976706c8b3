package pgstore_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
)

// A schema that an operator makes with the scripts is what Open makes.
func TestScriptsMakeTheSchema(t *testing.T) {
	pg := enginetest.Postgres(t)
	shapes := make(map[string]string)
	for _, by := range []string{"scripts", "open"} {
		schema := enginetest.Schema(t)
		if by == "scripts" {
			scripts, err := pgstore.Scripts(schema, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range scripts {
				if err := pg.Exec(t.Context(), "BEGIN;"+s.SQL+";COMMIT"); err != nil {
					t.Fatalf("%s: %v", s.Name, err)
				}
			}
		}
		e := open(t, pg.URL(schema), nil)
		if err := one(t, e.Durable(), putOf("key", "value", 1, store.Absent())); err != nil {
			t.Fatal(err)
		}
		shapes[by] = shapeOf(t, schema)
	}
	if shapes["scripts"] != shapes["open"] || shapes["open"] == "" {
		t.Errorf("by scripts:\n%s\nby Open:\n%s", shapes["scripts"], shapes["open"])
	}
	if _, err := pgstore.Scripts("Shoal; DROP", false); !errors.Is(err, pgstore.ErrAddress) {
		t.Errorf("Scripts of a strange name = %v", err)
	}
}

// shapeOf is the tables, columns, indexes and versions of a schema.
func shapeOf(t *testing.T, schema string) (shape string) {
	t.Helper()
	c := connect(t)
	err := c.QueryRow(t.Context(), `SELECT replace(string_agg(line, E'\n' ORDER BY line), $1::text, 'schema') FROM (
		SELECT format('%s %s %s %s %s %s %s', c.relname, c.relkind, c.relpersistence, a.attname, a.atttypid::regtype, a.attnotnull, a.attcompression) AS line
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
		WHERE n.nspname = $1::text
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1::text) s`, schema).Scan(&shape)
	if err != nil {
		t.Fatal(err)
	}
	return shape
}

// Profiles can be queried as they are; what is no JSON does not end the query.
func TestProfilesView(t *testing.T) {
	pg, schema := enginetest.Postgres(t), enginetest.Schema(t)
	r := open(t, pg.URL(schema), nil).Durable()
	for key, value := range map[string]string{
		"profile/players/u_42": `{"data":{"coins":7},"revision":3,"session":{"node":"n1","token":"t"}}`,
		"profile/players/u_43": `{"data":{"name":"a\u0000b"},"revision":1}`, // jsonb holds no NUL
		"profile/players/u_44": "\xff\x00 not JSON",
		"profile/clans/c_1":    `{"data":[1],"revision":"odd"}`,
		"profilesque":          `{}`,
		"journal/players/u_42": `{}`,
	} {
		if err := one(t, r, putOf(key, value, 1, store.Absent())); err != nil {
			t.Fatal(err)
		}
	}
	var got string
	err := connect(t).QueryRow(t.Context(), `SELECT jsonb_agg(jsonb_build_array("set", key, data, held_by, revision) ORDER BY "set", key)::text FROM `+schema+`.profiles WHERE written <= now()`).Scan(&got)
	if err != nil {
		t.Fatal(err)
	}
	want := `[["clans","c_1",[1],null,null],["players","u_42",{"coins":7},"n1",3],["players","u_43",null,null,null],["players","u_44",null,null,null]]`
	if canonical(t, got) != canonical(t, want) {
		t.Errorf("profiles are %s, want %s", got, want)
	}
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
