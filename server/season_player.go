package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
	"github.com/shoalworks/shoal/season"
)

// What a season is for one player: events, counters, titles, the card.

// maxEvents is how many events one call counts.
const maxEvents = 100

// Record counts events for a player whose profile is open here.
func (v seasonService) Record(_ context.Context, req *shoalv1.SeasonRecordRequest) (*shoalv1.SeasonRecordResponse, error) {
	svc, err := v.counting(req.GetSeason(), req.GetSet())
	if err != nil {
		return nil, err
	}
	sess, err := profileService(v).session(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	events, err := eventsOf(req)
	if err != nil {
		return nil, err
	}
	if err := svc.Record(sess, events...); err != nil { //nolint:contextcheck // a transaction waits for nothing
		return nil, atEvent(err, svc.Config(), events, len(req.GetEvents()) > 0)
	}
	block, err := svc.ViewOf(sess.Data(), sess.Created())
	if err != nil {
		return nil, err
	}
	return &shoalv1.SeasonRecordResponse{Id: block.Season, Stats: block.Stats}, nil
}

// eventsOf are the events of a request: the list, or the single one.
func eventsOf(req *shoalv1.SeasonRecordRequest) ([]season.Event, error) {
	list := req.GetEvents()
	switch {
	case len(list) == 0:
		e, err := eventOf(req.GetEvent(), req.Amount)
		return []season.Event{e}, err
	case req.GetEvent() != "" || req.Amount != nil:
		return nil, refuse(badField, "events", "event and amount, or events, are expected, not both")
	case len(list) > maxEvents:
		return nil, refuse(badField, "events", "1 to %d events are expected, got %d", maxEvents, len(list))
	}
	out := make([]season.Event, len(list))
	for i, e := range list {
		var err error
		if out[i], err = eventOf(e.GetEvent(), e.Amount); err != nil {
			return nil, within(indexed("events", i), err)
		}
	}
	return out, nil
}

func eventOf(event string, amount *int64) (season.Event, error) {
	if err := name.CheckName("event", event); err != nil {
		return season.Event{}, err
	}
	if amount == nil {
		return season.Event{Name: event, Amount: 1}, nil
	}
	return season.Event{Name: event, Amount: *amount}, nil
}

// atEvent names the field of an event that no stat listens to.
func atEvent(err error, cfg season.Config, events []season.Event, listed bool) error {
	if !errors.Is(err, season.ErrUnknownEvent) {
		return err
	}
	at := slices.IndexFunc(events, func(e season.Event) bool { return !heard(cfg, e.Name) })
	field := "event"
	if listed && at >= 0 {
		field = indexed("events", at) + ".event"
	}
	return &failure{reason: unknownEvent, field: field, problem: err.Error(), cause: err}
}

// heard tells whether a stat listens to an event.
func heard(cfg season.Config, event string) bool {
	return slices.ContainsFunc(cfg.Stats, func(s season.Stat) bool {
		return slices.Contains(s.On, event) || slices.Contains(s.ResetOn, event)
	})
}

// View reads a player's counters and titles.
func (v seasonService) View(ctx context.Context, req *shoalv1.SeasonViewRequest) (*shoalv1.SeasonViewResponse, error) {
	svc, err := v.counting(req.GetSeason(), req.GetSet())
	if err != nil {
		return nil, err
	}
	data, created, err := v.profile(ctx, req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	block, err := svc.ViewOf(data, created)
	if err != nil {
		return nil, err
	}
	return &shoalv1.SeasonViewResponse{Id: block.Season, Stats: block.Stats, Titles: titleForms(block.Titles)}, nil
}

// profile is a player's document: live when it is open here, else as it is stored.
func (v seasonService) profile(ctx context.Context, setName, key string) (doc.Value, time.Time, error) {
	set, err := profileService(v).set(setName, key)
	if err != nil {
		return doc.Value{}, time.Time{}, err
	}
	if sess, ok := set.Session(key); ok {
		return sess.Data(), sess.Created(), nil
	}
	view, err := set.Read(ctx, key)
	return view.Data, view.Created, err
}

// Card reads what a player sees of the season.
func (v seasonService) Card(ctx context.Context, req *shoalv1.SeasonCardRequest) (*shoalv1.SeasonCardResponse, error) {
	svc, err := v.counting(req.GetSeason(), req.GetSet())
	if err != nil {
		return nil, err
	}
	data, created, err := v.profile(ctx, req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	card, err := svc.CardOf(ctx, req.GetKey(), data, created)
	if err != nil {
		return nil, err
	}
	out := &shoalv1.SeasonCardResponse{
		Season: seasonForm(card.Info), Remaining: durationpb.New(card.Info.Remaining),
		Stats: card.Block.Stats, Titles: titleForms(card.Block.Titles),
	}
	for _, b := range card.Boards {
		out.Boards = append(out.Boards, cardForm(b))
	}
	return out, nil
}

func cardForm(b season.CardBoard) *shoalv1.SeasonCardBoard {
	out := &shoalv1.SeasonCardBoard{Board: b.Board, Title: b.Title, Stat: b.Stat, Total: b.Total}
	if b.Counted {
		out.Live = proto.Int64(b.Live)
	}
	if b.OK { // without the name, which its reader knows
		out.Standing = &shoalv1.BoardStanding{Rank: b.Standing.Rank, Key: b.Standing.Key, Score: b.Standing.Score}
	}
	if b.Err != nil {
		out.Problem = proto.String(b.Err.Error())
	}
	return out
}

// Watch follows the counters and titles of a player whose profile is open here, until the
// session ends, the caller goes away or the daemon closes.
func (v seasonService) Watch(ctx context.Context, req *shoalv1.SeasonWatchRequest, stream shoalv1connect.SeasonServiceWatchServerStream) error {
	svc, err := v.counting(req.GetSeason(), req.GetSet())
	if err != nil {
		return err
	}
	sess, err := profileService(v).session(req.GetSet(), req.GetKey())
	if err != nil {
		return err
	}
	w, err := svc.Watch(sess)
	if err != nil {
		return err
	}
	defer w.Close()
	defer v.s.following.enter(req.GetSeason())()
	out := v.s.outlet(ctx)
	for {
		block, err := w.Next(ctx)
		step, last := &shoalv1.SeasonWatchResponse{}, false
		switch reason := sess.Reason(); {
		case err == nil:
			step.Id, step.Stats, step.Titles = block.Season, block.Stats, titleForms(block.Titles)
		case ctx.Err() == nil && reason != 0:
			step.Ended, err, last = proto.String(reason.String()), nil, true
		}
		if err == nil {
			err = out.send(func() error { return stream.Send(step) })
		}
		if err != nil || last {
			return err
		}
	}
}

func titleForms(titles []season.Title) []*shoalv1.SeasonTitle {
	out := make([]*shoalv1.SeasonTitle, len(titles))
	for i, t := range titles {
		out[i] = &shoalv1.SeasonTitle{
			Id: t.Season, Board: t.Board, Rank: int64(t.Rank), Score: t.Score, Text: t.Text,
			Corrections: int32(t.Corrections), //nolint:gosec // at most 1,000
		}
	}
	return out
}
