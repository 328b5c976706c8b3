package server_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/server"
)

const testKey = "0123456789abcdef-key"

func TestDevelopmentModeKeepsBrowsersOut(t *testing.T) {
	d := startDaemon(t, setup{})
	_, port, _ := net.SplitHostPort(d.addr)
	for _, c := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"a program", nil, 200},
		{"by name", []string{"Host", "localhost:" + port}, 200},
		{"by name without port", []string{"Host", "LocalHost"}, 200},
		{"by IPv6", []string{"Host", "[::1]:" + port}, 200},
		{"another loopback address", []string{"Host", "127.1.2.3"}, 200},
		{"an own page", []string{"Origin", "http://" + d.addr, "Sec-Fetch-Site", "same-origin"}, 200},
		{"typed into the address bar", []string{"Sec-Fetch-Site", "none"}, 200},
		{"DNS rebinding", []string{"Host", "evil.example:" + port}, 403},
		{"a name that begins like ours", []string{"Host", "localhost.evil.example"}, 403},
		{"an address of the network", []string{"Host", "192.168.1.5"}, 403},
		{"a page elsewhere", []string{"Origin", "https://evil.example"}, 403},
		{"a page on another port", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"a sandboxed page", []string{"Origin", "null"}, 403},
		{"an image on a page elsewhere", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a page of the same site", []string{"Sec-Fetch-Site", "same-site"}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := d.call("NodeService/Status", "{}", c.headers...)
			if got.status != c.status {
				t.Errorf("status %d, want %d: %s", got.status, c.status, got.body)
			}
			if c.status == 403 && (!strings.Contains(got.body, `"permission_denied"`) || !strings.Contains(got.body, "foreign_origin")) {
				t.Errorf("got %s", got.body)
			}
		})
	}
	if !d.log.has("level=WARN", "DEVELOPMENT MODE") {
		t.Error("development mode was not logged loudly")
	}
}

// What a page elsewhere can send without asking first (a "simple" request) is refused by its
// content type, whatever else it says.
func TestFormsAreNotAnswered(t *testing.T) {
	d := startDaemon(t, setup{})
	for _, contentType := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		got := d.do(http.MethodPost, "/shoal.v1.NodeService/Status", "{}", "Content-Type", contentType)
		if got.status != http.StatusUnsupportedMediaType || !strings.Contains(got.body, "application/json") {
			t.Errorf("%q: %d %s", contentType, got.status, got.body)
		}
	}
	if got := d.do(http.MethodOptions, "/shoal.v1.NodeService/Status", ""); got.status != http.StatusMethodNotAllowed || len(got.header.Values("Access-Control-Allow-Origin")) > 0 {
		t.Errorf("a preflight was answered: %d %v", got.status, got.header)
	}
}

func TestKey(t *testing.T) {
	d := startDaemon(t, setup{config: func(c *server.Config) { c.APIKey = testKey }})
	for _, c := range []struct {
		name, authorization string
		status              int
		problem             string
	}{
		{"the key", "Bearer " + testKey, 200, ""},
		{"the scheme in small letters", "bearer " + testKey, 200, ""},
		{"none", "", 401, "asks for an API key"},
		{"another", "Bearer " + testKey + "x", 401, "is not the daemon's"},
		{"a part", "Bearer " + testKey[:10], 401, "is not the daemon's"},
		{"an empty one", "Bearer ", 401, "is not the daemon's"},
		{"without a scheme", testKey, 401, "not of the form"},
		{"another scheme", "Basic " + testKey, 401, "not of the form"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A key makes Host and Origin irrelevant: no browser adds it by itself.
			headers := []string{"Host", "shoal.example", "Origin", "https://game.example"}
			if c.authorization != "" {
				headers = append(headers, "Authorization", c.authorization)
			}
			got := d.call("NodeService/Status", "{}", headers...)
			if got.status != c.status || !strings.Contains(got.body, c.problem) {
				t.Errorf("%d %s", got.status, got.body)
			}
			if c.status == 401 && (got.header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(got.body, `"unauthenticated"`)) {
				t.Errorf("%v %s", got.header, got.body)
			}
		})
	}
	if d.log.has(testKey) {
		t.Error("the key is in the log")
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if got := d.do(http.MethodGet, path, "", "Host", "10.0.0.1"); got.status != 200 {
			t.Errorf("%s needs a key: %d", path, got.status)
		}
	}
}

func TestShortKeysAreRefused(t *testing.T) {
	d := startDaemon(t, setup{})
	if _, err := server.New(server.Config{Node: d.node, APIKey: "123456789012345"}); err == nil || !strings.Contains(err.Error(), "APIKey: at least 16 bytes expected, got 15") {
		t.Errorf("got %v", err)
	}
}

// fixedListener has an address, and nobody ever calls.
type fixedListener struct {
	addr   net.Addr
	closed chan struct{}
}

func (l fixedListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l fixedListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l fixedListener) Addr() net.Addr { return l.addr }

func TestOpenListenersNeedAKey(t *testing.T) {
	for _, c := range []struct {
		addr net.Addr
		open bool
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, false},
		{&net.TCPAddr{IP: net.IPv4(127, 8, 0, 1)}, false},
		{&net.TCPAddr{IP: net.IPv6loopback}, false},
		{&net.UnixAddr{Name: "/run/shoal.sock"}, false},
		{&net.TCPAddr{IP: net.IPv4zero}, true},
		{&net.TCPAddr{}, true},
		{&net.TCPAddr{IP: net.IPv6unspecified}, true},
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, true},
		{&net.IPAddr{IP: net.IPv4(127, 0, 0, 1)}, true},
	} {
		d := startDaemon(t, setup{})
		l := fixedListener{c.addr, make(chan struct{})}
		ended := make(chan error, 1)
		go func() { ended <- d.server.Serve(t.Context(), l) }()
		if c.open {
			if err := <-ended; !errors.Is(err, server.ErrOpenListener) || !strings.Contains(err.Error(), "configure an API key") {
				t.Errorf("%v: got %v", c.addr, err)
			}
			continue
		}
		if err := d.server.Close(t.Context()); err != nil {
			t.Errorf("%v: close: %v", c.addr, err)
		}
		if err := <-ended; err != nil {
			t.Errorf("%v: got %v", c.addr, err)
		}
	}
	d := startDaemon(t, setup{config: func(c *server.Config) { c.APIKey = testKey }})
	l := fixedListener{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- d.server.Serve(t.Context(), l) }()
	if err := d.server.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("with a key: %v", err)
	}
}

func TestServeOverAUnixSocket(t *testing.T) {
	d := startDaemon(t, setup{})
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = d.server.Serve(t.Context(), l) }()
	d.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", l.Addr().String())
	}}}
	d.addr = "localhost"
	d.call("NodeService/Status", "{}").is(t, "/version", `"1.2.3"`)
}
