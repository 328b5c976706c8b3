package server

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/profile"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
)

// Edit applies operations to a profile wherever it is.
func (p profileService) Edit(ctx context.Context, req *shoalv1.ProfileEditRequest) (*shoalv1.ProfileEditResponse, error) {
	set, err := p.set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if req.GetId() != "" {
		if err := name.CheckKey("id", req.GetId()); err != nil {
			return nil, err
		}
	}
	src, err := sourceOf(profile.SourceOperator, words{kind: req.GetKind(), actor: req.GetActor(), note: req.GetNote(), id: req.GetId()})
	if err != nil {
		return nil, err
	}
	ops, err := parseOps(req.GetOps())
	if err != nil {
		return nil, err
	}
	done, err := set.Edit(ctx, req.GetKey(), src, ops...)
	if err != nil {
		return nil, err
	}
	out := &shoalv1.ProfileEditResponse{Id: done.ID, Revision: done.Revision, Repeated: done.Repeated}
	if done.Where != 0 {
		out.Where = proto.String(done.Where.String())
	}
	return out, nil
}

// DryRun tells what operations would do.
func (p profileService) DryRun(ctx context.Context, req *shoalv1.ProfileDryRunRequest) (*shoalv1.ProfileDryRunResponse, error) {
	set, err := p.set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	src, err := sourceOf(profile.SourceGame, words{kind: req.GetKind()})
	if err != nil {
		return nil, err
	}
	ops, err := parseOps(req.GetOps())
	if err != nil {
		return nil, err
	}
	run, live, err := tried(ctx, set, req.GetKey(), src, ops)
	if err != nil {
		return nil, err
	}
	out := &shoalv1.ProfileDryRunResponse{
		Accepted: len(run.Violations) == 0, Edits: editsText(run.Edits), OpenHere: live,
		Complaints: complaintForms(run.Violations), More: uint64(run.More), Reports: complaintForms(run.Reports),
	}
	if req.GetReturnData() {
		out.Data = proto.String(run.Data.String())
	}
	return out, nil
}

// tried tries operations on the live document, or on what is stored.
func tried(ctx context.Context, set *profile.Set, key string, src profile.Source, ops []doc.Op) (run profile.DryRun, live bool, err error) {
	if sess, ok := set.Session(key); ok {
		run, err = sess.DryRun(src, ops...)
		if !errors.Is(err, profile.ErrEnded) { // else it has just been released
			return run, true, err
		}
	}
	view, err := set.Read(ctx, key)
	if err != nil {
		return profile.DryRun{}, false, err
	}
	run, err = set.DryRun(view.Data, src, ops...)
	return run, false, err
}

func complaintForms(list []profile.Violation) []*shoalv1.ProfileComplaint {
	out := make([]*shoalv1.ProfileComplaint, len(list))
	for i, v := range list {
		out[i] = &shoalv1.ProfileComplaint{Path: v.Path.String(), Problem: v.Problem}
		if v.Guard != "" {
			out[i].Guard = proto.String(v.Guard)
		}
		if v.Problem == "" && v.Err != nil {
			out[i].Problem = v.Err.Error()
		}
	}
	return out
}
