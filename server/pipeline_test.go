package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	d := startDaemon(t, setup{})
	got := d.call("NodeService/Status", `{"verbose":true}`)
	const want = `{"code":"invalid_argument","message":"verbose: is no field of NodeStatusRequest; it has no fields: docs/api.md shows every call",` +
		`"details":[{"type":"shoal.v1.ErrorDetail","value":"`
	const debug = `"debug":{"reason":"malformed","field":"verbose","outcome":"not_done","advice":"docs/api.md shows every call"}}]}`
	if got.status != 400 || !strings.HasPrefix(got.body, want) || !strings.HasSuffix(got.body, debug) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got.header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", got.header)
	}
	if !d.log.has("level=INFO", "msg=request", "status=400", "reason=malformed", "path=/shoal.v1.NodeService/Status") {
		t.Error("the refusal is not in the log")
	}
}

func TestWhatIsNoCall(t *testing.T) {
	d := startDaemon(t, setup{})
	for _, c := range []struct {
		method, path, contentType, body string
		status                          int
		want                            string
	}{
		{"GET", "/", "", "", 404, `nothing is at /;`},
		{"POST", "/shoal.v1.PlayerService/Get", "application/json", "{}", 404, "unknown_path"},
		{"POST", "/shoal.v1.NodeService/Stats", "application/json", "{}", 404, "there is no call /shoal.v1.NodeService/Stats"},
		{"GET", "/shoal.v1.NodeService/Status", "", "", 405, "encoding=json and message={...}"},
		{"GET", "/shoal.v1.NodeService/Status?encoding=json", "", "", 405, "bad_method"},
		{"GET", "/shoal.v1.NodeService/Status?encoding=xml&message=x", "", "", 405, "bad_method"},
		{"PUT", "/shoal.v1.NodeService/Status", "application/json", "{}", 405, "PUT is not answered here"},
		{"POST", "/shoal.v1.NodeService/Status", "application/json", "", 400, "the message is empty"},
		{"POST", "/shoal.v1.NodeService/Status", "application/json", "{", 400, "ends too early"},
		{"POST", "/shoal.v1.NodeService/Status", "application/json; charset=utf-8", "{}", 200, "1.2.3"},
		{"POST", "/shoal.v1.NodeService/Status", "application/xml", "<a/>", 415, "bad_content_type"},
		{"POST", "/shoal.v1.NodeService/Status", "application/proto", "\xff", 400, "malformed"},
		{"POST", "/shoal.v1.NodeService/Status", "application/connect+json", "{}", 415, ""},
		{"GET", "/livez", "", "", 200, "ok"},
		{"GET", "/livez/x", "", "", 404, "unknown_path"},
	} {
		t.Run(c.method+" "+c.path+" "+c.contentType, func(t *testing.T) {
			got := d.do(c.method, c.path, c.body, "Content-Type", c.contentType)
			if got.status != c.status || !strings.Contains(got.body, c.want) {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
}

func TestLargeBodiesAreRefused(t *testing.T) {
	d := startDaemon(t, setup{config: func(c *server.Config) { c.Limits.BodyBytes = 1 << 10 }})
	fits := "{" + strings.Repeat(" ", 1<<10-2) + "}"
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(bytes.Repeat([]byte(" "), 1<<20))
	_ = z.Close()

	if got := d.call("NodeService/Status", fits); got.status != 200 {
		t.Errorf("a body of the limit: %d %s", got.status, got.body)
	}
	for name, got := range map[string]answer{
		"a byte more":             d.call("NodeService/Status", fits+" "),
		"a megabyte":              d.call("NodeService/Status", strings.Repeat(" ", 1<<20)),
		"a megabyte, compressed":  d.call("NodeService/Status", bomb.String(), "Content-Encoding", "gzip"),
		"a megabyte, in the path": d.read("NodeService/Status", strings.Repeat(" ", 1<<11)),
	} {
		if got.status != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, `"resource_exhausted"`) || !strings.Contains(got.body, "larger than 1.0 KiB") {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if got := d.call("NodeService/Status", "no gzip", "Content-Encoding", "gzip"); got.status != 400 {
		t.Errorf("a broken compression: %d %s", got.status, got.body)
	}
	if got := d.call("NodeService/Status", "{}", "Content-Encoding", "snappy"); got.status != 501 || !strings.Contains(got.body, "gzip") {
		t.Errorf("an unknown compression: %d %s", got.status, got.body)
	}
}

func TestLongHeadersAreRefused(t *testing.T) {
	d := startDaemon(t, setup{config: func(c *server.Config) { c.Limits.HeaderBytes = 4 << 10 }})
	if got := d.call("NodeService/Status", "{}", "X-Long", strings.Repeat("x", 10<<10)); got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// dial speaks HTTP by hand.
func (d *daemon) dial(text string) (net.Conn, *bufio.Reader) {
	d.t.Helper()
	c, err := new(net.Dialer).DialContext(d.t.Context(), "tcp", d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		d.t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

func TestSlowCallersAreCut(t *testing.T) {
	limited := func(set func(*server.Limits)) *daemon {
		return startDaemon(t, setup{config: func(c *server.Config) { set(&c.Limits) }})
	}
	d := limited(func(l *server.Limits) { l.HeaderTimeout = 50 * time.Millisecond })
	_, half := d.dial("POST /shoal.v1.NodeService/Status HTTP/1.1\r\nHost: localhost\r\n")
	if _, err := half.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("half a header: %v", err)
	}
	d = limited(func(l *server.Limits) { l.BodyTimeout = 50 * time.Millisecond })
	_, body := d.dial("POST /shoal.v1.NodeService/Status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
	res, err := http.ReadResponse(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(text), "slow_body") {
		t.Errorf("half a body: %d %s", res.StatusCode, text)
	}
	d = limited(func(l *server.Limits) { l.IdleTimeout = 50 * time.Millisecond })
	_, idle := d.dial("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
	res, err = http.ReadResponse(idle, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if _, err := idle.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("an idle connection: %v", err)
	}
}

// The time for a body ends with the body: a call may take longer than its body may.
func TestACallOutlivesItsBodysTime(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install, config: func(c *server.Config) { c.Limits.BodyTimeout = 500 * time.Millisecond }})
	release := v.hold()
	defer release()
	got, rpc := make(chan answer, 1), make(chan error, 1)
	go func() { got <- d.call("NodeService/Status", "{}") }()
	go func() {
		_, err := shoalv1connect.NewNodeServiceClient(d.wires()["gRPC"]).Status(t.Context(), &shoalv1.NodeStatusRequest{})
		rpc <- err
	}()
	<-v.entered
	<-v.entered
	_, other := d.dial("POST /shoal.v1.NodeService/Status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
	res, err := http.ReadResponse(other, nil) // a body that begins later has had its time
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	release()
	if a := <-got; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if err := <-rpc; err != nil {
		t.Error(err)
	}
}

func TestABrokenBody(t *testing.T) {
	d := startDaemon(t, setup{})
	c, _ := d.dial("POST /shoal.v1.NodeService/Status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < 400 || res.StatusCode > 499 {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestCallsBeyondTheLimitAreRefusedAtOnce(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install, config: func(c *server.Config) { c.Limits.Calls = 2 }})
	release := v.hold()
	defer release()
	got := make(chan answer, 2)
	for range 2 {
		go func() { got <- d.call("NodeService/Status", "{}") }()
	}
	<-v.entered
	<-v.entered
	third := d.call("NodeService/Status", "{}")
	if third.status != http.StatusServiceUnavailable || !strings.Contains(third.body, `"unavailable"`) ||
		!strings.Contains(third.body, "2 calls") || third.header.Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", third.status, third.header, third.body)
	}
	if live := d.do("GET", "/livez", ""); live.status != 200 {
		t.Errorf("/livez under load: %d", live.status)
	}
	release()
	for range 2 {
		if a := <-got; a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if again := d.call("NodeService/Status", "{}"); again.status != 200 {
		t.Errorf("afterwards: %d %s", again.status, again.body)
	}
}

func TestAPanicEndsOneCallOnly(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install})
	v.breakWith(nil, "boom at 0xdead")
	got := d.call("NodeService/Status", "{}")
	if got.status != 500 || !strings.Contains(got.body, `"internal"`) || strings.Contains(got.body, "boom") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if !d.log.has("level=ERROR", "msg=panic", "boom at 0xdead", "valve_test.go") {
		t.Error("the panic is not in the log")
	}
	v.breakWith(nil, nil)
	if got := d.call("NodeService/Status", "{}"); got.status != 200 {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
}

// http.ErrAbortHandler is how a handler breaks its connection on purpose.
func TestAnAbortBreaksTheConnection(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install})
	v.breakWith(nil, http.ErrAbortHandler)
	_, r := d.dial("POST /shoal.v1.NodeService/Status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	v.breakWith(nil, nil)
}

func TestStoreErrorsOnTheWire(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install})
	for _, c := range []struct {
		err          error
		status       int
		code, reason string
	}{
		{fmt.Errorf("drive: %w", store.ErrUnavailable), 503, "unavailable", "store_unavailable"},
		{fmt.Errorf("drive: %w", store.ErrUnknown), 500, "unknown", "outcome_unknown"},
		{store.ErrClosed, 503, "unavailable", "closing"},
		{store.ErrUnsupported, 501, "unimplemented", "unsupported"},
		{&store.InvalidError{Field: "key", Problem: "is empty"}, 400, "invalid_argument", "bad_field"},
		{&store.InvalidError{Field: "value", Problem: "is large", Large: true}, 413, "resource_exhausted", "too_large"},
		{context.Canceled, 499, "canceled", "canceled"},
		{context.DeadlineExceeded, 504, "deadline_exceeded", "deadline"},
		{errors.New("dial tcp 10.1.2.3: password secret"), 500, "internal", "internal"},
	} {
		v.breakWith(c.err, nil)
		got := d.call("NodeService/Status", "{}")
		if got.status != c.status || !strings.Contains(got.body, `"code":"`+c.code+`"`) || !strings.Contains(got.body, `"reason":"`+c.reason+`"`) {
			t.Errorf("%v: %d %s", c.err, got.status, got.body)
		}
		if strings.Contains(got.body, "secret") {
			t.Errorf("an inner error is on the wire: %s", got.body)
		}
	}
	if !d.log.has("level=ERROR", "password secret") {
		t.Error("the inner error is not in the log")
	}
	v.breakWith(nil, nil)
}

func TestEveryCallHasADeadline(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install, config: func(c *server.Config) { c.Limits.CallTimeout = 20 * time.Millisecond }})
	release := v.hold()
	defer release()
	if got := d.call("NodeService/Status", "{}"); got.status != http.StatusGatewayTimeout || !strings.Contains(got.body, "deadline_exceeded") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := d.call("NodeService/Status", "{}", "Connect-Timeout-Ms", "x"); got.status != 400 {
		t.Errorf("a bad timeout: %d %s", got.status, got.body)
	}
}

func TestLimitsAreChecked(t *testing.T) {
	d := startDaemon(t, setup{})
	_, err := server.New(server.Config{Limits: server.Limits{BodyBytes: -1, Calls: -2, CallTimeout: -3}})
	for _, part := range []string{"Node is needed", "BodyBytes: more than 0 expected, got -1", "Calls: more than 0 expected, got -2", "CallTimeout: more than 0 expected, got -3ns"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	_ = d
}

func TestAnswersAreCompressedForWhoAccepts(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install, config: func(c *server.Config) { c.Version = strings.Repeat("v", 32<<10) }})
	got := d.call("NodeService/Status", "{}", "Accept-Encoding", "gzip")
	if got.header.Get("Content-Encoding") != "gzip" || len(got.body) > 2<<10 {
		t.Errorf("%v, %d bytes", got.header, len(got.body))
	}
	if got := d.call("NodeService/Status", "{}", "Accept-Encoding", "identity"); got.header.Get("Content-Encoding") != "" {
		t.Errorf("%v", got.header)
	}
}
