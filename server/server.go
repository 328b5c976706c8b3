package server

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectgzip"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
)

// Config of a [Server].
type Config struct {
	// Node is what the server speaks for: its sets, boards and seasons. Needed. The server does
	// not close it.
	Node *shoal.Node
	// APIKey is what callers show as "Authorization: Bearer <key>", at least 16 bytes. Default:
	// none, which is development mode: loopback listeners only.
	APIKey string
	// MetricsKey is a second key, at least 16 bytes, that opens /metrics and nothing else, so that
	// who collects metrics need not be able to change players. Needs an APIKey, which opens
	// /metrics as well. Default: none.
	MetricsKey string
	// Version of the daemon, for Status. Default "devel".
	Version string
	// Limits of sizes, times and concurrency.
	Limits Limits
	// Logger takes one line a request and what an operator should know. Default: the node's.
	Logger *slog.Logger
}

// Server answers calls. Make one with [New].
type Server struct {
	node        *shoal.Node
	sets        map[string]*profile.Set
	setNames    []string // sorted
	boards      *board.Service
	pages       pages
	seasons     map[string]*shoal.Competition
	seasonNames []string // sorted
	following   following
	version     string
	clock       clock.Clock
	logger      *slog.Logger
	limits      Limits
	access      access
	table       table
	errorWriter *connecthttp.ErrorWriter
	mux         *http.ServeMux
	calls       gate
	loads       gate
	watches     gate
	inFlight    atomic.Int64
	metrics     *metrics
	parts       *partWatch

	closing struct {
		once  sync.Once
		begun chan struct{} // closed when Close begins
		ended chan struct{} // closed when err is set
		err   error
	}
	http *http.Server
}

// New makes a server that is ready to Serve. It fails on a configuration that is not usable
// and says everything that is wrong with it.
func New(cfg Config) (*Server, error) {
	limits, limitsErr := cfg.Limits.withDefaults()
	access, accessErr := newAccess(cfg.APIKey, cfg.MetricsKey)
	var nodeErr error
	if cfg.Node == nil {
		nodeErr = errors.New("server: Node is needed")
	}
	if err := errors.Join(nodeErr, limitsErr, accessErr); err != nil {
		return nil, err
	}
	s := &Server{
		node: cfg.Node, sets: cfg.Node.Sets(), boards: cfg.Node.Boards(), seasons: cfg.Node.Seasons(), version: cfg.Version, clock: cfg.Node.Clock(), logger: cfg.Logger,
		limits: limits, access: access, table: newTable(), errorWriter: connecthttp.NewErrorWriter(),
		mux: http.NewServeMux(), calls: newGate(limits.Calls), loads: newGate(limits.Loads), watches: newGate(limits.Watches),
	}
	if s.logger == nil {
		s.logger = cfg.Node.Logger()
	}
	if s.version == "" {
		s.version = "devel"
	}
	s.setNames = slices.Sorted(maps.Keys(s.sets))
	s.seasonNames = slices.Sorted(maps.Keys(s.seasons))
	s.following = newFollowing(s.seasonNames)
	s.closing.begun = make(chan struct{})
	s.closing.ended = make(chan struct{})
	s.parts = newPartWatch(cfg.Node.Store(), s.clock)
	s.metrics = newMetrics(s)
	s.http = s.newHTTP()
	s.mount()
	return s, nil
}

// newHTTP is the HTTP server with its limits: HTTP/1.1, and HTTP/2 without TLS for gRPC.
func (s *Server) newHTTP() *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           s,
		Protocols:         &protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: s.limits.Streams},
		ReadHeaderTimeout: s.limits.HeaderTimeout,
		WriteTimeout:      s.limits.HeaderTimeout + s.limits.BodyTimeout + max(s.limits.LoadTimeout, s.limits.CallTimeout) + s.limits.BodyTimeout,
		IdleTimeout:       s.limits.IdleTimeout,
		MaxHeaderBytes:    s.limits.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
	}
}

func (s *Server) mount() {
	calls := connect.NewServer(s.intercept)
	shoalv1connect.RegisterProfileServiceHandler(calls, profileService{s})
	shoalv1connect.RegisterMailServiceHandler(calls, mailService{s})
	shoalv1connect.RegisterSeasonServiceHandler(calls, seasonService{s})
	shoalv1connect.RegisterBoardServiceHandler(calls, boardService{s})
	shoalv1connect.RegisterNodeServiceHandler(calls, nodeService{s})
	calls.SetUnknownHandler(func(_ context.Context, spec connect.Spec, _ connect.ServerStream) error {
		return refuse(unknownPath, "", "there is no call %s", spec.Procedure)
	})
	connecthttp.Mount(procedures{s}, calls,
		connecthttp.WithCodecs(connectproto.NewBinaryCodec(), &pageCodec{}),
		connecthttp.WithReadMaxBytes(s.limits.BodyBytes),
		connecthttp.WithCompressors(connectgzip.New(connectgzip.WithLevel(gzip.BestSpeed))),
		connecthttp.WithCompressMinBytes(compressFrom),
	)
	for path, answer := range map[string]http.HandlerFunc{"/livez": s.livez, "/readyz": s.readyz, metricsPath: s.scrape} {
		s.mux.HandleFunc(path, answer)
		s.metrics.requests.add(path)
	}
	s.mux.HandleFunc("/", s.fallback)
}

// compressFrom is the size in bytes from which an answer is compressed for who accepts it. A
// page of fifty entries has 3 KiB, and compressing it takes longer than all else.
const compressFrom = 16 << 10

// Serve answers calls on l until Close, and then returns nil. When ctx ends it closes the
// server, within CloseTimeout. It refuses an address that others can reach when the server
// has no API key. Several listeners may be served at once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.access.checkListener(l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	s.announce(ctx, l.Addr())
	s.parts.start(ctx, s.closing.begun)
	stop := context.AfterFunc(ctx, func() {
		closeCtx, cancel := clock.WithTimeout(context.WithoutCancel(ctx), s.clock, s.limits.CloseTimeout)
		defer cancel()
		_ = s.Close(closeCtx) // Serve returns its error
	})
	err := s.http.Serve(l)
	stop()
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("server: serve %s: %w", l.Addr(), err)
	}
	<-s.closing.ended
	return s.closing.err
}

// announce logs where the server listens, and loudly what an operator has to know about it.
func (s *Server) announce(ctx context.Context, addr net.Addr) {
	s.logger.InfoContext(ctx, "serving", "addr", addr.String(), "version", s.version, "bodyBytes", s.limits.BodyBytes,
		"calls", s.limits.Calls, "loads", s.limits.Loads, "watches", s.limits.Watches, "callTimeout", s.limits.CallTimeout, "loadTimeout", s.limits.LoadTimeout)
	switch {
	case !s.access.keyed:
		s.logger.WarnContext(ctx, "DEVELOPMENT MODE: no API key is configured; every program on this machine can read and change all data", "addr", addr.String())
	case !localAddr(addr):
		s.logger.WarnContext(ctx, "no TLS here: data and the API key can be read on the network; put a TLS proxy in front", "addr", addr.String())
	}
}

// Close ends the server gracefully: it takes no more connections, ends loads that wait and watches, and
// waits for the calls in flight. When ctx ends it breaks what is left and says how many calls
// that were; each is done, not done or unknown to its caller. The node and its sessions stay;
// close the node afterwards. Callers share one closing.
func (s *Server) Close(ctx context.Context) error {
	s.closing.once.Do(func() {
		close(s.closing.begun)
		err := s.http.Shutdown(ctx)
		if err != nil {
			left := s.inFlight.Load()
			err = errors.Join(fmt.Errorf("server: close: %d calls in flight: %w", left, err), s.http.Close())
		}
		s.parts.wait()
		s.closing.err = err
		close(s.closing.ended)
	})
	<-s.closing.ended
	return s.closing.err
}
