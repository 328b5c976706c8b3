package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/shoalworks/shoal/internal/name"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/season"
)

// What operators do with seasons that are over.

// maxRuled is how many boards one ruling or waiver names: as many as a series has.
const maxRuled = 32

// seasonRuling is a request of an operator about a player of a closed season.
type seasonRuling interface {
	GetSeason() string
	GetId() string
	GetKey() string
	GetBoards() []string
	GetConfirm() string
	GetActor() string
	GetNote() string
}

// Disqualify takes a player out of the standings of a closed season.
func (v seasonService) Disqualify(ctx context.Context, req *shoalv1.SeasonDisqualifyRequest) (*shoalv1.SeasonDisqualifyResponse, error) {
	st, err := v.rule(ctx, req, (*season.Service).Disqualify)
	if err != nil {
		return nil, err
	}
	return &shoalv1.SeasonDisqualifyResponse{Corrections: int32(st.Corrections), Boards: v.boardForms(ctx, st)}, nil //nolint:gosec // at most 1,000
}

// Reinstate takes Disqualify back.
func (v seasonService) Reinstate(ctx context.Context, req *shoalv1.SeasonReinstateRequest) (*shoalv1.SeasonReinstateResponse, error) {
	st, err := v.rule(ctx, req, (*season.Service).Reinstate)
	if err != nil {
		return nil, err
	}
	return &shoalv1.SeasonReinstateResponse{Corrections: int32(st.Corrections), Boards: v.boardForms(ctx, st)}, nil //nolint:gosec // at most 1,000
}

// rule checks a ruling and makes it.
func (v seasonService) rule(ctx context.Context, req seasonRuling, do func(*season.Service, context.Context, string, season.Ruling) (*season.Standings, error)) (*season.Standings, error) {
	svc, err := v.service(req.GetSeason())
	if err != nil {
		return nil, err
	}
	if err := checkKey(req.GetKey()); err != nil {
		return nil, err
	}
	if err := boardsOf("boards", req.GetBoards()); err != nil {
		return nil, err
	}
	if err := confirmed(req.GetKey(), req.GetConfirm()); err != nil {
		return nil, err
	}
	if err := signed(req.GetActor(), req.GetNote()); err != nil {
		return nil, err
	}
	st, err := do(svc.Service, ctx, req.GetId(), season.Ruling{Key: req.GetKey(), Boards: req.GetBoards(), By: req.GetActor(), Reason: req.GetNote()})
	if err != nil {
		return nil, at(err, "id", "boards")
	}
	v.s.logger.InfoContext(ctx, "an operator has ruled about a closed season", "season", req.GetSeason(), "id", req.GetId(),
		"key", req.GetKey(), "boards", req.GetBoards(), "actor", req.GetActor(), "note", req.GetNote(), "corrections", st.Corrections)
	return st, nil
}

// signed refuses what an operator does without saying who and why.
func signed(actor, note string) error {
	for _, t := range []struct {
		field, text, what string
		most              int
	}{{"actor", actor, "who does it", maxActor}, {"note", note, "why", maxNote}} {
		if t.text == "" {
			return refuse(badField, t.field, "is missing: %s, for the record", t.what)
		}
		if err := checkText(t.field, t.text, t.most); err != nil {
			return err
		}
		if at := strings.IndexFunc(t.text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); at >= 0 {
			return refuse(badField, t.field, "text is expected; there is a control character at byte %d", at)
		}
	}
	return nil
}

// boardsOf refuses lists of boards that are too long, or name one twice. Whether the season has
// the boards is for package season to say.
func boardsOf(field string, names []string) error {
	if len(names) > maxRuled {
		return refuse(badField, field, "at most %d boards are expected, got %d", maxRuled, len(names))
	}
	for i, n := range names {
		if err := name.CheckName(indexed(field, i), n); err != nil {
			return err
		}
		if slices.Contains(names[:i], n) {
			return refuse(badField, indexed(field, i), "%q comes twice", n)
		}
	}
	return nil
}

// Close closes what is due.
func (v seasonService) Close(ctx context.Context, req *shoalv1.SeasonCloseRequest) (*shoalv1.SeasonCloseResponse, error) {
	svc, err := v.service(req.GetSeason())
	if err != nil {
		return nil, err
	}
	var closed []season.Closed
	if len(req.GetWithout()) > 0 {
		closed, err = v.closeWithout(ctx, svc.Service, req)
	} else {
		closed, err = closeDue(ctx, svc.Service, req)
	}
	if err != nil {
		return nil, err
	}
	out := &shoalv1.SeasonCloseResponse{Waiting: waitingForms(svc.Status().Waiting)}
	for _, c := range closed {
		out.Closed = append(out.Closed, &shoalv1.SeasonCloseOutcome{Id: c.ID, Here: c.Here})
	}
	return out, nil
}

// closeDue closes what can be closed. What waits is no failure of the call.
func closeDue(ctx context.Context, svc *season.Service, req *shoalv1.SeasonCloseRequest) ([]season.Closed, error) {
	if req.GetId() != "" {
		return nil, refuse(badField, "id", "is for closing a season without boards: name them in without")
	}
	closed, err := svc.CloseDue(ctx)
	if onlyWaits(err) && ctx.Err() == nil {
		err = nil
	}
	return closed, err
}

// onlyWaits tells whether err says of nothing but seasons that they wait.
func onlyWaits(err error) bool {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(many.Unwrap(), func(one error) bool { return !onlyWaits(one) })
	}
	return errors.As(err, new(*season.WaitingError))
}

// closeWithout closes a season without boards that cannot be read.
func (v seasonService) closeWithout(ctx context.Context, svc *season.Service, req *shoalv1.SeasonCloseRequest) ([]season.Closed, error) {
	if err := boardsOf("without", req.GetWithout()); err != nil {
		return nil, err
	}
	if req.GetConfirm() != req.GetId() {
		return nil, refuse(badField, "confirm", "the season's id again, %q, is expected, got %q", req.GetId(), req.GetConfirm())
	}
	if err := signed(req.GetActor(), req.GetNote()); err != nil {
		return nil, err
	}
	c, err := svc.CloseWithout(ctx, req.GetId(), season.Waiver{Boards: req.GetWithout(), By: req.GetActor(), Note: req.GetNote()})
	if err != nil {
		return nil, at(err, "id", "without")
	}
	v.s.logger.WarnContext(ctx, "an operator has closed a season without boards", "season", req.GetSeason(), "id", req.GetId(),
		"without", req.GetWithout(), "actor", req.GetActor(), "note", req.GetNote(), "here", c.Here)
	return []season.Closed{c}, nil
}
