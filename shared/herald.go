package shared

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
)

const (
	maxAnnounced = 1024 // keys that wait to be announced
	perMessage   = 256  // keys of one message

	// publishTimeout bounds one message: it tells nothing that polling does not.
	publishTimeout = 2 * time.Second
)

// herald tells the other nodes which documents have changed: one message at a time, of all
// keys that have changed while the one before was on its way.
type herald struct {
	set  *Documents
	kick chan struct{}
	stop chan struct{} // closed by close
	gone chan struct{} // closed when the goroutine has ended

	mu struct {
		sync.Mutex
		pending map[string]uint64 // revisions by key
		closed  bool
	}
}

// begin starts the goroutine, which ends with close.
func (h *herald) begin(d *Documents) {
	h.set, h.kick, h.stop, h.gone = d, make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	h.mu.pending = make(map[string]uint64)
	go h.run()
}

// announce has the others hear of a change. It never blocks; when too many keys wait, polling
// has to do.
func (h *herald) announce(key string, revision uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.mu.pending[key]; h.mu.closed || !known && len(h.mu.pending) >= maxAnnounced {
		return
	}
	h.mu.pending[key] = max(h.mu.pending[key], revision)
	wake(h.kick)
}

func (h *herald) run() {
	defer close(h.gone)
	for {
		select {
		case <-h.kick:
		case <-h.stop:
			h.publish()
			return
		}
		h.publish()
	}
}

// publish sends what waits.
func (h *herald) publish() {
	for {
		message := h.next()
		if message == "" {
			return
		}
		ctx, cancel := clock.WithTimeout(h.set.life(), h.set.clk, publishTimeout)
		err := h.set.node.Store().Bus().Publish(ctx, topicOf(h.set.name), []byte(message))
		cancel()
		if err != nil {
			h.set.log.DebugContext(h.set.life(), "changes were not announced", "err", err)
		}
	}
}

// next takes out what goes into one message: a line "<key> <revision>" for each.
func (h *herald) next() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	n := 0
	for key, revision := range h.mu.pending {
		if n++; n > perMessage {
			break
		}
		delete(h.mu.pending, key)
		b.WriteString(key + " " + strconv.FormatUint(revision, 10) + "\n")
	}
	return b.String()
}

// close sends what waits, and ends the goroutine. It is bounded by the set's life.
func (h *herald) close() {
	h.mu.Lock()
	h.mu.closed = true
	h.mu.Unlock()
	close(h.stop)
	<-h.gone
}

// announced reads a message; what is malformed is left out.
func announced(message []byte) map[string]uint64 {
	out := make(map[string]uint64)
	for line := range strings.Lines(string(message)) {
		key, number, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if revision, err := strconv.ParseUint(number, 10, 64); err == nil && len(out) < perMessage {
			out[key] = revision
		}
	}
	return out
}

// wake puts a token into a channel that holds one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
