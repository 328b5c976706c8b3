package sqlitestore

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/shoalworks/shoal/store"
)

// Inspect implements store.Inspector.
func (r *records) Inspect(ctx context.Context) (store.Inspection, error) { return r.file.inspect(ctx) }

// Inspect implements store.Inspector.
func (h *boards) Inspect(ctx context.Context) (store.Inspection, error) { return h.file.inspect(ctx) }

// Inspect implements store.Inspector: the bus has no engine but the folder.
func (b *bus) Inspect(context.Context) (store.Inspection, error) {
	if b.hub.Closed() {
		return store.Inspection{}, fmt.Errorf("sqlitestore: inspect the bus: %w", store.ErrClosed)
	}
	place, connected := b.peers.place()
	out := store.Inspection{Engine: "sockets of this machine", Place: place}
	if !connected {
		out.Problems = append(out.Problems, store.Problem{What: "no socket could be bound there, so messages do not reach other processes: what they would say is found by polling"})
	}
	return out, nil
}

// inspect asks the file how it is kept. What a connection sets is what every one of this release
// sets (see pragmas).
func (f *file) inspect(ctx context.Context) (out store.Inspection, err error) {
	out = store.Inspection{Engine: "SQLite", Place: f.writer.path}
	err = f.pool.read(ctx, func(ctx context.Context, c *conn) error {
		row, err := c.first(ctx, "SELECT sqlite_version()")
		if err != nil {
			return err
		}
		out.Version, out.Settings = text(row[0]), nil
		mode, err := c.first(ctx, "PRAGMA journal_mode")
		if err != nil {
			return err
		}
		out.Settings = append(out.Settings, store.Setting{Name: "journal_mode", Value: text(mode[0])})
		return f.numbers(ctx, c, &out)
	})
	if err != nil {
		return store.Inspection{}, fmt.Errorf("sqlitestore: inspect %s: %w", f.writer.path, err)
	}
	out.Problems = problemsOf(out.Settings)
	return out, nil
}

// numbers adds the settings that are numbers.
func (f *file) numbers(ctx context.Context, c *conn, out *store.Inspection) error {
	for _, name := range []string{"synchronous", "user_version", "page_size", "page_count"} {
		n, err := c.number(ctx, "PRAGMA "+name)
		if err != nil {
			return err
		}
		value := fmt.Sprint(n)
		if name == "synchronous" {
			value = synchronousWord(n)
		}
		out.Settings = append(out.Settings, store.Setting{Name: name, Value: value})
	}
	var length int64
	if info, err := os.Stat(f.writer.path + "-wal"); err == nil {
		length = info.Size()
	}
	out.Settings = append(out.Settings, store.Setting{Name: "wal_bytes", Value: fmt.Sprint(length)})
	return nil
}

// synchronousWord is the name that SQLite has for the number.
func synchronousWord(n int64) string {
	if words := []string{"OFF", "NORMAL", "FULL", "EXTRA"}; n >= 0 && n < int64(len(words)) {
		return words[n]
	}
	return fmt.Sprint(n)
}

// problemsOf finds what is wrong among the settings. It does no I/O.
func problemsOf(settings []store.Setting) (out []store.Problem) {
	for _, s := range settings {
		switch {
		case s.Name == "journal_mode" && !strings.EqualFold(s.Value, "wal"):
			out = append(out, store.Problem{What: fmt.Sprintf("journal_mode is %s, wal expected: another program changed the file", s.Value), Danger: true})
		case s.Name == "synchronous" && s.Value == "OFF":
			out = append(out, store.Problem{What: "synchronous is OFF: what was acknowledged may be lost with the power", Danger: true})
		}
	}
	return out
}
