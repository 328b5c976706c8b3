package main_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// binary builds the command once for all tests of the package.
var binary = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "shoal-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "shoal")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// deadline is how long a test waits for something that must come; it states no speed.
const deadline = 60 * time.Second

// daemon is one `shoal serve` process.
type daemon struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	done chan struct{}
	log  *tail
}

// serve starts a daemon on the store and waits until it is ready.
func serve(t *testing.T, store string, flags ...string) *daemon {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, done: make(chan struct{}), log: new(tail)}
	d.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), path, append([]string{"serve", "--store", store, "--listen", "127.0.0.1:0"}, flags...)...)
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.done)
		d.log.read(stderr)
		_ = d.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		<-d.done
		if t.Failed() {
			t.Logf("log of %s:\n%s", cmp.Or(d.url, "a daemon"), d.log)
		}
	})
	d.await("an address", func() error {
		addr := d.log.addr()
		if addr == "" {
			return errors.New("it does not serve yet")
		}
		d.url = "http://" + addr
		return nil
	})
	d.await("ready", func() error {
		code, _, err := d.get("/readyz")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("status %d", code)
		}
		return err
	})
	return d
}

// await tries until it succeeds, the daemon ends, or the deadline is over.
func (d *daemon) await(what string, try func() error) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), deadline)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-d.done:
			d.t.Fatalf("%s: the daemon has ended: %v\n%s", what, err, d.log)
		case <-ctx.Done():
			d.t.Fatalf("%s: %v\n%s", what, err, d.log)
		}
	}
}

func (d *daemon) get(path string) (code int, body []byte, err error) {
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.url+path, nil)
	if err != nil {
		return 0, nil, err
	}
	return do(req)
}

// post sends a body as curl would.
func (d *daemon) post(call, body string) (code int, answer []byte) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.url+"/shoal.v1."+call, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	code, answer, err = do(req)
	if err != nil {
		d.t.Fatalf("%s %s: %v", call, body, err)
	}
	return code, answer
}

func do(req *http.Request) (int, []byte, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// call posts and decodes a successful answer.
func (d *daemon) call(call, body string) object {
	d.t.Helper()
	code, answer := d.post(call, body)
	if code != http.StatusOK {
		d.t.Fatalf("%s %s: %d %s", call, body, code, answer)
	}
	return decode(d.t, answer)
}

// kill is kill -9.
func (d *daemon) kill() {
	d.t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	<-d.done
}

// stop ends the daemon in order and returns its exit code.
func (d *daemon) stop() int {
	d.t.Helper()
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		d.t.Fatal(err)
	}
	select {
	case <-d.done:
	case <-time.After(deadline):
		d.t.Fatalf("does not end:\n%s", d.log)
	}
	return d.cmd.ProcessState.ExitCode()
}

// object is a decoded JSON answer with exact numbers.
type object map[string]any

func decode(t *testing.T, answer []byte) object {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	var o object
	if err := dec.Decode(&o); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	return o
}

// at reads a member by its path, as text; empty when there is none.
func (o object) at(path ...any) string {
	var v any = map[string]any(o)
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s >= len(l) {
				return ""
			}
			v = l[s]
		}
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func (o object) want(t *testing.T, want string, path ...any) {
	t.Helper()
	if got := o.at(path...); got != want {
		t.Errorf("%v is %q, want %q in %v", path, got, want, o)
	}
}

// tail keeps the last lines of a daemon's log.
type tail struct {
	mu     sync.Mutex
	lines  []string
	serves string // the address
}

// serving is what a daemon says of the address that the system has chosen for it: one chosen
// beforehand could be another's by then.
var serving = regexp.MustCompile(` msg=serving addr=(\S+) `)

func (l *tail) read(r io.Reader) {
	for s := bufio.NewScanner(r); s.Scan(); {
		l.mu.Lock()
		if m := serving.FindStringSubmatch(s.Text()); m != nil {
			l.serves = m[1]
		}
		if l.lines = append(l.lines, s.Text()); len(l.lines) > 200 {
			l.lines = l.lines[1:]
		}
		l.mu.Unlock()
	}
}

func (l *tail) addr() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serves
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

const player = `"set":"players","key":"u_42"`

// TestTwoDaemonsOneStore walks the main job: two daemons on one folder, no coordinator.
func TestTwoDaemonsOneStore(t *testing.T) {
	store := filepath.Join(t.TempDir(), "game")
	if _, err := binary(); err != nil {
		t.Fatal(err) // built before the calendar begins: it may take minutes
	}
	// One calendar for both, with a boundary within the minute.
	season := []string{"--season-length", "40s", "--season-epoch", time.Now().UTC().Truncate(time.Second).Format(time.RFC3339)}
	a := serve(t, store, append(season, "--name", "a")...)
	b := serve(t, store, append(season, "--name", "b")...)

	// A new player on A, changed by operations.
	loaded := a.call("ProfileService/Load", `{`+player+`}`)
	loaded.want(t, "created", "how")
	loaded.want(t, "1", "profile", "epoch")
	changed := a.call("ProfileService/Transact", `{`+player+`,"note":"quest","returnData":true,
		"ops":[{"op":"set","path":"/name","value":"Mo"},{"op":"increment","path":"/coins","by":9007199254740993}]}`)
	changed.want(t, "9007199254740993", "data", "coins")

	// A hand-over to B carries the unsaved change.
	loaded = b.call("ProfileService/Load", `{`+player+`}`)
	loaded.want(t, "granted", "how")
	loaded.want(t, "9007199254740993", "profile", "data", "coins")
	loaded.want(t, "2", "profile", "epoch")
	if code, answer := a.post("ProfileService/Transact", `{`+player+`,"ops":[{"op":"unset","path":"/coins"}]}`); code < 400 || code >= 500 {
		t.Errorf("the old holder still writes: %d %s", code, answer)
	}

	// Scores on both; the same top and the same exact rank on both.
	a.call("BoardService/Submit", `{"board":"Kills","entries":[{"key":"u_1","score":30},{"key":"u_2","score":10}]}`)
	b.call("BoardService/Submit", `{"board":"Kills","entries":[{"key":"u_3","score":20},{"key":"u_2","score":5}]}`)
	for _, d := range []*daemon{a, b} {
		d.await("three entries", func() error {
			top := d.call("BoardService/Top", `{"board":"Kills"}`)
			if got := top.at("entries", 0, "key") + top.at("entries", 1, "key") + top.at("entries", 2, "key"); got != "u_1u_3u_2" {
				return errors.New(got)
			}
			return nil
		})
		rank := d.call("BoardService/Standing", `{"board":"Kills","key":"u_2"}`)
		rank.want(t, "3", "standing", "rank")
		rank.want(t, "10", "standing", "score")
	}

	// A season event on B, saved, and more that is only synced; then B is gone without a word. The
	// season has just begun: A has to take over before its grace is over.
	b.await("a season's beginning", func() error {
		left, err := time.ParseDuration(b.call("SeasonService/Current", `{"season":"reef"}`).at("remaining"))
		if err == nil && left < 30*time.Second {
			err = fmt.Errorf("%v left", left)
		}
		return err
	})
	event := b.call("SeasonService/Record", `{"season":"reef",`+player+`,"event":"catch"}`)
	event.want(t, "1", "stats", "fish")
	first := event.at("id")
	b.call("ProfileService/Save", `{`+player+`}`)
	for range 2 { // the first opens the journal, the second is in it alone
		b.call("ProfileService/Transact", `{`+player+`,"ops":[{"op":"increment","path":"/coins","by":1}]}`)
		b.call("ProfileService/Sync", `{`+player+`}`)
	}
	b.kill()

	// A takes the dead holder's profile, with what was saved and what was synced.
	loaded = a.call("ProfileService/Load", `{`+player+`,"policy":"wait"}`)
	loaded.want(t, "recovered", "how")
	loaded.want(t, "age", "evidence")
	loaded.want(t, "9007199254740995", "profile", "data", "coins")

	// The season passes its boundary, is closed once, and the title comes with the next load.
	a.call("ProfileService/Release", `{`+player+`}`)
	var results object
	a.await("the result of "+first, func() error {
		code, answer := a.post("SeasonService/Results", `{"season":"reef","id":"`+first+`"}`)
		if code != http.StatusOK {
			return fmt.Errorf("%d %s", code, answer)
		}
		results = decode(t, answer)
		return nil
	})
	results.want(t, "Fish", "boards", 0, "board")
	results.want(t, "u_42", "boards", 0, "entries", 0, "key")

	c := serve(t, store, append(season, "--name", "c")...)
	c.call("ProfileService/Load", `{`+player+`}`).want(t, "free", "how")
	view := c.call("SeasonService/View", `{"season":"reef",`+player+`}`)
	view.want(t, "#1 SEA KING (S"+results.at("season", "number")+")", "titles", 0, "text")
	again := c.call("SeasonService/Results", `{"season":"reef","id":"`+first+`"}`)
	if fmt.Sprint(again) != fmt.Sprint(results) {
		t.Errorf("the result differs between daemons:\n%v\n%v", again, results)
	}

	// Both end in order, and leave the player free.
	for _, d := range []*daemon{a, c} {
		if code := d.stop(); code != 0 {
			t.Errorf("exit code %d\n%s", code, d.log)
		}
	}
}

// TestBadInputIsRefused sends what no daemon should take.
func TestBadInputIsRefused(t *testing.T) {
	d := serve(t, filepath.Join(t.TempDir(), "game"))
	d.call("ProfileService/Load", `{`+player+`}`)
	long := strings.Repeat("k", 129)
	for body, want := range map[string]string{
		`{`: "", // malformed
		`{"set":"players","key":"u_42","ops":[],"opps":1}`:                                      "opps",
		`{"set":"players","key":7,"ops":[]}`:                                                    "key",
		`{"set":"nobody","key":"u_42","ops":[{"op":"set","path":"/a","value":1}]}`:              "set",
		`{"set":"players","key":"a/b","ops":[{"op":"set","path":"/a","value":1}]}`:              "key",
		`{"set":"players","key":"` + long + `","ops":[{"op":"set","path":"/a","value":1}]}`:     "key",
		`{"set":"players","key":"u_42","ops":[{"op":"set","path":"/a","value":1},{"op":"x"}]}`:  "op",
		`{"set":"players","key":"u_42","ops":[{"op":"set","path":"/a","value":{"b":1,"b":2}}]}`: "b",
	} {
		code, answer := d.post("ProfileService/Transact", body)
		if code < 400 || code >= 500 || !strings.Contains(string(answer), want) {
			t.Errorf("%s: %d %s, want 4xx that names %q", body, code, answer, want)
		}
	}
	if code, answer := d.post("BoardService/Submit", `{"board":"Nowhere","entries":[{"key":"u","score":1}]}`); code != http.StatusNotFound {
		t.Errorf("unknown board: %d %s", code, answer)
	}
	got := d.call("ProfileService/Get", `{`+player+`}`)
	got.want(t, "0", "profile", "revision")
	got.want(t, "map[]", "profile", "data")
}

// TestMetricsHaveAKeyOfTheirOwn asks as Prometheus does.
func TestMetricsHaveAKeyOfTheirOwn(t *testing.T) {
	t.Setenv("SHOAL_API_KEY", "0123456789abcdef-api")
	t.Setenv("SHOAL_METRICS_KEY", "0123456789abcdef-metrics")
	d := serve(t, "memory:", "--name", "deep")
	ask := func(path, key string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		code, body, err := do(req)
		if err != nil {
			t.Fatal(err)
		}
		return code, string(body)
	}
	code, page := ask("/metrics", "0123456789abcdef-metrics")
	if code != http.StatusOK || !strings.Contains(page, `name="deep"`) || !strings.Contains(page, "\nshoal_node_beating 1\n") {
		t.Errorf("%d %s", code, page)
	}
	if code, _ := ask("/metrics", "0123456789abcdef-other"); code != http.StatusUnauthorized {
		t.Errorf("another key: %d", code)
	}
	if code, _ := ask("/shoal.v1.NodeService/Status?encoding=json&message={}", "0123456789abcdef-metrics"); code != http.StatusUnauthorized {
		t.Errorf("a call with the metrics key: %d", code)
	}
}

// run runs the command to its end.
func run(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = t.TempDir() // the default store is made where it runs
	out, err := cmd.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return code, string(out)
}

func TestCommandLine(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := write("foreign", "not a folder")
	for _, c := range []struct {
		what string
		args []string
		code int
		says []string
	}{
		{"nothing", nil, 0, []string{"serve", "demo", "version"}},
		{"help", []string{"--help"}, 0, []string{"no coordinator", "shoal serve"}},
		{"help of serve", []string{"serve", "--help"}, 0, []string{"--store", "curl", "SHOAL_API_KEY", "SHOAL_METRICS_KEY", "Exit codes"}},
		{"help of demo", []string{"demo", "--help"}, 0, []string{"--for", "ledger"}},
		{"version", []string{"version"}, 0, []string{"shoal "}},
		{"unknown command", []string{"swim"}, 2, []string{"swim", "--help"}},
		{"unknown flag", []string{"serve", "--stoer", "x"}, 2, []string{"--stoer"}},
		{"missing file", []string{"serve", "--config", filepath.Join(folder, "none.yaml")}, 2, []string{"none.yaml"}},
		{"unknown member", []string{"serve", "--config", write("a.yaml", "store: ./x\nsets: {players: {tempalte: {}}}\n")}, 2, []string{"a.yaml", "sets.players", "tempalte"}},
		{"wrong type", []string{"serve", "--config", write("b.yaml", "boards: {Kills: {decimals: three}}\n")}, 2, []string{"b.yaml", "boards.Kills.decimals"}},
		{"wrong word", []string{"serve", "--config", write("c.yaml", "boards: {Kills: {order: sideways}}\n")}, 2, []string{"boards.Kills.order", "sideways"}},
		{"wrong duration", []string{"serve", "--config", write("d.yaml", "beat: soon\n")}, 2, []string{"beat", "soon"}},
		{"wrong season", []string{"serve", "--config", write("e.yaml", "seasons: {reef: {set: players, lenght: 5s}}\n")}, 2, []string{"seasons.reef", "lenght"}},
		{"season of nobody", []string{"serve", "--config", write("f.yaml", "seasons: {reef: {set: nobody}}\n")}, 2, []string{"nobody"}},
		{"bad epoch", []string{"serve", "--season-epoch", "yesterday"}, 2, []string{"--season-epoch"}},
		{"store is a file", []string{"serve", "--listen", "127.0.0.1:0", "--store", foreign}, 4, []string{"foreign"}},
		{"unknown store", []string{"serve", "--store", "mysql://x"}, 4, []string{"mysql"}},
		{"no such port", []string{"serve", "--store", "memory:", "--listen", "127.0.0.1:99999"}, 4, []string{"99999"}},
		{"open to others without a key", []string{"serve", "--store", "memory:", "--listen", "0.0.0.0:0"}, 2, []string{"key"}},
		{"a metrics key alone", []string{"serve", "--store", "memory:", "--config", write("g.yaml", "metricsKey: 0123456789abcdef\n")}, 2, []string{"MetricsKey", "APIKey"}},
		{"demo on a folder in use", []string{"demo", "--store", folder}, 2, []string{"not empty"}},
	} {
		code, out := run(t, c.args...)
		if code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s", c.what, code, c.code, out)
		}
		for _, s := range c.says {
			if !strings.Contains(out, s) {
				t.Errorf("%s: does not say %q:\n%s", c.what, s, out)
			}
		}
	}
}

func TestUnknownVariableIsAnError(t *testing.T) {
	t.Setenv("SHOAL_STOER", "x")
	code, out := run(t, "serve", "--store", "memory:")
	if code != 2 || !strings.Contains(out, "SHOAL_STOER") || !strings.Contains(out, "SHOAL_STORE") {
		t.Fatalf("%d\n%s", code, out)
	}
}
