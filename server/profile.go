package server

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shoalworks/shoal/profile"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
)

// profileService answers for shoal.v1.ProfileService.
type profileService struct{ s *Server }

// Load opens a profile on this daemon.
func (p profileService) Load(ctx context.Context, req *shoalv1.ProfileLoadRequest) (*shoalv1.ProfileLoadResponse, error) {
	set, err := p.set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	opts, err := p.loadOptions(req)
	if err != nil {
		return nil, err
	}
	sess, err := set.Load(ctx, req.GetKey(), opts)
	if err != nil {
		if errors.Is(context.Cause(ctx), errClosing) {
			return nil, &failure{reason: closing, problem: errClosing.Error(), cause: err}
		}
		return nil, p.s.table.loadFailure(err)
	}
	loaded := sess.Loaded()
	out := &shoalv1.ProfileLoadResponse{
		Profile: liveForm(sess), How: loaded.How.String(), Waited: durationpb.New(loaded.Waited),
	}
	if loaded.Evidence != "" {
		out.Evidence = proto.String(string(loaded.Evidence))
	}
	if loaded.From != "" {
		out.From = proto.String(loaded.From)
	}
	return out, nil
}

func (p profileService) loadOptions(req *shoalv1.ProfileLoadRequest) (*profile.LoadOptions, error) {
	opts := &profile.LoadOptions{Quiet: req.GetQuiet()}
	switch req.GetPolicy() {
	case "":
	case "steal":
		opts.Policy = profile.Steal
	case "wait":
		opts.Policy = profile.Wait
	case "fail":
		opts.Policy = profile.Fail
	default:
		return nil, refuse(badField, "policy", "steal, wait or fail is expected, got %q", req.GetPolicy())
	}
	var err error
	if opts.Wait, err = p.span("wait", req.GetWait()); err != nil {
		return nil, err
	}
	opts.StealAfter, err = p.span("stealAfter", req.GetStealAfter())
	return opts, err
}

// span is a duration of a load: 0 when it is not given.
func (p profileService) span(field string, d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if most := p.s.limits.LoadTimeout; d.CheckValid() != nil || d.AsDuration() <= 0 || d.AsDuration() > most {
		return 0, refuse(badField, field, "more than 0 and at most %v is expected", most)
	}
	return d.AsDuration(), nil
}

// Get reads a profile: live when it is open here, else as it is stored.
func (p profileService) Get(ctx context.Context, req *shoalv1.ProfileGetRequest) (*shoalv1.ProfileGetResponse, error) {
	set, err := p.set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if sess, ok := set.Session(req.GetKey()); ok {
		return &shoalv1.ProfileGetResponse{Profile: liveForm(sess), OpenHere: true, Holder: proto.String(p.s.node.ID())}, nil
	}
	view, err := set.Read(ctx, req.GetKey())
	if err != nil {
		return nil, err
	}
	out := &shoalv1.ProfileGetResponse{Profile: viewForm(req.GetSet(), view)}
	if view.Holder != nil {
		out.Holder = proto.String(view.Holder.Node)
	}
	return out, nil
}

// Transact applies operations to a profile that is open here.
func (p profileService) Transact(_ context.Context, req *shoalv1.ProfileTransactRequest) (*shoalv1.ProfileTransactResponse, error) {
	sess, err := p.session(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	src, err := sourceOf(profile.SourceGame, words{kind: req.GetKind(), actor: req.GetActor(), note: req.GetNote(), id: req.GetId()})
	if err != nil {
		return nil, err
	}
	ops, err := parseOps(req.GetOps())
	if err != nil {
		return nil, err
	}
	commit, err := sess.Transact(src, ops...) //nolint:contextcheck // a transaction waits for nothing
	if err != nil {
		return nil, err
	}
	out := &shoalv1.ProfileTransactResponse{
		Revision: commit.Revision, Commit: commit.ID, Repeated: commit.Repeated,
	}
	if !commit.Time.IsZero() {
		out.Time = timestamppb.New(commit.Time)
	}
	if req.GetReturnData() {
		data := commit.Data
		if commit.Repeated {
			data = sess.Data()
		}
		out.Data = proto.String(data.String())
	}
	return out, nil
}

// Save stores a profile durably.
func (p profileService) Save(ctx context.Context, req *shoalv1.ProfileSaveRequest) (*shoalv1.ProfileSaveResponse, error) {
	sess, err := p.session(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if err := sess.Save(ctx); err != nil {
		return nil, err
	}
	_, stored := sess.Stored()
	return &shoalv1.ProfileSaveResponse{Revision: stored}, nil
}

// Sync returns when all changes so far survive the loss of this daemon.
func (p profileService) Sync(ctx context.Context, req *shoalv1.ProfileSyncRequest) (*shoalv1.ProfileSyncResponse, error) {
	sess, err := p.session(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	revision := sess.Revision()
	if err := sess.Sync(ctx); err != nil {
		return nil, err
	}
	_, synced := sess.Synced()
	return &shoalv1.ProfileSyncResponse{Revision: max(revision, synced)}, nil
}

// Release stores a profile and frees it. It goes on when the caller goes away.
func (p profileService) Release(ctx context.Context, req *shoalv1.ProfileReleaseRequest) (*shoalv1.ProfileReleaseResponse, error) {
	sess, err := p.session(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if err := sess.Release(ctx); err != nil {
		return nil, err
	}
	_, stored := sess.Stored()
	return &shoalv1.ProfileReleaseResponse{Revision: stored}, nil
}

// set finds the set of a request and checks its key.
func (p profileService) set(name, key string) (*profile.Set, error) {
	set, err := p.named(name)
	if err != nil {
		return nil, err
	}
	return set, checkKey(key)
}

// named finds the set of a request.
func (p profileService) named(name string) (*profile.Set, error) {
	set, ok := p.s.sets[name]
	if !ok {
		return nil, refuse(unknownSet, "set", "there is no set %q; there are %s", name, someOf(p.s.setNames))
	}
	return set, nil
}

// session finds the open session of a request.
func (p profileService) session(name, key string) (*profile.Session, error) {
	set, err := p.set(name, key)
	if err != nil {
		return nil, err
	}
	sess, ok := set.Session(key)
	if !ok {
		return nil, refuse(notOpen, "key", "the profile %s/%s is not open on this daemon", name, key)
	}
	return sess, nil
}

// liveForm is an open profile. Data and revision may be those of two neighbouring commits
// when one comes in between; the revision is read first, so that it never promises more than
// the data holds.
func liveForm(sess *profile.Session) *shoalv1.Profile {
	revision := sess.Revision()
	return &shoalv1.Profile{
		Set: sess.Set().Name(), Key: sess.Key(), Epoch: sess.Epoch(), Revision: revision,
		Created: timestamppb.New(sess.Created()), Data: sess.Data().String(),
	}
}

// viewForm is a stored profile.
func viewForm(set string, v profile.View) *shoalv1.Profile {
	return &shoalv1.Profile{
		Set: set, Key: v.Key, Epoch: v.Epoch, Revision: v.Revision,
		Created: timestamppb.New(v.Created), Data: v.Data.String(),
	}
}
