package profile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

// ErrNoVersion means that no version of the profile is kept under this revision: see Set.Versions.
var ErrNoVersion = errors.New("no such version")

// Version is an earlier state of a profile, kept when a save replaced it.
type Version struct {
	Revision uint64
	Schema   int       // of its data
	At       time.Time // when it was stored
	Bytes    int       // of the whole row
	Data     doc.Value // as it was stored then; null in a list
}

// Versions are the versions that are kept of a profile, the oldest first, without their data:
// at most one each VersionEvery, for VersionFor, at most VersionKeep; and the state before
// each Restore. It is read behind everything else, as Read is. A store that cannot list answers
// store.ErrUnsupported.
func (s *Set) Versions(ctx context.Context, key string) ([]Version, error) {
	if err := name.CheckKey("key", key); err != nil {
		return nil, fmt.Errorf("profile: versions: %w", err)
	}
	var out []Version
	rows := s.leisurely()
	for rec, err := range rows.Scan(ctx, store.Prefix(versionPrefix(s.name, key))) {
		if err != nil {
			return nil, fmt.Errorf("profile: versions %s: %w", key, err)
		}
		v, err := decodeVersion(rec.Value)
		if err != nil {
			s.log.WarnContext(ctx, "not a version: left out", "at", rec.Key, "err", err)
			continue
		}
		out = append(out, Version{Revision: v.revision, Schema: v.schema, At: v.at, Bytes: len(rec.Value)})
	}
	return out, nil
}

// Version is one of them, with its data. There is none: ErrNoVersion.
func (s *Set) Version(ctx context.Context, key string, revision uint64) (Version, error) {
	if err := name.CheckKey("key", key); err != nil {
		return Version{}, fmt.Errorf("profile: version: %w", err)
	}
	v, err := s.version(ctx, key, revision)
	if err != nil {
		return Version{}, fmt.Errorf("profile: version %d of %s: %w", revision, key, err)
	}
	return v, nil
}

func (s *Set) version(ctx context.Context, key string, revision uint64) (Version, error) {
	recs, err := s.leisurely().Get(ctx, versionKey(s.name, key, revision))
	switch {
	case err != nil:
		return Version{}, err
	case recs[0].Missing():
		return Version{}, ErrNoVersion
	}
	v, err := decodeVersion(recs[0].Value)
	if errors.Is(err, errLaterFormat) {
		return Version{}, fmt.Errorf("%w: %w", ErrNewerSchema, err)
	}
	if err != nil {
		return Version{}, fmt.Errorf("%w: what is there is none: %w", ErrNoVersion, err)
	}
	return Version{Revision: v.revision, Schema: v.schema, At: v.at, Bytes: len(recs[0].Value), Data: v.data}, nil
}

// Restored tells what a Restore has done.
type Restored struct {
	Commit Commit
	From   Version // what was restored, without its data
	// Kept is the revision of the state before, which is a version from now on.
	Kept uint64
	// Claimed are the receipts, mails and trades since the version, oldest first. The effect of
	// their commits is gone with the state that was replaced; what they claimed stays: a
	// receipt cannot be granted again. They come from the audit log.
	Claimed []AuditEntry
	// Complete tells that the audit log reaches back to the version, so that Claimed are all.
	Complete bool
}

// Restore brings the data back to a version, by a commit like any other, and returns when that
// is stored: in the same write the state before becomes a version, so it is never lost. Data
// of an older form comes through the migrations first. It is refused as a transaction is, and
// with ErrNoVersion, ErrNewerSchema, ErrMigration and ErrSchema, and with ErrRepeated for a
// Source.ID of another request; one that was made before is in Commit.Repeated. A store of single records
// answers store.ErrUnsupported. When only the storing failed, the error says so (see Save), the
// answer is there all the same, and the session goes on trying. An empty Source.Note becomes
// "restore of revision <n>".
func (s *Session) Restore(ctx context.Context, src Source, revision uint64) (Restored, error) {
	out, to, err := s.past(ctx, revision)
	if err != nil {
		return out, fmt.Errorf("profile: restore %s to revision %d: %w", s.key, revision, err)
	}
	if src.Note == "" {
		src.Note = fmt.Sprintf("restore of revision %d", revision)
	}
	c := &claim{rows: make([]store.Write, 1)}
	digest := fmt.Sprintf("restore %d", revision)
	out.Commit, err = s.transact(proposal{src: src, digest: digest, claim: c, fn: func(now doc.Value) ([]doc.Op, error) {
		before := version{revision: s.Revision(), at: s.set.node.Now()}
		before.data, before.schema, _ = s.set.lowered(now)
		c.rows[0] = s.set.row(versionKey(s.set.name, s.key, before.revision), before.encode())
		out.Kept = before.revision
		return turned(now, to, s.set.opts.Derived), nil
	}})
	if err != nil {
		return out, err
	}
	return out, s.Save(ctx)
}

// past reads a version, and what the data was then in the present form.
func (s *Session) past(ctx context.Context, revision uint64) (out Restored, to doc.Value, err error) {
	if !s.set.keepsBeside() {
		return out, to, fmt.Errorf("the state before could not be kept: %w", store.ErrUnsupported)
	}
	v, err := s.set.version(ctx, s.key, revision)
	if err != nil {
		return out, to, err
	}
	if schema := s.form(); s.set.opts.AsStored && v.Schema != schema {
		return out, to, fmt.Errorf("%w: the version is in form %d, the profile in %d: only the game's own release can bring it up", ErrMigration, v.Schema, schema)
	}
	if to, err = s.set.brought(v.Data, v.Schema); err != nil {
		return out, to, err
	}
	out.Claimed, out.Complete, err = s.claimedSince(ctx, v)
	v.Data = doc.Value{}
	out.From = v
	return out, to, err
}

// form is the version of the form of the session's data.
func (s *Session) form() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.schema
}

// claimedSince are the commits with claims since a version, and whether they are all: the audit
// log has an entry from before, or has not been trimmed since.
func (s *Session) claimedSince(ctx context.Context, v Version) (out []AuditEntry, complete bool, err error) {
	n, reaches := 0, false
	take := func(e AuditEntry) error {
		n++
		reaches = reaches || e.Revision <= v.Revision
		if e.Claim != "" && e.Revision > v.Revision {
			out = append(out, e)
		}
		return nil
	}
	if err = s.set.eachAudited(ctx, s.key, take); err != nil {
		return nil, false, fmt.Errorf("audit log: %w", err)
	}
	s.mu.Lock()
	waiting := s.mu.beside.audit.upTo(s.mu.revision)
	s.mu.Unlock()
	for _, e := range waiting {
		if len(out) == 0 || out[len(out)-1].Revision < e.Revision { // it may have been stored meanwhile
			_ = take(e)
		}
	}
	o := &s.set.opts
	untouched := (o.AuditKeep < 0 || n < o.AuditKeep) && (o.AuditFor < 0 || s.set.node.Now().Sub(v.At) < o.AuditFor)
	return out, o.Audit != AuditNone && (reaches || untouched), nil
}

// Restore is Session.Restore for a profile that may be open here, or nowhere: it is opened
// quietly then, without a word to the game, changed, and released. One that another node has
// open answers ErrInUse: do it there.
func (s *Set) Restore(ctx context.Context, key string, src Source, revision uint64) (Restored, error) {
	if sess, ok := s.Session(key); ok {
		return sess.Restore(ctx, src, revision)
	}
	sess, err := s.Load(ctx, key, &LoadOptions{Quiet: true, errand: true})
	if err != nil {
		return Restored{}, err
	}
	out, err := sess.Restore(ctx, src, revision)
	return out, errors.Join(err, sess.Release(ctx))
}

// keepsVersion tells that a claim only keeps a version: nothing outside the profile happens.
func (c *claim) keepsVersion() bool {
	return len(c.rows) > 0 && strings.HasPrefix(c.rows[0].Key, "version/")
}
