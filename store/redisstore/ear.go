package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/clock"
)

// How a lost connection of the bus is made again.
const (
	earPause    = 50 * time.Millisecond // before the second try; it doubles
	earPauseMax = 2 * time.Second
	earTogether = 512 // topics of one SUBSCRIBE
)

var errDeaf = errors.New("redisstore: the connection of the bus is gone")

// ear keeps one connection that hears what is wanted.
type ear struct {
	client  rueidis.Client
	keys    keys
	heard   *heard
	deliver func(topic, message string)
	options Options
	end     context.CancelFunc
	ctx     context.Context //nolint:containedctx // it is the ear's life, and ends it
	done    chan struct{}   // closed when the goroutine is gone
}

func newEar(c rueidis.Client, k keys, h *heard, deliver func(topic, message string), o Options) *ear {
	e := &ear{client: c, keys: k, heard: h, deliver: deliver, options: o, done: make(chan struct{})}
	e.ctx, e.end = context.WithCancel(context.Background())
	return e
}

func (e *ear) start() { go e.run() }

// never is called instead of start, when nobody ever subscribed.
func (e *ear) never() { close(e.done) }

func (e *ear) stop() { e.end() }

// wait waits for the goroutine to be gone.
func (e *ear) wait(ctx context.Context) error {
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// run hears until the end: when a connection is lost, by the next.
func (e *ear) run() {
	defer close(e.done)
	defer e.heard.deaf(errDeaf)
	pause := earPause
	for e.ctx.Err() == nil {
		heard, err := e.hear()
		e.heard.deaf(err)
		if e.ctx.Err() != nil {
			return
		}
		if heard {
			pause = earPause
		}
		e.options.Logger.WarnContext(e.ctx, "the bus hears nothing", "err", err, "again", pause)
		if clock.Sleep(e.ctx, e.options.Clock, pause) != nil {
			return
		}
		pause = min(2*pause, earPauseMax)
	}
}

// hear hears by one connection until it is lost; heard tells that there was one.
func (e *ear) hear() (heard bool, err error) {
	d, _ := e.client.Dedicate()
	defer d.Close()
	channel := e.keys.channel("")
	lost := d.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) {
		e.deliver(strings.TrimPrefix(m.Channel, channel), m.Message)
	}})
	have := make(map[string]bool)
	for {
		if err := e.follow(d, have); err != nil {
			return heard, err
		}
		heard = true
		select {
		case err := <-lost:
			if err == nil {
				err = errDeaf
			}
			return heard, err
		case <-e.heard.wake:
		case <-e.ctx.Done():
			return heard, errDeaf
		}
	}
}

// follow subscribes to what is wanted, and not to what is not.
func (e *ear) follow(d rueidis.DedicatedClient, have map[string]bool) error {
	begin, end := e.heard.difference(have)
	for some := range slices.Chunk(begin, earTogether) {
		if err := e.ask(d, d.B().Subscribe().Channel(e.channels(some)...).Build()); err != nil {
			return err
		}
		for _, topic := range some {
			have[topic] = true
		}
		e.heard.hears(some)
	}
	for some := range slices.Chunk(end, earTogether) {
		if err := e.ask(d, d.B().Unsubscribe().Channel(e.channels(some)...).Build()); err != nil {
			return err
		}
		for _, topic := range some {
			delete(have, topic)
		}
	}
	return nil
}

func (e *ear) ask(d rueidis.DedicatedClient, c rueidis.Completed) error {
	ctx, cancel := clock.WithTimeout(e.ctx, e.options.Clock, e.options.AnswerTimeout)
	defer cancel()
	return d.Do(ctx, c).Error()
}

func (e *ear) channels(topics []string) []string {
	channels := make([]string, len(topics))
	for i, topic := range topics {
		channels[i] = e.keys.channel(topic)
	}
	return channels
}
