package profile

import (
	"context"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// Claim commits with records that are to be written exactly once with the commit, for tests
// of rule B5 from outside.
func (s *Session) Claim(ctx context.Context, rows []store.Write, ops ...doc.Op) (Commit, error) {
	return s.commitWithClaim(ctx, Source{}, &claim{rows: rows}, ops...)
}

// ErrVoid is the error of a claim that cannot be stored.
var ErrVoid = errVoid
