package server

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shoalworks/shoal/profile"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
)

// What operators do with profiles: versions, and the ends of sessions and of data.

// Versions lists the earlier states of a profile.
func (p profileService) Versions(ctx context.Context, req *shoalv1.ProfileVersionsRequest) (*shoalv1.ProfileVersionsResponse, error) {
	set, err := p.set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	list, err := set.Versions(ctx, req.GetKey())
	if err != nil {
		return nil, err
	}
	out := &shoalv1.ProfileVersionsResponse{}
	for _, v := range list {
		out.Versions = append(out.Versions, versionForm(v))
	}
	return out, nil
}

// Version reads one of them.
func (p profileService) Version(ctx context.Context, req *shoalv1.ProfileVersionRequest) (*shoalv1.ProfileVersionResponse, error) {
	set, err := p.set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if req.Revision == nil {
		return nil, refuse(badField, "revision", "is missing")
	}
	v, err := set.Version(ctx, req.GetKey(), req.GetRevision())
	if err != nil {
		return nil, err
	}
	out := versionForm(v)
	out.Data = proto.String(v.Data.String())
	return &shoalv1.ProfileVersionResponse{Version: out}, nil
}

func versionForm(v profile.Version) *shoalv1.ProfileVersion {
	return &shoalv1.ProfileVersion{Revision: v.Revision, Schema: int32(v.Schema), Time: timestamppb.New(v.At), Bytes: uint64(v.Bytes)} //nolint:gosec // at most MaxInt32
}

// Restore brings a profile back to a version.
func (p profileService) Restore(ctx context.Context, req *shoalv1.ProfileRestoreRequest) (*shoalv1.ProfileRestoreResponse, error) {
	set, err := p.set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if req.Revision == nil {
		return nil, refuse(badField, "revision", "is missing")
	}
	src, err := sourceOf(profile.SourceOperator, words{kind: req.GetKind(), actor: req.GetActor(), note: req.GetNote(), id: req.GetId()})
	if err != nil {
		return nil, err
	}
	done, err := set.Restore(ctx, req.GetKey(), src, req.GetRevision())
	switch {
	case err != nil && done.Commit.Revision != 0: // it is made, and not stored yet
		return nil, &failure{reason: outcomeUnknown, problem: err.Error(), cause: err}
	case err != nil:
		return nil, err
	}
	out := &shoalv1.ProfileRestoreResponse{Revision: done.Commit.Revision, Commit: done.Commit.ID, Repeated: done.Commit.Repeated, Complete: done.Complete}
	if !done.Commit.Repeated {
		out.Kept = proto.Uint64(done.Kept)
	}
	for _, e := range done.Claimed {
		out.Claimed = append(out.Claimed, auditForm(e))
	}
	return out, nil
}

// Erase removes a person's data.
func (p profileService) Erase(ctx context.Context, req *shoalv1.ProfileEraseRequest) (*shoalv1.ProfileEraseResponse, error) {
	set, err := p.set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if err := confirmed(req.GetKey(), req.GetConfirm()); err != nil {
		return nil, err
	}
	src, err := sourceOf(profile.SourceOperator, words{kind: req.GetKind(), actor: req.GetActor()})
	if err != nil {
		return nil, err
	}
	gone, err := set.Erase(ctx, req.GetKey(), src, nil)
	if err != nil {
		// The steps before may have been done, and the profile may have been taken.
		f := *p.s.table.sort(err)
		f.outcome, f.cause = unknown, err
		return nil, &f
	}
	return &shoalv1.ProfileEraseResponse{
		Found: gone.Found, Mail: uint64(gone.Mail), Versions: uint64(gone.Versions), Audit: uint64(gone.Audit), Quarantine: uint64(gone.Quarantine),
	}, nil
}

// ReleaseHeld ends the session of another node.
func (p profileService) ReleaseHeld(ctx context.Context, req *shoalv1.ProfileReleaseHeldRequest) (*shoalv1.ProfileReleaseHeldResponse, error) {
	set, err := p.set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if err := confirmed(req.GetKey(), req.GetConfirm()); err != nil {
		return nil, err
	}
	src, err := sourceOf(profile.SourceOperator, words{kind: req.GetKind(), actor: req.GetActor(), note: req.GetNote()})
	if err != nil {
		return nil, err
	}
	freed, err := set.ReleaseHeld(ctx, req.GetKey(), src)
	if err != nil {
		return nil, err
	}
	out := &shoalv1.ProfileReleaseHeldResponse{Epoch: freed.Epoch, Recovered: freed.Recovered}
	if freed.From != nil {
		out.Holder = proto.String(freed.From.Node)
	}
	return out, nil
}

// confirmed refuses what nothing brings back unless the caller has named it twice.
func confirmed(key, again string) error {
	if key != again {
		return refuse(badField, "confirm", "the key again, %q, is expected, got %q", key, again)
	}
	return nil
}
