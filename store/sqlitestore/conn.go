package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"modernc.org/sqlite"
)

// conn is one connection to a file, with its prepared statements. It belongs to one
// goroutine at a time.
//
// The driver's own interfaces are used instead of database/sql: a connection here has one
// owner, and nothing may reconnect or retry behind the owner's back. The contexts that reach
// a conn never end, because an interrupted statement would leave the outcome open; callers
// look at their context before and between statements.
type conn struct {
	raw        driver.Conn
	statements map[string]*statement
}

// statement is a prepared statement with buffers that are used again and again.
type statement struct {
	raw  driver.Stmt
	args []driver.NamedValue
	row  []driver.Value
}

// access is how a connection is opened.
type access struct {
	pragmas []string // run in order, after the driver's own
	create  bool     // make a missing file
	modeOf  string   // a file whose permissions a new one gets
}

// connect opens a connection to the file at path.
func connect(ctx context.Context, path string, a access) (*conn, error) {
	q := url.Values{"mode": {"rw"}, "_error_rc": {"1"}, "_defensive": {"1"}}
	if a.create {
		q.Set("mode", "rwc")
		q.Set("modeof", a.modeOf)
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // of a drive
	}
	// SQLite does not read a plus as a space.
	uri := url.URL{Scheme: "file", Path: slashed, RawQuery: strings.ReplaceAll(q.Encode(), "+", "%20")}
	connector, err := sqlite.NewConnector(uri.String())
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, statements: make(map[string]*statement)}
	for _, pragma := range a.pragmas {
		if err := c.run(ctx, "PRAGMA "+pragma); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// close frees the statements and the connection.
func (c *conn) close() error {
	errs := make([]error, 0, 1)
	for _, s := range c.statements {
		errs = append(errs, s.raw.Close())
	}
	c.statements = nil
	return errors.Join(append(errs, c.raw.Close())...)
}

// run executes a statement, or a script, that is not worth keeping prepared.
func (c *conn) run(ctx context.Context, script string) error {
	execer, ok := c.raw.(driver.ExecerContext)
	if !ok {
		return errors.New("sqlitestore: the driver cannot execute")
	}
	_, err := execer.ExecContext(context.WithoutCancel(ctx), script, nil)
	return err
}

// exec executes a prepared statement and answers how many rows it changed.
func (c *conn) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	s, err := c.prepare(ctx, sql)
	if err != nil {
		return 0, err
	}
	execer, ok := s.raw.(driver.StmtExecContext)
	if !ok {
		return 0, errors.New("sqlitestore: the driver cannot execute")
	}
	result, err := execer.ExecContext(context.WithoutCancel(ctx), s.bind(args))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// query calls each for every row of a prepared statement. The row is good until each
// returns; errStop ends the query early without an error.
func (c *conn) query(ctx context.Context, sql string, each func(row []driver.Value) error, args ...any) (err error) {
	s, err := c.prepare(ctx, sql)
	if err != nil {
		return err
	}
	queryer, ok := s.raw.(driver.StmtQueryContext)
	if !ok {
		return errors.New("sqlitestore: the driver cannot query")
	}
	rows, err := queryer.QueryContext(context.WithoutCancel(ctx), s.bind(args))
	if err != nil {
		return err
	}
	if n := len(rows.Columns()); len(s.row) != n {
		s.row = make([]driver.Value, n)
	}
	err = drain(rows, s.row, each)
	if closing := rows.Close(); err == nil {
		err = closing
	}
	return err
}

func drain(rows driver.Rows, row []driver.Value, each func([]driver.Value) error) error {
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch err := each(row); {
		case errors.Is(err, errStop):
			return nil
		case err != nil:
			return err
		}
	}
}

// errStop ends a query early.
var errStop = errors.New("stop")

// first is the first row of a prepared statement, nil when it has none. The row is good
// until the statement is used again.
func (c *conn) first(ctx context.Context, sql string, args ...any) (row []driver.Value, err error) {
	err = c.query(ctx, sql, func(r []driver.Value) error {
		row = r
		return errStop
	}, args...)
	if err != nil {
		return nil, err
	}
	return row, nil
}

// number is the single integer that a statement answers.
func (c *conn) number(ctx context.Context, sql string, args ...any) (int64, error) {
	row, err := c.first(ctx, sql, args...)
	if err != nil {
		return 0, err
	}
	if len(row) == 0 {
		return 0, fmt.Errorf("sqlitestore: %s: no row", sql)
	}
	return integer(row[0]), nil
}

// prepare prepares a statement once a connection. All SQL of this package is constant, so
// the map is bounded.
func (c *conn) prepare(ctx context.Context, sql string) (*statement, error) {
	if s, ok := c.statements[sql]; ok {
		return s, nil
	}
	preparer, ok := c.raw.(driver.ConnPrepareContext)
	if !ok {
		return nil, errors.New("sqlitestore: the driver cannot prepare")
	}
	raw, err := preparer.PrepareContext(context.WithoutCancel(ctx), sql)
	if err != nil {
		return nil, err
	}
	s := &statement{raw: raw}
	c.statements[sql] = s
	return s, nil
}

func (s *statement) bind(args []any) []driver.NamedValue {
	if len(s.args) != len(args) {
		s.args = make([]driver.NamedValue, len(args))
		for i := range s.args {
			s.args[i].Ordinal = i + 1
		}
	}
	for i, a := range args {
		s.args[i].Value = a
	}
	return s.args
}

// The columns of this package's tables are integers, texts and blobs; NULL reads as zero.

func integer(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}

func text(v driver.Value) string {
	s, _ := v.(string)
	return s
}

func blob(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}

func pragma(name string, value int) string { return name + "=" + strconv.Itoa(value) }
