package season

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/shoalworks/shoal/doc"
)

// PanicError is a callback of the game that panicked. The panic ends the call, and nothing else:
// it would come on every node at once, at the end of a season, and again after each restart.
type PanicError struct {
	Callback string // "Reward", "Revoke", "OnTitle", …
	Value    any    // what was thrown
}

// Error names the callback and what was thrown.
func (e *PanicError) Error() string {
	return fmt.Sprintf("season: %s panicked: %v", e.Callback, e.Value)
}

// tellGame calls a callback that only listens. What it throws is logged and counted.
func (s *Service) tellGame(ctx context.Context, callback string, call func()) {
	defer func() {
		if thrown := recover(); thrown != nil {
			s.counts.panics.Add(1)
			s.log.ErrorContext(ctx, "a callback of the game panicked", "err", &PanicError{callback, thrown}, "stack", string(debug.Stack()))
		}
	}()
	call()
}

// gameOps are the operations that come with titles: what takes rewards back, and then what gives
// them. What the game throws refuses them, as the profile may.
func (s *Service) gameOps(revoked, rewarded []Title) (ops []doc.Op, err error) {
	callback := "Revoke"
	defer func() {
		if thrown := recover(); thrown != nil {
			s.counts.panics.Add(1)
			err = &PanicError{callback, thrown}
		}
	}()
	for _, t := range revoked {
		ops = append(ops, s.deps.Revoke(t)...)
	}
	callback = "Reward"
	for _, t := range rewarded {
		ops = append(ops, s.rewardOps(t)...)
	}
	return ops, nil
}
