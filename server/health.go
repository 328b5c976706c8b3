package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// probeTimeout bounds what /readyz asks the store.
const probeTimeout = 2 * time.Second

// probe tells whether a path is one of the health probes, which need no key: whoever starts
// and stops daemons has none.
func probe(path string) bool { return path == "/livez" || path == "/readyz" }

// livez answers while the process can answer at all.
func (s *Server) livez(w http.ResponseWriter, _ *http.Request) {
	answerProbe(w, nil)
}

// readyz answers 200 when the daemon can do its work: it is not closing, its own heartbeats
// land, and the durable store answers. Parts of the store that it can do without for a while are
// named when they do not answer.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	answerProbe(w, s.unready(r.Context()), s.ailing()...)
}

// ailing is a line for each part of the store that does not answer.
func (s *Server) ailing() []string {
	var lines []string
	for _, p := range s.parts.down() {
		lines = append(lines, fmt.Sprintf("the %s part of the store has not answered for %v: %s (%v)", p.role, s.clock.Now().Sub(p.since).Round(time.Second), partWords(p.role), p.err))
	}
	return lines
}

// unready says why the daemon cannot do its work, or nil.
func (s *Server) unready(ctx context.Context) error {
	select {
	case <-s.closing.begun:
		return errClosing
	case <-s.node.Closing():
		return errClosing
	case <-s.node.Failed():
		return refuse(internal, "", "another process uses this node's id")
	default:
	}
	if !s.node.Beating() {
		return refuse(storeDown, "", "this node's heartbeats do not land in the store")
	}
	ctx, cancel := clock.WithTimeout(ctx, s.clock, probeTimeout)
	defer cancel()
	if _, err := s.node.Store().Durable().Now(ctx); err != nil {
		return refuse(storeDown, "", "the store does not answer: %v", err)
	}
	return nil
}

func answerProbe(w http.ResponseWriter, err error, more ...string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	text := "ok"
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = err.Error()
	}
	_, _ = w.Write([]byte(strings.Join(append([]string{text}, more...), "\n") + "\n"))
}
