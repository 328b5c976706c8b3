package pgstore

import (
	"bytes"
	"context"
	"io/fs"
	"strings"
)

// collateC makes PostgreSQL compare texts by their bytes.
const collateC = `COLLATE "C"`

// renderedMigrations are the migrations with this schema's name, as this engine takes them.
func (d *database) renderedMigrations(ctx context.Context) fs.FS {
	collate := collateC
	var version string
	if err := d.pool.QueryRow(ctx, `SELECT version()`).Scan(&version); err == nil && strings.Contains(version, "CockroachDB") {
		collate = "" // its strings are in the order of their bytes
	}
	return render(migrationFiles(), d.address, collate)
}

func migrationFiles() fs.FS {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic("pgstore: no migrations in the program: " + err.Error())
	}
	return files
}

// render fills in the placeholders of SQL files.
func render(files fs.FS, a address, collate string) fs.FS {
	live := "UNLOGGED"
	if a.logged {
		live = ""
	}
	return rendered{files, strings.NewReplacer("{s}", `"`+a.schema+`"`, "{collate}", collate, "{live}", live)}
}

// rendered is a file system whose files have placeholders filled in.
type rendered struct {
	fs.FS
	values *strings.Replacer
}

// Open implements fs.FS.
func (r rendered) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	_ = f.Close()
	text, err := fs.ReadFile(r.FS, name)
	if err != nil {
		return nil, err
	}
	info, err := fs.Stat(r.FS, name)
	if err != nil {
		return nil, err
	}
	filled := r.values.Replace(string(text))
	return &renderedFile{Reader: bytes.NewReader([]byte(filled)), info: renderedInfo{info, int64(len(filled))}}, nil
}

// ReadDir implements fs.ReadDirFS.
func (r rendered) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS, name) }

type renderedFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *renderedFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *renderedFile) Close() error               { return nil }

type renderedInfo struct {
	fs.FileInfo
	size int64
}

func (i renderedInfo) Size() int64 { return i.size }
