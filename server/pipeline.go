package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
)

// ServeHTTP answers one request: it is logged, and a panic ends this request only.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	start := s.clock.Now()
	c := &call{}
	w := &response{ResponseWriter: rw, call: c}
	c.writer = w
	r = r.WithContext(withCall(r.Context(), c))
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	defer func() { s.metrics.requests.note(r.URL.Path, w, s.clock.Now().Sub(start)) }()
	defer func() {
		if p := recover(); p != nil {
			s.afterPanic(w, r, p)
		}
		s.log(w, r, s.clock.Now().Sub(start))
	}()
	if !probe(r.URL.Path) {
		if err := s.access.admit(r); err != nil {
			s.refuse(w, r, err)
			return
		}
	}
	s.mux.ServeHTTP(w, r)
}

// passAbort goes on with the panic that is the way to break a connection on purpose.
func passAbort(p any) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
}

// afterPanic answers for a handler that panicked outside a call.
func (s *Server) afterPanic(w *response, r *http.Request, p any) {
	w.call.code = connect.CodeCanceled
	passAbort(p)
	w.call.code = connect.CodeInternal
	s.logger.ErrorContext(r.Context(), "panic", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	if w.status == 0 {
		s.refuse(w, r, refuse(internal, "", "the daemon failed"))
	}
}

// log writes one line a request: refusals of the caller at info, our own faults at error,
// the rest at debug.
func (s *Server) log(w *response, r *http.Request, took time.Duration) {
	c := w.call
	level := slog.LevelDebug
	switch {
	case w.status >= http.StatusInternalServerError && w.status != http.StatusServiceUnavailable && w.status != http.StatusGatewayTimeout:
		level = slog.LevelError
	case c.reason != "" || w.status >= http.StatusBadRequest:
		level = slog.LevelInfo
	}
	if !s.logger.Enabled(r.Context(), level) {
		return
	}
	attrs := []any{"method", r.Method, "path", r.URL.Path, "status", w.status, "bytes", w.bytes, "took", took, "peer", r.RemoteAddr}
	if c.reason != "" {
		attrs = append(attrs, "reason", string(c.reason))
	}
	if c.err != nil {
		attrs = append(attrs, "err", c.err)
	}
	s.logger.Log(r.Context(), level, "request", attrs...)
}

// refuse answers a request that does not reach a call.
func (s *Server) refuse(w *response, r *http.Request, err error) {
	wire := s.table.wire(err, w.call)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if w.call.reason == unauthenticated {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if w.call.reason == overloaded {
		h.Set("Retry-After", "1")
	}
	if err := s.errorWriter.Write(w, r, wire); err != nil && w.call.err == nil {
		w.call.err = err
	}
}

// procedures is the mux that Connect's handlers are mounted on: each gets its gate and the
// checks of its body.
type procedures struct{ s *Server }

// Handle mounts a handler.
func (p procedures) Handle(pattern string, h http.Handler) {
	g := p.s.calls
	switch {
	case pattern == shoalv1connect.ProfileServiceLoadProcedure:
		g = p.s.loads
	case isWatch(pattern):
		g = p.s.watches
	}
	if !strings.HasSuffix(pattern, "/") { // those are for calls that there are not
		p.s.metrics.requests.add(pattern)
	}
	p.s.mux.Handle(pattern, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := rw.(*response) // made by ServeHTTP
		if err := cmp.Or(checkMethod(r), checkStream(r, pattern)); err != nil {
			p.s.refuse(w, r, err)
			return
		}
		if !g.enter() {
			p.s.refuse(w, r, refuse(overloaded, "", "the daemon is working on %d calls of this kind, its limit", cap(g)))
			return
		}
		defer g.leave()
		p.s.limitBody(w, r)
		h.ServeHTTP(w, r)
	}))
}

// checkMethod refuses what Connect would refuse without a word: other methods, and types of
// content that no codec reads. A type that a page of another origin may send without being
// asked about (text/plain, a form) is among them.
func checkMethod(r *http.Request) error {
	switch r.Method {
	case http.MethodGet:
		q := r.URL.Query()
		if !q.Has("message") || !slices.Contains([]string{"json", "proto"}, q.Get("encoding")) {
			return refuse(badMethod, "", "a GET needs the parameters encoding=json and message={...}")
		}
	case http.MethodPost:
		media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		media = strings.TrimSpace(strings.ToLower(media))
		if media != "application/json" && media != "application/proto" && !strings.HasPrefix(media, "application/grpc") && !strings.HasPrefix(media, "application/connect+") {
			return refuse(badContentType, "", "Content-Type %q is none of application/json, application/proto and those of gRPC", r.Header.Get("Content-Type"))
		}
	default:
		return refuse(badMethod, "", "%s is not answered here; send a POST", r.Method)
	}
	return nil
}

// isWatch tells whether a call answers with a stream that goes on for as long as a session.
func isWatch(procedure string) bool {
	return procedure == shoalv1connect.ProfileServiceWatchProcedure || procedure == shoalv1connect.SeasonServiceWatchProcedure
}

// checkStream refuses requests for a stream of answers whose form has one answer.
func checkStream(r *http.Request, procedure string) error {
	kind := r.Header.Get("Content-Type")
	if !isWatch(procedure) || strings.HasPrefix(kind, "application/grpc") {
		return nil
	}
	switch {
	case r.Method == http.MethodGet:
		return refuse(badMethod, "", "a stream of answers is not to be had by GET; send a POST")
	case !strings.HasPrefix(kind, "application/connect+"):
		return refuse(badContentType, "", "a stream of answers needs the Content-Type application/connect+json, application/connect+proto or one of gRPC")
	}
	return nil
}

// limitBody gives a request's body its time. net/http lifts the limit when the body has been
// read, so that the call itself may take longer.
func (s *Server) limitBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	// Without a connection below (a test's recorder) there is nothing to limit. Connections know
	// the system's clock only.
	_ = http.NewResponseController(w).SetReadDeadline(clock.System().Now().Add(s.limits.BodyTimeout))
}

// intercept is the shell around every call: deadline, faults, and the error's form.
func (s *Server) intercept(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) (err error) {
		ctx, cancel := s.bounded(ctx, spec.Procedure)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				passAbort(p)
				s.logger.ErrorContext(ctx, "panic", "procedure", spec.Procedure, "panic", p, "stack", string(debug.Stack()))
				err = refuse(internal, "", "the daemon failed")
			}
			if err != nil {
				err = s.table.wire(err, callOf(ctx))
			}
		}()
		if info, ok := connect.CallInfoForServerContext(ctx); ok {
			info.ResponseHeader().Set("Cache-Control", "no-store")
		}
		return next(ctx, spec, receiver{stream, s.limits.BodyBytes})
	}
}

// bounded gives a call its deadline. Loads bound themselves, up to LoadTimeout, and watches go
// on for as long as there is somebody to read them. Both end when the server begins to close:
// nobody waits for a session that would be released at once.
func (s *Server) bounded(ctx context.Context, procedure string) (context.Context, context.CancelFunc) {
	watch := isWatch(procedure)
	if !watch && procedure != shoalv1connect.ProfileServiceLoadProcedure {
		return clock.WithTimeout(ctx, s.clock, s.limits.CallTimeout)
	}
	open, cancelCause := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.closing.begun:
			cancelCause(errClosing)
		case <-open.Done():
		}
	}()
	if watch {
		return open, func() { cancelCause(context.Canceled) }
	}
	limited, cancel := clock.WithTimeout(open, s.clock, s.limits.LoadTimeout)
	return limited, func() {
		cancel()
		cancelCause(context.Canceled)
	}
}

// receiver sorts the faults of reading a request.
type receiver struct {
	connect.ServerStream
	limit int
}

// Receive reads the request.
func (r receiver) Receive(msg any) error {
	err := r.ServerStream.Receive(msg)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &failure{reason: slowBody, problem: "the request's body did not arrive in time", cause: err}
	}
	switch code := connect.CodeOf(err); {
	case code == connect.CodeResourceExhausted:
		return &failure{reason: tooLarge, problem: "the message is larger than " + bytesText(r.limit), cause: err}
	case code == connect.CodeInvalidArgument:
		return &failure{reason: malformed, problem: err.Error(), cause: err}
	case code == connect.CodeUnknown:
		return &failure{reason: canceled, problem: "the request's body broke off", cause: err}
	}
	return err
}

// fallback answers paths that nothing is mounted at.
func (s *Server) fallback(rw http.ResponseWriter, r *http.Request) {
	w := rw.(*response) // made by ServeHTTP
	s.refuse(w, r, refuse(unknownPath, "", "nothing is at %s; calls are at /shoal.v1.<Service>/<Method>", r.URL.Path))
}

var _ connecthttp.ServeMux = procedures{}
