package server

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
)

// Limits of the audit log's calls.
const (
	defaultAudit = 100
	maxAudit     = 1000
)

// History lists the last commits of a profile that is open here.
func (p profileService) History(_ context.Context, req *shoalv1.ProfileHistoryRequest) (*shoalv1.ProfileHistoryResponse, error) {
	sess, err := p.session(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	return &shoalv1.ProfileHistoryResponse{Commits: commitForms(sess.History())}, nil
}

// Undo takes one commit back.
func (p profileService) Undo(_ context.Context, req *shoalv1.ProfileUndoRequest) (*shoalv1.ProfileUndoResponse, error) {
	sess, err := p.session(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	which := profile.Which{ID: req.GetCommit(), Revision: req.GetRevision()}
	switch {
	case which.ID != "" && which.Revision != 0:
		return nil, refuse(badField, "revision", "either commit or revision is expected, got both")
	case which.ID == "" && which.Revision == 0:
		return nil, refuse(badField, "commit", "is missing; the id of a commit, or its revision, is expected")
	}
	src, err := sourceOf(profile.SourceOperator, words{kind: req.GetKind(), actor: req.GetActor(), note: req.GetNote(), id: req.GetId()})
	if err != nil {
		return nil, err
	}
	commit, err := sess.Undo(src, which, &profile.UndoOptions{Force: req.GetForce()}) //nolint:contextcheck // a transaction waits for nothing
	if err != nil {
		return nil, err
	}
	out := &shoalv1.ProfileUndoResponse{Revision: commit.Revision, Commit: commit.ID, Repeated: commit.Repeated}
	if req.GetReturnData() {
		out.Data = proto.String(dataOf(sess, commit).String())
	}
	return out, nil
}

// Rollback brings a document back to an earlier revision.
func (p profileService) Rollback(_ context.Context, req *shoalv1.ProfileRollbackRequest) (*shoalv1.ProfileRollbackResponse, error) {
	sess, err := p.session(req.GetSet(), req.GetKey())
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
	back, err := sess.Rollback(src, req.GetRevision()) //nolint:contextcheck // a transaction waits for nothing
	if err != nil {
		return nil, err
	}
	out := &shoalv1.ProfileRollbackResponse{
		Revision: back.Commit.Revision, Commit: back.Commit.ID, Repeated: back.Commit.Repeated, TakenBack: commitForms(back.TakenBack),
	}
	if req.GetReturnData() {
		out.Data = proto.String(dataOf(sess, back.Commit).String())
	}
	return out, nil
}

// dataOf is the document after a commit, or as it is now when that was made before.
func dataOf(sess *profile.Session, c profile.Commit) doc.Value {
	if c.Repeated {
		return sess.Data()
	}
	return c.Data
}

// Audit reads the audit log of a profile.
func (p profileService) Audit(ctx context.Context, req *shoalv1.ProfileAuditRequest) (*shoalv1.ProfileAuditResponse, error) {
	set, err := p.set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	limit, err := limitOf("limit", req.Limit, defaultAudit, maxAudit)
	if err != nil {
		return nil, err
	}
	entries, err := set.Audit(ctx, req.GetKey(), &profile.AuditQuery{From: req.GetFrom(), Limit: limit, Reverse: req.GetReverse()})
	if err != nil {
		return nil, err
	}
	out := &shoalv1.ProfileAuditResponse{}
	for _, e := range entries {
		out.Entries = append(out.Entries, auditForm(e))
	}
	return out, nil
}

func auditForm(e profile.AuditEntry) *shoalv1.ProfileAuditEntry {
	out := &shoalv1.ProfileAuditEntry{
		Revision: e.Revision, Through: e.Through, Commits: uint64(e.Commits), Id: e.ID, Time: timestamppb.New(e.Time),
		Kind: string(e.Source.Kind), Actor: e.Source.Actor, Note: e.Source.Note, Claim: claimForm(e.Claim),
		Edits: editsText(e.Edits), More: uint64(e.More),
	}
	for _, at := range e.Paths {
		out.Paths = append(out.Paths, at.String())
	}
	return out
}

func commitForms(list []profile.Commit) []*shoalv1.ProfileCommit {
	out := make([]*shoalv1.ProfileCommit, len(list))
	for i, c := range list {
		out[i] = commitForm(c)
	}
	return out
}

func commitForm(c profile.Commit) *shoalv1.ProfileCommit {
	return &shoalv1.ProfileCommit{
		Revision: c.Revision, Id: c.ID, Time: timestamppb.New(c.Time),
		Kind: string(c.Source.Kind), Actor: c.Source.Actor, Note: c.Source.Note, Claim: claimForm(c.Claim), Edits: editsText(c.Edits),
	}
}

func claimForm(claim string) *string {
	if claim == "" {
		return nil
	}
	return proto.String(claim)
}

// editsText is a difference as a JSON list.
func editsText(edits []doc.Edit) string {
	out := []byte{'['}
	for i, e := range edits {
		text, err := e.MarshalJSON()
		if err != nil {
			panic("server: an edit of valid values does not encode: " + err.Error())
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, text...)
	}
	return string(append(out, ']'))
}
