package profile

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"github.com/shoalworks/shoal/clock"
)

// hooks are the functions that run when sessions open and leave.
type hooks struct {
	mu struct {
		sync.Mutex
		load, leave []hook
		erase       []eraseHook
		stored      []storedHook
		stuck       map[*Session][]string // hooks that have not returned, by session
	}
}

type hook struct {
	name string
	call func(context.Context, *Session)
}

// OnLoad has fn called with every session that is opened from now on, before Load returns.
// It may change the session. Functions run in the order of registration, each for at most
// HookTimeout, which its context tells; after that the load goes on without it. A panic is
// caught, counted and logged.
func (s *Set) OnLoad(fn func(context.Context, *Session)) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.mu.load = append(s.hooks.mu.load, hook{funcName(fn), fn})
}

// OnLeave has fn called with every session that is about to leave: released, handed over or
// closed, before its final save. It may still change the session. A session that was taken
// by another node is gone already: see Session.Done. If a hand-over cannot be stored and is
// given up, the session lives on, and fn is called again when it leaves. Otherwise as OnLoad.
func (s *Set) OnLeave(fn func(context.Context, *Session)) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.mu.leave = append(s.hooks.mu.leave, hook{funcName(fn), fn})
}

func (h *hooks) loading() []hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.mu.load)
}

func (h *hooks) leaving() []hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.mu.leave)
}

// run calls the hooks one after the other, each within HookTimeout.
func (s *Set) run(ctx context.Context, what string, hooks []hook, sess *Session) {
	for _, h := range hooks {
		s.runOne(ctx, what, h, sess)
	}
}

func (s *Set) runOne(ctx context.Context, what string, h hook, sess *Session) {
	ctx, cancel := clock.WithTimeout(ctx, s.clk, s.opts.HookTimeout)
	defer cancel()
	label := what + " " + h.name
	s.hooks.begin(sess, label)
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		defer s.hooks.end(sess, label)
		defer func() {
			if p := recover(); p != nil {
				s.stats.panics.Add(1)
				s.log.ErrorContext(ctx, "hook panicked", "key", sess.key, "hook", label, "panic", p)
			}
		}()
		h.call(ctx, sess)
	}()
	select {
	case <-returned:
	case <-ctx.Done():
		s.stats.stuck.Add(1)
		s.log.ErrorContext(ctx, "hook did not return in time: going on without it", "key", sess.key, "hook", label, "timeout", s.opts.HookTimeout)
	}
}

func (h *hooks) begin(sess *Session, label string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.stuck == nil {
		h.mu.stuck = make(map[*Session][]string)
	}
	h.mu.stuck[sess] = append(h.mu.stuck[sess], label)
}

func (h *hooks) end(sess *Session, label string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := h.mu.stuck[sess]
	if i := slices.Index(left, label); i >= 0 {
		left = slices.Delete(left, i, i+1)
	}
	if len(left) == 0 {
		delete(h.mu.stuck, sess)
		return
	}
	h.mu.stuck[sess] = left
}

// running names the hooks that have not returned.
func (h *hooks) running() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for sess, labels := range h.mu.stuck {
		for _, l := range labels {
			out = append(out, l+" for "+sess.key)
		}
	}
	slices.Sort(out)
	return out
}

// funcName is the name of a function in the program, for logs and reports.
func funcName(fn any) string {
	if f := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()); f != nil {
		return f.Name()
	}
	return "function"
}
