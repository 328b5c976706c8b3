package server

import (
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	metricsPath = "/metrics"
	// maxScrapes is how many scrapes are worked on at once; more are refused.
	maxScrapes = 8
)

// metrics is the page at /metrics. Its registry is this server's own. What the node's parts
// count they count themselves: a scrape reads their numbers from memory, and makes no call to
// a store. Only requests are counted here.
type metrics struct {
	requests   *requestMeters
	collectors []prometheus.Collector // of this package
	families   []family               // of the collectors, for docs/metrics.md
	page       http.Handler
	scrapes    gate
}

func newMetrics(s *Server) *metrics {
	m := &metrics{requests: newRequestMeters(), scrapes: newGate(maxScrapes)}
	m.collectors = append(m.collectors, m.requests)
	m.families = append(m.families, m.requests.families()...)
	addSeries(m, s.buildSeries())
	addSeries(m, s.slotSeries())
	addSeries(m, s.inFlightSeries())
	addSeries(m, s.infoSeries())
	addSeries(m, s.nodeSeries())
	addSeries(m, s.partSeries())
	addSeries(m, s.budgetSeries())
	addSeries(m, s.setSeries())
	addSeries(m, s.boardSeries())
	addSeries(m, s.boardsSeries())
	addSeries(m, s.moderationSeries())
	addSeries(m, s.seasonSeries())

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(m.collectors...)
	// What one collector fails to tell does not hide what the others do.
	m.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError, Registry: registry,
	})
	return m
}

// scrape answers /metrics.
func (s *Server) scrape(rw http.ResponseWriter, r *http.Request) {
	w := rw.(*response) // made by ServeHTTP
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.refuse(w, r, refuse(badMethod, "", "%s is not answered here; send a GET", r.Method))
		return
	}
	if !s.metrics.scrapes.enter() {
		s.refuse(w, r, refuse(overloaded, "", "the daemon is working on %d scrapes, its limit", maxScrapes))
		return
	}
	defer s.metrics.scrapes.leave()
	w.Header().Set("Cache-Control", "no-store")
	s.metrics.page.ServeHTTP(w, r)
}

// buildSeries says what runs.
func (s *Server) buildSeries() *series[struct{}] {
	rows := []row[struct{}]{
		gauge("shoal_build_info", "Always 1; its labels are the daemon's version and the version of Go that it was built with.", func(struct{}) float64 { return 1 }),
	}
	return newSeries(rows, func(show func(struct{}, ...string)) { show(struct{}{}, s.version, runtime.Version()) }, "version", "goversion")
}
