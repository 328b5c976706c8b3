package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

// AuditEntry is what the audit log keeps of a commit, or of what an operator did to a profile.
type AuditEntry struct {
	// Revision of the commit; of an act that is no commit, the profile's at the time.
	Revision uint64
	// Through is the last revision that the entry stands for: Revision, except where many
	// commits had to be put together.
	Through uint64
	// Commits is how many audited commits it stands for.
	Commits int
	ID      string // of the commit
	Time    time.Time
	Source  Source // without its ID
	// Claim is Commit.Claim.
	Claim string
	// Edits are what the commit changed. A large change (over 16 KiB) has Paths instead.
	Edits []doc.Edit
	Paths []doc.Path
	// More is how many edits are in neither.
	More int
}

// AuditQuery picks entries of a profile's audit log. Nil is fine, zero is the default.
type AuditQuery struct {
	// From is the revision to begin with: the first one wanted, or, in reverse, the last.
	// Default: the oldest, or the newest.
	From uint64
	// Limit is how many entries to answer. Default 100, at most 1,000.
	Limit int
	// Reverse answers the newest first.
	Reverse bool
}

const (
	defaultAuditLimit = 100
	maxAuditLimit     = 1000
)

// Audit is the audit log of a profile: who changed what, kept beyond the session. It shows what
// is stored; the commits of an open session come with its next save. More entries than Limit
// are read by asking again from behind the last one (Through + 1, or Revision - 1 in reverse).
// AuditFor and AuditKeep bound how far it reaches back. It is read behind everything else, as
// Read is. A store that cannot list answers store.ErrUnsupported.
func (s *Set) Audit(ctx context.Context, key string, q *AuditQuery) ([]AuditEntry, error) {
	var o AuditQuery
	if q != nil {
		o = *q
	}
	defaultTo(&o.Limit, defaultAuditLimit)
	err := name.CheckKey("key", key)
	if err == nil && (o.Limit < 1 || o.Limit > maxAuditLimit) {
		err = fmt.Errorf("%w: a limit of 1 to %d expected, got %d", store.ErrInvalid, maxAuditLimit, o.Limit)
	}
	if err != nil {
		return nil, fmt.Errorf("profile: audit: %w", err)
	}
	out, err := s.audit(ctx, key, o)
	if err != nil {
		return nil, fmt.Errorf("profile: audit %s: %w", key, err)
	}
	return out, nil
}

var errEnough = errors.New("enough")

func (s *Set) audit(ctx context.Context, key string, q AuditQuery) (out []AuditEntry, err error) {
	err = s.eachAudited(ctx, key, func(e AuditEntry) error {
		switch {
		case !q.Reverse && e.Through < q.From:
		case q.Reverse && q.From != 0 && e.Revision > q.From:
		case len(out) < q.Limit:
			out = append(out, e)
		case !q.Reverse:
			return errEnough
		default: // the oldest of them goes
			out = append(out[1:], e)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if q.Reverse {
		slices.Reverse(out)
	}
	return out, nil
}

// eachAudited calls fn with every entry, the oldest first, until it answers an error.
func (s *Set) eachAudited(ctx context.Context, key string, fn func(AuditEntry) error) error {
	rows := s.leisurely()
	for rec, err := range rows.Scan(ctx, store.Prefix(auditPrefix(s.name, key))) {
		if err != nil {
			return err
		}
		entries, err := decodeAudit(rec.Value)
		if err != nil {
			s.log.WarnContext(ctx, "not a row of the audit log: left out", "at", rec.Key, "err", err)
			continue
		}
		for _, e := range entries {
			if err := fn(e); err != nil {
				return err
			}
		}
	}
	return nil
}
