package server_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/server"
)

// quiet is a daemon that logs as in production: warnings and up.
func quiet(b *testing.B) *daemon {
	b.Helper()
	d := startDaemon(b, setup{config: func(c *server.Config) {
		c.Logger = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo})) //nolint:sloglint // the cost of formatting is part of what is measured
	}})
	d.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var entries []string
	for i := range 1000 {
		entries = append(entries, fmt.Sprintf(`{"key":"player_%05d","score":%d}`, i, 1_000_000-i))
	}
	d.call("BoardService/Submit", `{"board":"coins","entries":[`+strings.Join(entries, ",")+`]}`)
	d.flush()
	return d
}

// hammer sends one request over and over from 32 connections.
func hammer(b *testing.B, d *daemon, request func() *http.Request) {
	b.Helper()
	b.SetParallelism(16) // times GOMAXPROCS
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			res, err := d.client.Do(request())
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
				b.Errorf("status %d, %v", res.StatusCode, err)
			}
			_ = res.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

func (d *daemon) post(method, body string) func() *http.Request {
	return func() *http.Request {
		req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, "http://"+d.addr+"/shoal.v1."+method, strings.NewReader(body))
		if err != nil {
			d.t.Error(err)
		}
		req.Header.Set("Content-Type", "application/json")
		return req
	}
}

// Client and server share the machine: the numbers are for comparing.
func BenchmarkSubmitOverHTTP(b *testing.B) {
	d := quiet(b)
	hammer(b, d, d.post("BoardService/Submit", `{"board":"coins","entries":[{"key":"player_00042","score":123456}]}`))
}

func BenchmarkTop50OverHTTP(b *testing.B) {
	d := quiet(b)
	hammer(b, d, d.post("BoardService/Top", `{"board":"coins","count":50}`))
}

func BenchmarkTop50ByGET(b *testing.B) {
	d := quiet(b)
	q := url.Values{"encoding": {"json"}, "message": {`{"board":"coins","count":50}`}}.Encode()
	hammer(b, d, func() *http.Request {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+d.addr+"/shoal.v1.BoardService/Top?"+q, nil)
		if err != nil {
			b.Error(err)
		}
		return req
	})
}

func BenchmarkStandingOverHTTP(b *testing.B) {
	d := quiet(b)
	hammer(b, d, d.post("BoardService/Standing", `{"board":"coins","key":"player_00420"}`))
}

func BenchmarkTransactOverHTTP(b *testing.B) {
	d := quiet(b)
	d.call("ProfileService/Load", ann)
	hammer(b, d, d.post("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"increment","path":"/coins","by":1}]}`))
}

// The floor: what net/http does without us.
func BenchmarkLivez(b *testing.B) {
	d := quiet(b)
	hammer(b, d, func() *http.Request {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+d.addr+"/livez", nil)
		if err != nil {
			b.Error(err)
		}
		return req
	})
}

// A scrape of a busy daemon: 10,000 sessions, 200 boards.
func BenchmarkScrape(b *testing.B) {
	boards := make(map[string]board.Config)
	for i := range 200 {
		boards[fmt.Sprintf("board%03d", i)] = board.Config{}
	}
	d := startDaemon(b, setup{boards: boards})
	for i := range 10_000 {
		if _, err := d.set.Load(b.Context(), fmt.Sprintf("player_%05d", i), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if got := d.do(http.MethodGet, "/metrics", ""); got.status != http.StatusOK {
			b.Fatalf("%d %s", got.status, got.body)
		}
	}
	b.ReportMetric(float64(len(d.do(http.MethodGet, "/metrics", "").body)), "bytes")
}
