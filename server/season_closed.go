package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shoalworks/shoal"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// What is known of seasons that are over, and of those that wait for their results.

// Limits of the calls about closed seasons.
const (
	defaultClosed = 10
	maxClosed     = 50
	// resultAge is how long caches may keep how a closed season stands: its result never
	// changes, but there may be a correction.
	resultAge = 30 * time.Second
)

// Results reads how a closed season stands.
func (v seasonService) Results(ctx context.Context, req *shoalv1.SeasonResultsRequest) (*shoalv1.SeasonResultsResponse, error) {
	svc, err := v.service(req.GetSeason())
	if err != nil {
		return nil, err
	}
	st, err := svc.Standings(ctx, req.GetId())
	if err != nil {
		return nil, at(err, "id", "")
	}
	out := &shoalv1.SeasonResultsResponse{
		Season: v.season(svc, st.Result.K), Unplayed: st.Result.Unplayed,
		Boards: v.boardForms(ctx, st), Corrections: int32(st.Corrections), //nolint:gosec // at most 1,000
	}
	by, err := svc.ClosedBy(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	if by.Node != "" {
		out.Closed = closeNoteForm(by)
	}
	v.s.cacheable(ctx, resultAge)
	return out, nil
}

// season is season k of a series.
func (v seasonService) season(svc *shoal.Competition, k int64) *shoalv1.Season {
	return seasonForm(svc.Config().Describe(k, v.s.node.Now()))
}

// at names the field that an error of package season is about: that of the season's id, or of
// its boards.
func at(err error, id, boards string) error {
	switch {
	case errors.Is(err, store.ErrUnknown): // whatever else it is
	case errors.Is(err, season.ErrNoSeason):
		return &failure{reason: noSeason, field: id, problem: err.Error(), cause: err}
	case errors.Is(err, season.ErrNoBoard):
		return &failure{reason: unknownBoard, field: boards, problem: err.Error(), cause: err}
	case errors.Is(err, season.ErrBoardFine):
		return &failure{reason: boardFine, field: boards, problem: err.Error(), cause: err}
	case errors.Is(err, season.ErrNoPlace):
		return &failure{reason: noPlace, field: "key", problem: err.Error(), cause: err}
	}
	return err
}

func closeNoteForm(by season.CloseRecord) *shoalv1.SeasonCloseNote {
	return &shoalv1.SeasonCloseNote{
		Node: by.Node, Time: timestamppb.New(by.Time), Without: by.Waiver.Boards,
		Actor: orAbsent(by.Waiver.By), Note: orAbsent(by.Waiver.Note),
	}
}

// boardForms are the boards of a closed season.
func (v seasonService) boardForms(ctx context.Context, st *season.Standings) []*shoalv1.SeasonBoardResult {
	var all []season.Placed
	for _, b := range st.Boards {
		all = slices.Concat(all, b.Top, b.Reserve, b.Disqualified)
	}
	names := v.namesOf(ctx, all)
	out := make([]*shoalv1.SeasonBoardResult, len(st.Boards))
	for i, b := range st.Boards {
		out[i] = &shoalv1.SeasonBoardResult{
			Board: b.Board, Title: b.Title, Order: b.Order, Total: b.Total, Missing: b.Missing,
			Entries: names.forms(b.Top), Reserve: names.forms(b.Reserve), Disqualified: names.forms(b.Disqualified),
		}
	}
	return out
}

// knownNames are the names of players whose places hold none, by key.
type knownNames map[string]string

// namesOf are the names of those whom a board or a result has no name for, as far as the
// daemon knows them or learns them soon.
func (v seasonService) namesOf(ctx context.Context, places []season.Placed) knownNames {
	seen := make(map[string]bool)
	var rows []store.Standing
	for _, p := range places {
		if p.Name == "" && !seen[p.Key] {
			seen[p.Key] = true
			rows = append(rows, store.Standing{Entry: store.Entry{Key: p.Key}})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	names := make(knownNames)
	for _, row := range (boardForms{s: v.s}).named(ctx, rows) {
		if text := nameText(row.Name); text != nil {
			names[row.Key] = *text
		}
	}
	return names
}

// forms are places on the wire.
func (n knownNames) forms(places []season.Placed) []*shoalv1.BoardStanding {
	out := make([]*shoalv1.BoardStanding, len(places))
	for i, p := range places {
		name := p.Name
		if name == "" {
			name = n[p.Key]
		}
		out[i] = &shoalv1.BoardStanding{Rank: int64(p.Rank), Key: p.Key, Score: p.Score, Name: orAbsent(name)}
	}
	return out
}

// Closed lists closed seasons with their winners.
func (v seasonService) Closed(ctx context.Context, req *shoalv1.SeasonClosedRequest) (*shoalv1.SeasonClosedResponse, error) {
	svc, err := v.service(req.GetSeason())
	if err != nil {
		return nil, err
	}
	limit, err := limitOf("limit", req.Limit, defaultClosed, maxClosed)
	if err != nil {
		return nil, err
	}
	list, err := svc.Results(ctx, req.GetBefore(), limit)
	if err != nil {
		return nil, at(err, "before", "")
	}
	out := &shoalv1.SeasonClosedResponse{Next: nextKey(list, limit, func(r *season.Result) string { return r.Season })}
	standings := make([]*season.Standings, len(list))
	var winners []season.Placed
	for i, res := range list {
		st, err := svc.Standings(ctx, res.Season)
		if err != nil {
			return nil, err
		}
		standings[i] = st
		for _, b := range st.Boards {
			winners = append(winners, b.Top[:min(1, len(b.Top))]...)
		}
	}
	names := v.namesOf(ctx, winners)
	for _, st := range standings {
		out.Seasons = append(out.Seasons, v.closing(svc, st, names))
	}
	v.s.cacheable(ctx, resultAge)
	return out, nil
}

// closing is a closed season in short.
func (v seasonService) closing(svc *shoal.Competition, st *season.Standings, names knownNames) *shoalv1.SeasonClosing {
	out := &shoalv1.SeasonClosing{
		Season: v.season(svc, st.Result.K), Unplayed: st.Result.Unplayed, Corrections: int32(st.Corrections), //nolint:gosec // at most 1,000
	}
	for _, b := range st.Boards {
		w := &shoalv1.SeasonWinner{Board: b.Board, Title: b.Title, Total: b.Total, Missing: b.Missing}
		if len(b.Top) > 0 {
			w.Winner = names.forms(b.Top[:1])[0]
		}
		out.Winners = append(out.Winners, w)
	}
	return out
}

// Status tells what this daemon knows of the series.
func (v seasonService) Status(_ context.Context, req *shoalv1.SeasonStatusRequest) (*shoalv1.SeasonStatusResponse, error) {
	svc, err := v.service(req.GetSeason())
	if err != nil {
		return nil, err
	}
	st := svc.Status()
	out := &shoalv1.SeasonStatusResponse{
		Current: seasonForm(st.Current), Now: timestamppb.New(v.s.node.Now()), Remaining: durationpb.New(st.Current.Remaining),
		Fresh: st.Fresh, ClockDifference: durationpb.New(st.ClockDifference), Waiting: waitingForms(st.Waiting),
	}
	if st.Started {
		out.First = v.season(svc, st.First)
	}
	if st.Started && st.Through >= st.First {
		out.ClosedThrough = v.season(svc, st.Through)
	}
	return out, nil
}

func waitingForms(list []season.Waiting) []*shoalv1.SeasonWaiting {
	out := make([]*shoalv1.SeasonWaiting, len(list))
	for i, w := range list {
		out[i] = &shoalv1.SeasonWaiting{Id: w.Season, Why: w.Why, Since: timestamppb.New(w.Since)}
	}
	return out
}

// Corrections lists the decisions about the players of a closed season.
func (v seasonService) Corrections(ctx context.Context, req *shoalv1.SeasonCorrectionsRequest) (*shoalv1.SeasonCorrectionsResponse, error) {
	svc, err := v.service(req.GetSeason())
	if err != nil {
		return nil, err
	}
	list, err := svc.Corrections(ctx, req.GetId())
	if err != nil {
		return nil, at(err, "id", "")
	}
	out := &shoalv1.SeasonCorrectionsResponse{}
	for _, c := range list {
		action := "disqualify"
		if c.Reinstates {
			action = "reinstate"
		}
		out.Corrections = append(out.Corrections, &shoalv1.SeasonCorrection{
			Time: timestamppb.New(c.Time), Action: action, Key: c.Key, Boards: c.Boards, Actor: c.By, Note: c.Reason,
		})
	}
	return out, nil
}
