package server

import (
	"net/http"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	codeOK = "ok"
	// elsewhere is the procedure of requests to paths that nothing is at.
	elsewhere = "unknown"
)

// durationBuckets reach from a page out of the cache to the longest load, in seconds.
func durationBuckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 150}
}

// requestMeters count what the daemon itself is asked. Procedures are the paths that
// something is mounted at, codes and reasons are closed lists: callers cannot make series.
type requestMeters struct {
	total    *prometheus.CounterVec
	refusals *prometheus.CounterVec
	took     *prometheus.HistogramVec
	all      []family
	byPath   map[string]*requestMeter // filled while the server is made, and only read then
	other    *requestMeter
}

// requestMeter counts the requests of one procedure.
type requestMeter struct {
	procedure string
	ok        prometheus.Counter
	took      prometheus.Observer
}

func newRequestMeters() *requestMeters {
	total := family{"shoal_requests_total", "counter", "Requests that were answered, by path and by code: ok, or the code of the error (docs/api.md); unknown is every path that nothing is at.", []string{"procedure", "code"}}
	refusals := family{"shoal_request_refusals_total", "counter", "Requests that were answered with an error, by reason (docs/api.md).", []string{"reason"}}
	took := family{"shoal_request_duration_seconds", "histogram", "Time from the headers of a request to the end of its answer, in seconds, by path, errors included.", []string{"procedure"}}
	m := &requestMeters{
		total:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: total.name, Help: total.help}, total.labels),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: refusals.name, Help: refusals.help}, refusals.labels),
		took:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: took.name, Help: took.help, Buckets: durationBuckets()}, took.labels),
		all:      []family{total, refusals, took},
		byPath:   make(map[string]*requestMeter),
	}
	for _, r := range rulings() {
		m.refusals.WithLabelValues(string(r.reason))
	}
	m.other = m.meter(elsewhere)
	return m
}

// meter begins to count a procedure, from 0.
func (m *requestMeters) meter(procedure string) *requestMeter {
	return &requestMeter{procedure, m.total.WithLabelValues(procedure, codeOK), m.took.WithLabelValues(procedure)}
}

// add has a path counted by itself.
func (m *requestMeters) add(path string) { m.byPath[path] = m.meter(path) }

// note counts an answered request.
func (m *requestMeters) note(path string, w *response, took time.Duration) {
	one := m.byPath[path]
	if one == nil {
		one = m.other
	}
	one.took.Observe(seconds(took))
	if w.call.reason != "" {
		m.refusals.WithLabelValues(string(w.call.reason)).Inc()
	}
	if code := w.code(); code != codeOK {
		m.total.WithLabelValues(one.procedure, code).Inc()
		return
	}
	one.ok.Inc()
}

// code is how the call ended: its error's code, or what the status says of an answer that is
// no call's.
func (w *response) code() string {
	switch {
	case w.call.code != 0:
		return w.call.code.String()
	case w.status < http.StatusBadRequest:
		return codeOK
	case w.status == http.StatusNotFound:
		return connect.CodeUnimplemented.String()
	case w.status == http.StatusServiceUnavailable:
		return connect.CodeUnavailable.String()
	}
	return connect.CodeUnknown.String()
}

// Describe tells the registry what there is.
func (m *requestMeters) Describe(to chan<- *prometheus.Desc) {
	m.total.Describe(to)
	m.refusals.Describe(to)
	m.took.Describe(to)
}

// Collect tells the numbers of now.
func (m *requestMeters) Collect(to chan<- prometheus.Metric) {
	m.total.Collect(to)
	m.refusals.Collect(to)
	m.took.Collect(to)
}

func (m *requestMeters) families() []family { return m.all }

// inFlightSeries are the requests of now.
func (s *Server) inFlightSeries() *series[int64] {
	rows := []row[int64]{
		gauge("shoal_requests_in_flight", "Requests that are being answered now, this scrape included.", func(n int64) float64 { return float64(n) }),
	}
	return newSeries(rows, func(show func(int64, ...string)) { show(s.inFlight.Load()) })
}

// slotSeries say how full the gates are.
func (s *Server) slotSeries() *series[gate] {
	rows := []row[gate]{
		gauge("shoal_request_slots", "How many calls the daemon works on at once, by kind: load and watch, which may last for long, and call, which is all others; more are refused.", func(g gate) float64 { return float64(cap(g)) }),
		gauge("shoal_request_slots_used", "Calls that the daemon is working on now, by kind: call, load or watch.", func(g gate) float64 { return float64(len(g)) }),
	}
	return newSeries(rows, func(show func(gate, ...string)) {
		show(s.calls, "call")
		show(s.loads, "load")
		show(s.watches, "watch")
	}, "kind")
}
