package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// rival is a library of other rules.
type rival struct{ rules rivalRules }

// Name implements Library.
func (r rival) Name() string { return r.rules.name }

// Exact implements Library.
func (r rival) Exact() bool { return false }

// Start implements Library.
func (r rival) Start(ctx context.Context, p *Process, _ string, s Settings) (Host, error) {
	h := &rivalHost{rules: r.rules, p: p, parts: p.Parts(), clk: p.Clock(), wait: s.LoadTimeout}
	h.mu.holds = make(map[string]*rivalHold)
	h.mu.loading = make(map[string]bool)
	_, err := h.parts.Bus.Subscribe(ctx, h.topic(p.Name), h.receive)
	return h, err
}

// rivalHost is a rival that runs in a process.
type rivalHost struct {
	rules rivalRules
	p     *Process
	parts store.Parts
	clk   clock.Clock
	wait  time.Duration

	mu struct {
		sync.Mutex
		holds   map[string]*rivalHold
		loading map[string]bool
		closing bool
	}
}

func (h *rivalHost) topic(server string) string { return "rival/" + server }

// ID implements Host.
func (h *rivalHost) ID() string { return h.p.Name }

// Holds implements Host.
func (h *rivalHost) Holds(key string) (epoch uint64, open, busy bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return 0, h.mu.holds[key] != nil, len(h.mu.loading) > 0
}

var (
	errRivalOpen    = errors.New("sim: open already")
	errRivalTimeout = errors.New("sim: load timed out")
)

// receive hears of a request: "<key> <session>".
func (h *rivalHost) receive(payload []byte) {
	key, session, _ := strings.Cut(string(payload), " ")
	h.mu.Lock()
	hold := h.mu.holds[key]
	h.mu.Unlock()
	if hold != nil && hold.me == session {
		hold.ask()
	}
}

// Load implements Host.
func (h *rivalHost) Load(ctx context.Context, key string, how How) (Hold, error) {
	h.mu.Lock()
	switch {
	case h.mu.closing:
		h.mu.Unlock()
		return nil, store.ErrClosed
	case h.mu.holds[key] != nil || h.mu.loading[key]:
		h.mu.Unlock()
		return nil, errRivalOpen
	}
	h.mu.loading[key] = true
	h.mu.Unlock()
	hold, err := h.claim(ctx, key, max(how.Wait, h.wait))
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.mu.loading, key)
	if err != nil {
		return nil, err
	}
	h.mu.holds[key] = hold
	go hold.autosave()
	return hold, nil
}

// claim tries until the session is this load's.
func (h *rivalHost) claim(ctx context.Context, key string, wait time.Duration) (*rivalHold, error) {
	begun, first := h.clk.Now(), time.Time{}
	me := fmt.Sprintf("%s %x", h.p.Name, h.p.Random("session", key))
	pause := time.Second
	for h.clk.Now().Sub(begun) < wait {
		step, holder := rivalWait, ""
		rec, err := h.update(ctx, key, func(rec rivalRecord) (rivalRecord, bool) {
			now, asked := h.clk.Now(), time.Duration(-1)
			if !first.IsZero() {
				asked = now.Sub(first)
			}
			holder = rec.Session
			switch step = h.rules.step(rec, me, now, asked); step {
			case rivalClaim:
				rec.Session, rec.Request, rec.Updated = me, "", now
				return rec, h.rules.lock
			case rivalAsk:
				rec.Request = me
				return rec, h.rules.inRecord
			case rivalWait, rivalOutbid:
			}
			return rec, false
		})
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
		case step == rivalClaim:
			return newRivalHold(h, key, me, rec)
		case step == rivalOutbid:
			return nil, errOutbid
		case step == rivalAsk:
			if first.IsZero() {
				first = h.clk.Now()
			}
			server, _, _ := strings.Cut(holder, " ")
			h.tell(ctx, server, key+" "+holder)
		}
		if err := clock.Sleep(ctx, h.clk, pause); err != nil {
			return nil, err
		}
		pause = min(pause*3/2, 5*time.Second)
	}
	return nil, errRivalTimeout
}

func (h *rivalHost) tell(ctx context.Context, server, text string) {
	ctx, cancel := clock.WithTimeout(ctx, h.clk, callTimeout)
	defer cancel()
	_ = h.parts.Bus.Publish(ctx, h.topic(server), []byte(text)) // best effort
}

// update reads a record, has it changed, and writes it back if nobody else has meanwhile.
func (h *rivalHost) update(ctx context.Context, key string, change func(rivalRecord) (rivalRecord, bool)) (rivalRecord, error) {
	at := "rival/" + setName + "/" + key
	for range 8 {
		rec, version, err := h.read(ctx, at)
		if err != nil {
			return rec, err
		}
		next, write := change(rec)
		if !write {
			return next, nil
		}
		if err = h.write(ctx, at, next, store.Is(version)); err == nil {
			return next, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return next, err
		}
	}
	return rivalRecord{}, fmt.Errorf("sim: %s: too many conflicts", key)
}

func (h *rivalHost) read(ctx context.Context, at string) (rivalRecord, store.Version, error) {
	ctx, cancel := clock.WithTimeout(ctx, h.clk, callTimeout)
	defer cancel()
	recs, err := h.parts.Durable.Get(ctx, at)
	if err != nil {
		return rivalRecord{}, 0, err
	}
	if recs[0].Missing() {
		return rivalRecord{Data: template().Encode(), Updated: h.clk.Now()}, 0, nil
	}
	rec := rivalRecord{age: recs[0].Age}
	return rec, recs[0].Version, json.Unmarshal(recs[0].Value, &rec)
}

func (h *rivalHost) write(ctx context.Context, at string, rec rivalRecord, cond store.Condition) error {
	ctx, cancel := clock.WithTimeout(ctx, h.clk, callTimeout)
	defer cancel()
	return h.parts.Durable.Commit(ctx, store.Tx{{
		Key: at, Op: store.Put, Value: rec.encode(), If: cond, Version: store.VersionFrom(h.p.Random("write", at)),
	}})[0]
}

// Close implements Host.
func (h *rivalHost) Close(ctx context.Context) ([]string, error) {
	ctx, cancel := clock.WithTimeout(ctx, h.clk, 25*time.Second)
	defer cancel()
	h.mu.Lock()
	h.mu.closing = true
	holds := make([]*rivalHold, 0, len(h.mu.holds))
	for _, hold := range h.mu.holds {
		holds = append(holds, hold)
	}
	h.mu.Unlock()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		left []string
	)
	for _, hold := range holds {
		wg.Go(func() {
			if hold.finish(ctx, Closed) != nil {
				mu.Lock()
				defer mu.Unlock()
				left = append(left, hold.key)
				hold.over(Closed)
			}
		})
	}
	wg.Wait()
	return left, nil
}
