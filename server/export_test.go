package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"connectrpc.com/connect/v2/connecthttp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// Ruling is a row of the table of reasons.
type Ruling struct {
	Reason, Code, Outcome, Advice string
	Status                        int
}

// Rulings is the table of reasons, as callers see it.
func Rulings() []Ruling {
	t := newTable()
	var out []Ruling
	for _, r := range rulings() {
		c := new(call)
		rec := httptest.NewRecorder()
		w := &response{ResponseWriter: rec, call: c}
		req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", nil)
		_ = connecthttp.NewErrorWriter().Write(w, req, t.wire(refuse(r.reason, "", "x"), c))
		out = append(out, Ruling{string(r.reason), r.code.String(), r.outcome, r.advice, rec.Code})
	}
	return out
}

// ParseOps is the parser of a transaction's operations.
func ParseOps(text string) ([]doc.Op, error) { return parseOps(text) }

// Reason is the reason for an error of the domain.
func Reason(err error) string { return string(newTable().sort(err).reason) }

// LoadReason is the reason for an error of a load.
func LoadReason(err error) string {
	t := newTable()
	return string(t.sort(t.loadFailure(err)).reason)
}

// Family is a metric of this package, as docs/metrics.md shows it.
type Family struct {
	Name, Kind, Help string
	Labels           []string
}

// Families are the metrics of this package.
func (s *Server) Families() []Family {
	var out []Family
	for _, f := range s.metrics.families {
		out = append(out, Family{f.name, f.kind, f.help, f.labels})
	}
	return out
}

// Describe registers the package's own collectors elsewhere.
func (s *Server) Describe(r prometheus.Registerer) error {
	var errs []error
	for _, c := range s.metrics.collectors {
		errs = append(errs, r.Register(c))
	}
	return errors.Join(errs...)
}

// Shown are the numbers that the page would show of a subject, in the order of its rows.
func (s *Server) Shown(subject any) []float64 {
	switch n := subject.(type) {
	case profile.Stats:
		return read(s.setSeries().rows, newSetNumbers(n, new(rising), new(rising)))
	case board.Counts:
		return read(s.boardSeries().rows, n)
	case board.Stats:
		return read(s.boardsSeries().rows, n)
	case board.ModerationStats:
		return read(s.moderationSeries().rows, n)
	case node.GateCount:
		return read(s.budgetSeries().rows, n)
	case season.Status:
		return read(s.seasonSeries().rows, newSeasonNumbers(n, time.Time{}.Add(time.Hour), 7))
	}
	panic("no such subject")
}

func read[T any](rows []row[T], n T) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = r.read(n)
	}
	return out
}

// Rest computes a counter from others again and again.
func Rest() func(total uint64, parts ...uint64) uint64 { return new(rising).from }

// ShownBoards are the boards with series of their own.
func ShownBoards(names []string) []string { return shownBoards(names) }

// PartStates are the parts of the store as the daemon knows them: "fast down".
func (s *Server) PartStates() []string { return s.parts.states() }

// AskParts asks every part at once.
func (s *Server) AskParts() { s.parts.askAll() }

func (w *partWatch) states() (out []string) {
	for _, p := range w.all() {
		out = append(out, string(p.role)+" "+p.state())
	}
	return out
}

func (w *partWatch) askAll() {
	for _, role := range w.roles {
		q := &question{watch: w, role: role}
		w.step(context.Background(), q)
		q.close()
	}
}

// WatchParts watches the parts of a store without a daemon.
func WatchParts(ctx context.Context, st *store.Store) (states func() string, end func()) {
	ended := make(chan struct{})
	w := newPartWatch(st, clock.System())
	w.start(ctx, ended)
	return func() string { return strings.Join(w.states(), "; ") }, func() { close(ended); w.wait() }
}
