package pgstore

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Script is a version of the schema as SQL.
type Script struct {
	Version int64  // 0 makes the schema itself
	Name    string // of its file, "00001_records.sql"
	SQL     string // statements, to be run in one transaction
}

// Scripts are what [Open] brings a schema forward with, for operators who do so themselves: the
// role of the daemons then needs no right to create anything. Run them in their order from the
// first whose version is not in the table "migrations" of the schema. An empty schema is
// [DefaultSchema]; logged is what the address says with live=logged. It fails for a name that
// an address could not have.
//
// What makes a schema better but not different (lz4 for values, the view of profiles) comes
// last, under the highest version.
func Scripts(schema string, logged bool) ([]Script, error) {
	if schema == "" {
		schema = DefaultSchema
	}
	if !fitSchema(schema) {
		return nil, fmt.Errorf("%w: schema %q", ErrAddress, schema)
	}
	a := address{schema: schema, logged: logged}
	v := &versions{schema: schema}
	all := []Script{{Name: "00000_schema.sql", SQL: strings.Join(v.made(), ";\n") + ";\n" + v.mark(0)}}
	for _, folder := range []fs.FS{migrationFiles(), extraFiles()} {
		files := render(folder, a, collateC)
		for _, name := range names(files) {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return nil, fmt.Errorf("pgstore: read %s: %w", name, err)
			}
			if !strings.Contains(string(text), up) {
				all[len(all)-1].SQL += string(text)
				continue
			}
			s := Script{Name: name, SQL: upward(string(text))}
			if s.Version, err = versionOf(name); err != nil {
				return nil, err
			}
			s.SQL += v.mark(s.Version)
			all = append(all, s)
		}
	}
	return all, nil
}

// What goose reads in a file of migrations.
const (
	up   = "-- +goose Up"
	down = "-- +goose Down"
)

// upward is the way forward of a migration, without goose's own marks.
func upward(text string) string {
	text, _, _ = strings.Cut(text, down)
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "-- +goose") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "")) + "\n"
}

func versionOf(name string) (int64, error) {
	digits, _, _ := strings.Cut(name, "_")
	version, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("pgstore: migration %s has no number: %w", name, err)
	}
	return version, nil
}
