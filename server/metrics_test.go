package server_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// readings are the series of a page: name{label="value"} → number, labels in their order. Of a
// histogram it is the count.
type readings map[string]float64

// scrape reads /metrics with Prometheus's own parser.
func (d *daemon) scrape(headers ...string) readings {
	d.t.Helper()
	got := d.do(http.MethodGet, "/metrics", "", headers...)
	if got.status != 200 {
		d.t.Fatalf("%d %s", got.status, got.body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(got.body))
	if err != nil {
		d.t.Fatal(err)
	}
	out := make(readings)
	for name, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			slices.Sort(labels)
			key := name
			if len(labels) > 0 {
				key += "{" + strings.Join(labels, ",") + "}"
			}
			out[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// of are the series of a metric.
func (r readings) of(name string) (keys []string) {
	for key := range r {
		if base, _, _ := strings.Cut(key, "{"); base == name {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// want compares series: name{label="value"}, number, ...
func (r readings) want(t *testing.T, want readings) {
	t.Helper()
	got := make(readings)
	for key := range want {
		if v, ok := r[key]; ok {
			got[key] = v
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// limited gives a node a request budget.
func limited(o *shoal.Options) {
	o.Node.Limits.Node.Read, o.Node.Limits.Node.Write = node.Rate{Base: 1e6}, node.Rate{Base: 1e6}
}

func TestMetricsObeyTheConventions(t *testing.T) {
	d := startDaemon(t, setup{wire: limited})
	got := d.do(http.MethodGet, "/metrics", "")
	if kind := got.header.Get("Content-Type"); got.status != 200 || !strings.HasPrefix(kind, "text/plain; version=0.0.4") || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", got.status, got.header)
	}
	problems, err := promlint.New(strings.NewReader(got.body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "shoal_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for _, other := range []string{"go_goroutines ", "go_build_info{", "process_start_time_seconds ", "promhttp_metric_handler_errors_total{"} {
		if !strings.Contains(got.body, "\n"+other) {
			t.Errorf("no %s", other)
		}
	}
	strict := prometheus.NewPedanticRegistry()
	if err := d.server.Describe(strict); err != nil {
		t.Fatal(err)
	}
	if _, err := strict.Gather(); err != nil {
		t.Error(err)
	}
}

// The numbers that the pillars count are on the page, every one, with the names that they have
// there. A field that is new to a pillar fails here.
func TestMetricsShowEveryNumber(t *testing.T) {
	d := startDaemon(t, setup{})
	for _, c := range []struct {
		subject any
		but     []string // fields that are shown otherwise
	}{
		{profile.Stats{}, nil},
		{board.Counts{}, nil},
		{board.Stats{}, nil},
		{board.ModerationStats{}, nil},
		{node.GateCount{}, nil},
		{season.Status{}, []string{
			"Set",                      // the label
			"Current",                  // of several parts, below
			"Fresh", "ClockDifference", // the node's
			"First",   // never changes
			"Through", // means nothing until Started
		}},
		{season.Status{Started: true}, []string{"Set", "Current", "Fresh", "ClockDifference", "First", "Started"}},
	} {
		typ := reflect.TypeOf(c.subject)
		before := d.server.Shown(c.subject)
		for i := range typ.NumField() {
			field := typ.Field(i).Name
			if slices.Contains(c.but, field) {
				continue
			}
			n := reflect.New(typ).Elem()
			n.Set(reflect.ValueOf(c.subject))
			fill(t, n.Field(i))
			if slices.Equal(before, d.server.Shown(n.Interface())) {
				t.Errorf("%v: %s is not on the page", typ, field)
			}
		}
	}
	now := season.Status{Current: season.Info{Number: 7, Remaining: time.Minute}}
	if got := d.server.Shown(now); got[0] != 7 || got[1] != 60 {
		t.Errorf("the current season is shown as %v", got[:2])
	}
}

// fill gives a field a value that is not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case uint64:
		v.SetUint(7)
	case int, int64, time.Duration:
		v.SetInt(7_000_000_000)
	case bool:
		v.SetBool(true)
	case map[string]board.Counts:
		v.Set(reflect.ValueOf(map[string]board.Counts{"Kills": {}}))
	case board.Counts:
		v.Set(reflect.ValueOf(board.Counts{Refused: 7, Queued: 7, Oldest: 7}))
	case []season.Waiting:
		v.Set(reflect.ValueOf([]season.Waiting{{K: 1}}))
	default:
		t.Fatalf("a field of a type that this test does not know: %v", v.Type())
	}
}

func TestMetricsCount(t *testing.T) {
	engine := memstore.New(nil)
	a := startDaemon(t, setup{engine: engine, name: "a"})
	b := startDaemon(t, setup{engine: engine, name: "b"})
	first := a.scrape()
	first.want(t, readings{
		`shoal_profile_sessions{set="players"}`:                                     0,
		`shoal_profile_loads_total{how="created",set="players"}`:                    0,
		`shoal_requests_total{code="ok",procedure="/shoal.v1.ProfileService/Load"}`: 0,
		`shoal_request_refusals_total{reason="unknown_path"}`:                       0,
		`shoal_node_beating`:                                        1,
		`shoal_node_failed`:                                         0,
		`shoal_node_dead_nodes`:                                     0,
		`shoal_node_fleet_time_fresh`:                               1,
		`shoal_season_started{season="reef"}`:                       0,
		`shoal_season_closed_through_number{season="reef"}`:         0,
		`shoal_season_number{season="reef"}`:                        1,
		`shoal_requests_in_flight`:                                  1,
		`shoal_request_slots{kind="call"}`:                          512,
		fmt.Sprintf(`shoal_node_info{id=%q,name="a"}`, a.node.ID()): 1,
	})
	if keys := first.of("shoal_budget_calls_total"); len(keys) > 0 {
		t.Errorf("a budget without limits: %v", keys)
	}

	a.call("ProfileService/Load", ann).is(t, "/how", `"created"`)
	a.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/a","value":1}]}`).is(t)
	a.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"increment","path":"/no","by":-1,"min":0}]}`)
	a.call("ProfileService/Save", ann).is(t)
	a.call("SeasonService/Record", `{"season":"reef","set":"players","key":"ann","event":"catch"}`).is(t)
	a.call("ProfileService/Sync", ann).is(t)
	a.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"ann","score":5},{"key":"bob","score":6}]}`).is(t)
	a.scrape().want(t, readings{`shoal_board_queued_values{board="coins"}`: 2, `shoal_board_written_total{board="coins"}`: 0})
	a.flush()
	a.do(http.MethodGet, "/wp-login.php", "")
	a.do(http.MethodPost, "/shoal.v1.ProfileService/Swim", "{}", "Content-Type", "application/json")
	mid := a.scrape()
	mid.want(t, readings{
		`shoal_profile_sessions{set="players"}`:                                                          1,
		`shoal_profile_sessions{set="guilds"}`:                                                           0,
		`shoal_profile_loads_total{how="created",set="players"}`:                                         1,
		`shoal_profile_loads_total{how="granted",set="players"}`:                                         0,
		`shoal_profile_commits_total{set="players"}`:                                                     2,
		`shoal_profile_exposed_sessions{set="players"}`:                                                  0,
		`shoal_profile_save_failures_total{set="players"}`:                                               0,
		`shoal_board_submitted_total{board="coins"}`:                                                     2,
		`shoal_board_written_total{board="coins"}`:                                                       2,
		`shoal_board_queued_values{board="coins"}`:                                                       0,
		`shoal_season_players{season="reef"}`:                                                            1,
		`shoal_requests_total{code="ok",procedure="/shoal.v1.ProfileService/Load"}`:                      1,
		`shoal_requests_total{code="ok",procedure="/shoal.v1.ProfileService/Transact"}`:                  1,
		`shoal_requests_total{code="failed_precondition",procedure="/shoal.v1.ProfileService/Transact"}`: 1,
		`shoal_requests_total{code="unimplemented",procedure="unknown"}`:                                 2,
		`shoal_request_refusals_total{reason="unknown_path"}`:                                            2,
		`shoal_request_refusals_total{reason="refused_operation"}`:                                       1,
		`shoal_request_duration_seconds{procedure="/shoal.v1.ProfileService/Transact"}`:                  2,
		`shoal_request_duration_seconds{procedure="unknown"}`:                                            2,
		`shoal_requests_total{code="ok",procedure="/metrics"}`:                                           2,
	})
	for _, key := range []string{`shoal_profile_saves_total{set="players"}`, `shoal_profile_appends_total{set="players"}`} {
		if mid[key] <= first[key] {
			t.Errorf("%s went from %v to %v", key, first[key], mid[key])
		}
	}

	b.call("ProfileService/Load", ann).is(t, "/how", `"granted"`)
	b.call("ProfileService/Release", ann).is(t)
	b.call("ProfileService/Load", ann).is(t, "/how", `"free"`)
	a.scrape().want(t, readings{
		`shoal_profile_sessions{set="players"}`:                               0,
		`shoal_profile_sessions_ended_total{how="handed_over",set="players"}`: 1,
		`shoal_profile_sessions_ended_total{how="lost",set="players"}`:        0,
	})
	last := b.scrape()
	last.want(t, readings{
		`shoal_profile_sessions{set="players"}`:                            1,
		`shoal_profile_loads_total{how="granted",set="players"}`:           1,
		`shoal_profile_loads_total{how="free",set="players"}`:              1,
		`shoal_profile_loads_total{how="created",set="players"}`:           0,
		`shoal_profile_sessions_ended_total{how="released",set="players"}`: 1,
	})
	if last[`shoal_profile_asks_total{set="players"}`] < 1 {
		t.Error("no ask was counted")
	}
}

// wall is a record store whose calls all wait while it is shut, but those of the node's loops
// end by their own deadlines.
type wall struct {
	store.Records

	mu struct {
		sync.Mutex
		open chan struct{} // calls wait until it is closed; nil: they pass
	}
}

func (w *wall) shut() (open func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := make(chan struct{})
	w.mu.open = c
	return sync.OnceFunc(func() { close(c) })
}

func (w *wall) pass(ctx context.Context) error {
	w.mu.Lock()
	open := w.mu.open
	w.mu.Unlock()
	if open == nil {
		return nil
	}
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
	}
}

func (w *wall) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	return w.Records.Get(ctx, keys...)
}

func (w *wall) Commit(ctx context.Context, txs ...store.Tx) []error {
	if err := w.pass(ctx); err != nil {
		errs := make([]error, len(txs))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	return w.Records.Commit(ctx, txs...)
}

func (w *wall) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Record, error] {
	if err := w.pass(ctx); err != nil {
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, err) }
	}
	return w.Records.Scan(ctx, r)
}

func (w *wall) Now(ctx context.Context) (time.Time, error) {
	if err := w.pass(ctx); err != nil {
		return time.Time{}, err
	}
	return w.Records.Now(ctx)
}

// A store that does not answer is when metrics are needed most: a scrape does not wait for it.
func TestMetricsMakeNoCallToTheStore(t *testing.T) {
	var w wall
	d := startDaemon(t, setup{beat: 20 * time.Millisecond, wire: limited, parts: func(p store.Parts) store.Parts {
		w.Records = p.Durable
		p.Durable, p.Fast = &w, &w
		return p
	}})
	d.call("ProfileService/Load", ann).is(t)
	open := w.shut()
	defer open()
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/a","value":1}]}`).is(t)
	for {
		r := d.scrape()
		if r["shoal_node_beating"] == 0 && r[`shoal_profile_exposed_seconds{set="players"}`] > 0 {
			r.want(t, readings{`shoal_profile_exposed_sessions{set="players"}`: 1, `shoal_node_dead_nodes`: 0})
			break
		}
	}
	open()
	r := d.scrape()
	for r[`shoal_profile_exposed_sessions{set="players"}`] > 0 {
		r = d.scrape()
	}
	r.want(t, readings{`shoal_profile_exposed_seconds{set="players"}`: 0})
	for r["shoal_node_beating"] == 0 {
		r = d.scrape()
	}
}

func TestMetricsCountFailingSaves(t *testing.T) {
	var m mute
	// Without a journal, whose opening would save as well.
	d := startDaemon(t, setup{set: profile.Options{JournalEvery: -1}, parts: func(p store.Parts) store.Parts {
		m.Records = p.Durable
		p.Durable = &m
		return p
	}})
	d.call("ProfileService/Load", ann).is(t)
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/a","value":1}]}`).is(t)
	const failures, saves = `shoal_profile_save_failures_total{set="players"}`, `shoal_profile_saves_total{set="players"}`
	before := d.scrape()
	m.shut.Store(true)
	d.call("ProfileService/Save", ann).refused(t, 503, "unavailable", "store_unavailable")
	r := d.scrape()
	if r[failures] <= before[failures] || r[saves] != before[saves] {
		t.Errorf("failures went from %v to %v, saves from %v to %v", before[failures], r[failures], before[saves], r[saves])
	}
	m.shut.Store(false)
	d.call("ProfileService/Save", ann).is(t)
	if r = d.scrape(); r[saves] <= before[saves] {
		t.Errorf("the save that landed was not counted: %v", r[saves])
	}
}

func TestMetricsShowTheBudget(t *testing.T) {
	d := startDaemon(t, setup{wire: limited})
	if _, err := d.node.For(node.ClassLoad).Durable().Get(t.Context(), "profile/players/x"); err != nil {
		t.Fatal(err)
	}
	r := d.scrape()
	if r[`shoal_budget_calls_total{class="load",result="passed"}`] < 1 {
		t.Errorf("got %v", r.of("shoal_budget_calls_total"))
	}
	r.want(t, readings{
		`shoal_budget_calls_total{class="save",result="refused"}`: 0,
		`shoal_budget_waits_total{class="load"}`:                  0,
		`shoal_budget_wait_seconds_total{class="board"}`:          0,
		`shoal_budget_queue_calls{class="background"}`:            0,
	})
}

func TestMetricsAccess(t *testing.T) {
	const metricsKey = "fedcba9876543210-metrics"
	open := startDaemon(t, setup{})
	keyed := startDaemon(t, setup{config: func(c *server.Config) { c.APIKey = testKey }})
	both := startDaemon(t, setup{config: func(c *server.Config) { c.APIKey, c.MetricsKey = testKey, metricsKey }})
	bearer := func(key string) []string { return []string{"Authorization", "Bearer " + key} }
	for _, c := range []struct {
		name    string
		d       *daemon
		method  string
		headers []string
		status  int
	}{
		{"development mode", open, "GET", nil, 200},
		{"development mode, HEAD", open, "HEAD", nil, 200},
		{"development mode, a page elsewhere", open, "GET", []string{"Origin", "https://evil.example"}, 403},
		{"development mode, DNS rebinding", open, "GET", []string{"Host", "evil.example"}, 403},
		{"a POST", open, "POST", nil, 405},
		{"the API key", keyed, "GET", bearer(testKey), 200},
		{"no key, though on loopback", keyed, "GET", nil, 401},
		{"a key that there is not", keyed, "GET", bearer(metricsKey), 401},
		{"no key", both, "GET", nil, 401},
		{"another key", both, "GET", bearer(metricsKey + "x"), 401},
		{"the metrics key", both, "GET", bearer(metricsKey), 200},
		{"the API key beside a metrics key", both, "GET", bearer(testKey), 200},
	} {
		got := c.d.do(c.method, "/metrics", "", c.headers...)
		if got.status != c.status || got.status >= 400 && strings.Contains(got.body, "shoal_") {
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		}
	}
	both.call("NodeService/Status", "{}", bearer(metricsKey)...).refused(t, 401, "unauthenticated", "unauthenticated")
	both.call("NodeService/Status", "{}", bearer(testKey)...).is(t)
	if got := both.do("GET", "/metrics/", "", bearer(metricsKey)...); got.status != 401 {
		t.Errorf("a path below: %d", got.status)
	}
	if both.log.has(metricsKey) {
		t.Error("the key is in the log")
	}
	for want, cfg := range map[string]server.Config{
		"MetricsKey: at least 16 bytes expected, got 5": {Node: open.node, APIKey: testKey, MetricsKey: "short"},
		"MetricsKey: needs an APIKey":                   {Node: open.node, MetricsKey: metricsKey},
	} {
		if _, err := server.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Whatever callers send, the page has the same series.
func TestCallersMakeNoSeries(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("ProfileService/Load", ann)
	d.do(http.MethodGet, "/nowhere", "")
	d.call("ProfileService/Load", `{"set":"nobody","key":"x"}`)
	d.call("BoardService/Submit", `{"board":"nowhere","entries":[{"key":"x","score":1}]}`)
	before := d.scrape()
	for i := range 20 {
		d.do(http.MethodGet, fmt.Sprintf("/nowhere/%d", i), "")
		d.call("ProfileService/Load", fmt.Sprintf(`{"set":"players","key":"player-%d"}`, i)).is(t)
		d.call("ProfileService/Load", fmt.Sprintf(`{"set":"nobody-%d","key":"x"}`, i))
		d.call("BoardService/Submit", fmt.Sprintf(`{"board":"nowhere-%d","entries":[{"key":"x","score":1}]}`, i))
		d.call("BoardService/Submit", fmt.Sprintf(`{"board":"coins","entries":[{"key":"player-%d","score":1}]}`, i)).is(t)
	}
	after := d.scrape()
	for key := range after {
		if _, ok := before[key]; !ok {
			t.Errorf("a new series: %s", key)
		}
		if strings.Contains(key, "player-") || strings.Contains(key, "nowhere") {
			t.Errorf("a caller's word: %s", key)
		}
	}
}

func TestMetricsShowTwoHundredBoards(t *testing.T) {
	boards := map[string]board.Config{"zz": {}}
	for i := range 204 {
		boards[fmt.Sprintf("b%03d", i)] = board.Config{}
	}
	d := startDaemon(t, setup{boards: boards})
	r := d.scrape()
	if n := len(r.of("shoal_board_queued_values")); n != 200 {
		t.Errorf("%d boards", n)
	}
	r.want(t, readings{"shoal_boards": 205, "shoal_boards_hidden": 5})

	names := []string{"season/reef/Fish/C1S1", "zoo"}
	for i := range 199 {
		names = append(names, fmt.Sprintf("season/reef/Fish/C2S%03d", i))
	}
	if got := server.ShownBoards(names); len(got) != 200 || got[0] != "zoo" || got[1] != "season/reef/Fish/C1S1" {
		t.Errorf("%d boards, first %v", len(got), got[:2])
	}
}

// A counter that is computed from others, read one after the other, never falls.
func TestRestNeverFalls(t *testing.T) {
	rest := server.Rest()
	for _, c := range []struct{ total, part, want uint64 }{{10, 4, 6}, {10, 5, 6}, {11, 5, 6}, {12, 5, 7}, {3, 5, 7}} {
		if got := rest(c.total, c.part); got != c.want {
			t.Errorf("%d without %d is shown as %d, want %d", c.total, c.part, got, c.want)
		}
	}
}

func TestScrapesAndCallsAtOnce(t *testing.T) {
	d := startDaemon(t, setup{wire: limited})
	var calls, scrapes sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		calls.Go(func() {
			for n := range 25 {
				who := fmt.Sprintf(`{"set":"players","key":"p%d-%d"}`, i, n%5)
				d.call("ProfileService/Load", who)
				d.call("BoardService/Submit", fmt.Sprintf(`{"board":"coins","entries":[{"key":"p%d","score":%d}]}`, i, n))
				d.call("ProfileService/Release", who)
			}
		})
	}
	for range 3 {
		scrapes.Go(func() {
			var last readings
			for {
				r := d.scrape()
				for key, v := range last {
					if base, _, _ := strings.Cut(key, "{"); strings.HasPrefix(base, "shoal_") && strings.HasSuffix(base, "_total") && r[key] < v {
						t.Errorf("%s fell from %v to %v", key, v, r[key])
					}
				}
				last = r
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	calls.Wait()
	close(done)
	scrapes.Wait()
	r := d.scrape()
	loads := 0.0
	for _, key := range r.of("shoal_profile_loads_total") {
		loads += r[key]
	}
	if loads != 100 {
		t.Errorf("%v loads by how in %v", loads, r.of("shoal_profile_loads_total"))
	}
	r.want(t, readings{
		`shoal_requests_total{code="ok",procedure="/shoal.v1.ProfileService/Load"}`: 100,
		`shoal_profile_loads_total{how="created",set="players"}`:                    20,
		`shoal_profile_loads_total{how="free",set="players"}`:                       80,
	})
}
