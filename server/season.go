package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shoalworks/shoal"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/season"
)

// Limits of the seasons' calls.
const (
	defaultSeasons = 10
	maxSeasons     = 1000
)

// seasonService answers for shoal.v1.SeasonService.
type seasonService struct{ s *Server }

// Current tells which season it is.
func (v seasonService) Current(_ context.Context, req *shoalv1.SeasonCurrentRequest) (*shoalv1.SeasonCurrentResponse, error) {
	svc, err := v.service(req.GetSeason())
	if err != nil {
		return nil, err
	}
	now := v.s.node.Now()
	info := svc.Preview(now)
	return &shoalv1.SeasonCurrentResponse{
		Current: seasonForm(info), Now: timestamppb.New(now), Remaining: durationpb.New(info.Remaining),
	}, nil
}

// Preview tells which season it is at any time.
func (v seasonService) Preview(_ context.Context, req *shoalv1.SeasonPreviewRequest) (*shoalv1.SeasonPreviewResponse, error) {
	svc, err := v.service(req.GetSeason())
	if err != nil {
		return nil, err
	}
	if req.GetTime() == nil {
		return nil, refuse(badField, "time", "is missing")
	}
	at, err := moment("time", req.GetTime())
	if err != nil {
		return nil, err
	}
	info := svc.Preview(at)
	if !writable(info) {
		return nil, refuse(badField, "time", "a season that ends before the year 10000 is expected")
	}
	return &shoalv1.SeasonPreviewResponse{Season: seasonForm(info), Remaining: durationpb.New(info.Remaining)}, nil
}

// Calendar lists seasons in order, as far as their ends can be written.
func (v seasonService) Calendar(_ context.Context, req *shoalv1.SeasonCalendarRequest) (*shoalv1.SeasonCalendarResponse, error) {
	svc, err := v.service(req.GetSeason())
	if err != nil {
		return nil, err
	}
	from := v.s.node.Now()
	if req.GetFrom() != nil {
		if from, err = moment("from", req.GetFrom()); err != nil {
			return nil, err
		}
	}
	count, err := countOf(req.Count, defaultSeasons, maxSeasons)
	if err != nil {
		return nil, err
	}
	out := &shoalv1.SeasonCalendarResponse{}
	calendar := svc.Config().Calendar
	for _, info := range calendar.Ahead(calendar.Season(from), count, from) {
		if !writable(info) {
			break
		}
		out.Seasons = append(out.Seasons, seasonForm(info))
	}
	return out, nil
}

// Top reads the best entries of a board of the current season.
func (v seasonService) Top(ctx context.Context, req *shoalv1.SeasonTopRequest) (*shoalv1.SeasonTopResponse, error) {
	svc, err := v.service(req.GetSeason())
	if err != nil {
		return nil, err
	}
	cfg := svc.Config()
	count, err := countOf(req.Count, defaultTop, cfg.Top)
	if err != nil {
		return nil, err
	}
	best, err := svc.Leaders(ctx, req.GetBoard(), count)
	if err != nil {
		return nil, at(err, "", "board")
	}
	left := cfg.Describe(best.K, v.s.node.Now()).Remaining
	v.s.cacheable(ctx, min(cfg.CacheFor, left))
	places := make([]season.Placed, len(best.Rows))
	for i, r := range best.Rows {
		places[i] = season.Placed{Rank: int(r.Rank), Key: r.Key, Score: r.Score, Name: r.Name}
	}
	return &shoalv1.SeasonTopResponse{Id: best.Season, Entries: v.namesOf(ctx, places).forms(places), Total: best.Total}, nil
}

// service finds the series of a request.
func (v seasonService) service(series string) (*shoal.Competition, error) {
	s, ok := v.s.seasons[series]
	if !ok {
		return nil, refuse(unknownSeason, "season", "there is no season %q; there are %s", series, someOf(v.s.seasonNames))
	}
	return s, nil
}

// counting finds the series of a request that is about a player of a set; a series counts the
// players of one set.
func (v seasonService) counting(series, set string) (*shoal.Competition, error) {
	svc, err := v.service(series)
	if err != nil {
		return nil, err
	}
	want := svc.Set()
	if _, ok := v.s.sets[set]; ok && set != want {
		return nil, refuse(badField, "set", "the season %s counts the players of the set %q, not of %q", series, want, set)
	}
	return svc, nil
}

// moment is a time of a request.
func moment(field string, t *timestamppb.Timestamp) (time.Time, error) {
	if err := t.CheckValid(); err != nil {
		return time.Time{}, refuse(badField, field, "a time between the years 1 and 9999 is expected")
	}
	return t.AsTime(), nil
}

// writable tells whether the season's times can be written: RFC 3339 ends with the year 9999.
func writable(info season.Info) bool { return info.End.Year() <= 9999 }

func seasonForm(info season.Info) *shoalv1.Season {
	return &shoalv1.Season{
		Id: info.ID, Name: info.Name, Number: info.Number,
		Start: timestamppb.New(info.Start), End: timestamppb.New(info.End),
	}
}
