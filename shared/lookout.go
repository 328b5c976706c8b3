package shared

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

const (
	perLook          = 64              // keys of one read
	subscribeTimeout = 2 * time.Second // bounds a subscription, which holds up no watch
	subscribeAgain   = 5 * time.Second // how often a failed one is tried again, at the latest
)

// lookout knows the newest state of the documents that are watched, and tells the watches. One
// goroutine reads what a message has named, and all of it every PollEvery.
type lookout struct {
	set  *Documents
	kick chan struct{}
	gone chan struct{} // closed when the goroutine has ended

	subscription store.Subscription // of the goroutine; nil: none
	missed       bool               // of the goroutine: the last look did not read everything

	mu struct {
		sync.Mutex
		topics  map[string]*topic
		dirty   map[string]struct{} // watched keys that a message has named
		watches int
		closed  bool
	}
}

// topic is one document that is watched. It is guarded by the lookout.
type topic struct {
	key     string
	newest  reading
	state   uint64 // counts the states; 0: none is known yet
	watches map[*Watch]struct{}
}

// begin starts the goroutine, which ends with the set's life.
func (l *lookout) begin(d *Documents) {
	l.set, l.kick, l.gone = d, make(chan struct{}, 1), make(chan struct{})
	l.mu.topics, l.mu.dirty = make(map[string]*topic), make(map[string]struct{})
	go l.run()
}

func (l *lookout) add(key string) (*Watch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.mu.closed:
		return nil, ErrClosed
	case l.mu.watches >= l.set.opts.MaxWatches:
		return nil, ErrFull
	}
	t := l.mu.topics[key]
	if t == nil {
		t = &topic{key: key, watches: make(map[*Watch]struct{})}
		l.mu.topics[key] = t
	}
	w := &Watch{lookout: l, topic: t, news: make(chan struct{}, 1), ended: make(chan struct{})}
	t.watches[w] = struct{}{}
	if l.mu.watches++; l.mu.watches == 1 {
		wake(l.kick) // there is something to look out for
	}
	return w, nil
}

func (l *lookout) remove(w *Watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.end()
	if _, there := w.topic.watches[w]; !there {
		return
	}
	delete(w.topic.watches, w)
	if len(w.topic.watches) == 0 {
		delete(l.mu.topics, w.topic.key)
	}
	if l.mu.watches--; l.mu.watches == 0 {
		wake(l.kick)
	}
}

// newer is a state that the watch has not seen.
func (l *lookout) newer(w *Watch) (Document, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.topic.state == w.seen {
		return Document{}, false
	}
	select {
	case <-w.ended:
		return Document{}, false
	default:
	}
	w.seen = w.topic.state
	return documentOf(w.topic.key, w.topic.newest.record), true
}

// tell takes in what somebody has read or written. Readings may come late: an older one is
// nothing new.
func (l *lookout) tell(key string, r reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.mu.topics[key]; t != nil && r.problem == nil && (t.state == 0 || r.record.revision > t.newest.record.revision) {
		t.becomeLocked(r)
	}
}

func (t *topic) becomeLocked(r reading) {
	t.newest = r
	t.state++
	for w := range t.watches {
		wake(w.news)
	}
}

// run is the goroutine. While nothing is watched it sleeps, and is not subscribed.
func (l *lookout) run() {
	defer close(l.gone)
	defer l.unsubscribe()
	next := l.set.clk.Now().Add(l.period())
	for l.wait(next) {
		if l.idle() {
			l.unsubscribe()
			continue
		}
		now := l.set.clk.Now()
		all := !now.Before(next) // also what an earlier look has missed
		if l.subscription == nil && l.subscribe() {
			all = true // what was announced before has not been heard
		}
		if all {
			next = l.set.clk.Now().Add(l.period())
		}
		l.look(all)
	}
}

// wait waits for a kick, or for the next poll if there is something to poll; false is the end.
func (l *lookout) wait(next time.Time) bool {
	var due <-chan time.Time
	if !l.idle() && (l.set.opts.PollEvery > 0 || l.subscription == nil || l.missed) {
		t := l.set.clk.NewTimer(next.Sub(l.set.clk.Now()))
		defer t.Stop()
		due = t.C()
	}
	select {
	case <-due:
	case <-l.kick:
	case <-l.set.life().Done():
		return false
	}
	return true
}

func (l *lookout) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.watches == 0
}

// period is PollEvery give or take a tenth, so that nodes do not poll together.
func (l *lookout) period() time.Duration {
	every := l.set.opts.PollEvery
	if every < 0 {
		every = subscribeAgain
	}
	return every - every/10 + time.Duration(l.set.node.Random("poll", l.set.name)%uint64(every/5+1))
}

func (l *lookout) subscribe() bool {
	ctx, cancel := clock.WithTimeout(l.set.life(), l.set.clk, subscribeTimeout)
	defer cancel()
	sub, err := l.set.node.Store().Bus().Subscribe(ctx, topicOf(l.set.name), l.hear)
	if err != nil {
		l.set.log.DebugContext(ctx, "no messages about changes for now", "err", err)
		return false
	}
	l.subscription = sub
	return true
}

func (l *lookout) unsubscribe() {
	if l.subscription != nil {
		l.subscription.Close()
		l.subscription = nil
	}
}

// hear takes a message: it only remembers what to look at.
func (l *lookout) hear(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, revision := range announced(message) {
		if t := l.mu.topics[key]; t != nil && (t.state == 0 || revision > t.newest.record.revision) {
			l.mu.dirty[key] = struct{}{}
		}
	}
	if len(l.mu.dirty) > 0 {
		wake(l.kick)
	}
}

// look reads what was named, or all.
func (l *lookout) look(all bool) {
	l.missed = l.missed && !all
	for keys := range slices.Chunk(l.due(all), perLook) {
		if err := l.read(keys); err != nil {
			l.missed = true
			l.set.log.DebugContext(l.set.life(), "watched documents were not read", "documents", len(keys), "err", err)
		}
	}
}

// due takes out which keys to read, in order.
func (l *lookout) due(all bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]string, 0, len(l.mu.topics))
	for key := range l.mu.topics {
		if _, dirty := l.mu.dirty[key]; all || dirty {
			out = append(out, key)
		}
	}
	clear(l.mu.dirty)
	slices.Sort(out)
	return out
}

// read reads documents and tells the watches what is new. A reading that began after the last
// state became known counts even if its revision is lower: the store was restored.
func (l *lookout) read(keys []string) error {
	before := l.states(keys)
	recs, err := l.get(keys)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, rec := range recs {
		t, r := l.mu.topics[keys[i]], readingOf(rec)
		if t == nil || r.problem != nil {
			continue
		}
		newer := t.state == 0 || r.record.revision > t.newest.record.revision
		if newer || before[i] == (state{t, t.state}) && r.version != t.newest.version {
			t.becomeLocked(r)
		}
	}
	return nil
}

// state is which state of a topic is the newest.
type state struct {
	topic *topic
	count uint64
}

func (l *lookout) states(keys []string) []state {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]state, len(keys))
	for i, key := range keys {
		if t := l.mu.topics[key]; t != nil {
			out[i] = state{t, t.state}
		}
	}
	return out
}

func (l *lookout) get(keys []string) ([]store.Record, error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		if err := l.set.node.Pass(l.set.life(), node.ClassBackground, node.KindRead); err != nil {
			return nil, err
		}
		names[i] = recordKey(l.set.name, key)
	}
	ctx, cancel := l.call()
	defer cancel()
	return l.set.durable.Get(ctx, names...)
}

func (l *lookout) call() (context.Context, context.CancelFunc) {
	return clock.WithTimeout(l.set.life(), l.set.clk, l.set.opts.CallTimeout)
}

// close ends all watches. The set's life has ended.
func (l *lookout) close() {
	l.mu.Lock()
	l.mu.closed = true
	for _, t := range l.mu.topics {
		for w := range t.watches {
			w.end()
		}
	}
	l.mu.Unlock()
	<-l.gone
}
