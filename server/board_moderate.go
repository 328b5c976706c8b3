package server

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/internal/name"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/store"
)

// What operators do with boards, those of seasons included: moderation. The board need not be
// in the configuration.

// Remove deletes entries.
func (b boardService) Remove(ctx context.Context, req *shoalv1.BoardRemoveRequest) (*shoalv1.BoardRemoveResponse, error) {
	by, err := moderating(req.GetBoard(), req)
	if err != nil {
		return nil, err
	}
	if req.GetConfirm() != req.GetBoard() {
		return nil, refuse(badField, "confirm", "the board's name once more is expected: nothing brings the scores back")
	}
	n, err := b.s.boards.RemoveBy(ctx, by, req.GetBoard(), req.GetKeys()...)
	if err != nil {
		return nil, b.moderationError(req.GetBoard(), err)
	}
	return &shoalv1.BoardRemoveResponse{Removed: int32(n)}, nil //nolint:gosec // at most store.MaxPage
}

// Hide takes keys out of a board's ranks.
func (b boardService) Hide(ctx context.Context, req *shoalv1.BoardHideRequest) (*shoalv1.BoardHideResponse, error) {
	by, err := moderating(req.GetBoard(), req)
	if err != nil {
		return nil, err
	}
	n, err := b.s.boards.Hide(ctx, by, req.GetBoard(), req.GetKeys()...)
	if err != nil {
		return nil, b.moderationError(req.GetBoard(), err)
	}
	return &shoalv1.BoardHideResponse{Changed: int32(n)}, nil //nolint:gosec // at most store.MaxPage
}

// Show takes Hide back.
func (b boardService) Show(ctx context.Context, req *shoalv1.BoardShowRequest) (*shoalv1.BoardShowResponse, error) {
	by, err := moderating(req.GetBoard(), req)
	if err != nil {
		return nil, err
	}
	n, err := b.s.boards.Show(ctx, by, req.GetBoard(), req.GetKeys()...)
	if err != nil {
		return nil, b.moderationError(req.GetBoard(), err)
	}
	return &shoalv1.BoardShowResponse{Changed: int32(n)}, nil //nolint:gosec // at most store.MaxPage
}

// Ban hides keys on all boards, and refuses their scores.
func (b boardService) Ban(ctx context.Context, req *shoalv1.BoardBanRequest) (*shoalv1.BoardBanResponse, error) {
	by, err := moderatingAll(req)
	if err != nil {
		return nil, err
	}
	if err := b.s.boards.Ban(ctx, by, req.GetKeys()...); err != nil {
		return nil, b.moderationError("", err)
	}
	return &shoalv1.BoardBanResponse{}, nil
}

// Unban takes Ban back.
func (b boardService) Unban(ctx context.Context, req *shoalv1.BoardUnbanRequest) (*shoalv1.BoardUnbanResponse, error) {
	by, err := moderatingAll(req)
	if err != nil {
		return nil, err
	}
	if err := b.s.boards.Unban(ctx, by, req.GetKeys()...); err != nil {
		return nil, b.moderationError("", err)
	}
	return &shoalv1.BoardUnbanResponse{}, nil
}

// moderation is a request of an operator.
type moderation interface {
	GetKeys() []string
	GetActor() string
	GetNote() string
}

// moderating is who moderates one board.
func moderating(on string, req moderation) (board.Moderator, error) {
	if err := name.CheckBoard("board", on); err != nil {
		return board.Moderator{}, err
	}
	return moderatingAll(req)
}

// moderatingAll is who moderates all boards.
func moderatingAll(req moderation) (board.Moderator, error) {
	if err := checkKeys(req.GetKeys(), store.MaxPage); err != nil {
		return board.Moderator{}, err
	}
	if req.GetActor() == "" {
		return board.Moderator{}, refuse(badField, "actor", "is missing: who does it, for the record")
	}
	for _, t := range []struct {
		field, text string
		most        int
	}{{"actor", req.GetActor(), maxActor}, {"note", req.GetNote(), maxReason}} {
		if err := checkText(t.field, t.text, t.most); err != nil {
			return board.Moderator{}, err
		}
	}
	return board.Moderator{Actor: req.GetActor(), Reason: req.GetNote()}, nil
}

// maxReason is the length in bytes of a moderator's note.
const maxReason = 1_000

// moderationError is the error of a call about a board that need not be configured.
func (b boardService) moderationError(on string, err error) error {
	switch {
	case errors.Is(err, board.ErrFull), errors.Is(err, store.ErrTooLarge):
		return &failure{reason: tooMany, field: "keys", problem: err.Error(), cause: err}
	case !errors.Is(err, store.ErrNoBoard):
		return err
	}
	if _, configured := b.s.boards.Config(on); configured {
		return refuse(unknownBoard, "board", "nobody has written to the board %q yet", on)
	}
	return b.unknown(on)
}

// Hidden lists hidden keys.
func (b boardService) Hidden(ctx context.Context, req *shoalv1.BoardHiddenRequest) (*shoalv1.BoardHiddenResponse, error) {
	if err := name.CheckBoard("board", req.GetBoard()); err != nil {
		return nil, err
	}
	limit, err := listing(req.GetAfter(), req.Limit)
	if err != nil {
		return nil, err
	}
	list, err := b.s.boards.Hidden(ctx, req.GetBoard(), req.GetAfter(), limit)
	if err != nil {
		if _, configured := b.s.boards.Config(req.GetBoard()); configured && errors.Is(err, store.ErrNoBoard) {
			return &shoalv1.BoardHiddenResponse{}, nil
		}
		return nil, b.moderationError(req.GetBoard(), err)
	}
	return &shoalv1.BoardHiddenResponse{
		Entries: b.formsOf(req.GetBoard()).hidden(ctx, list), Next: nextKey(list, limit, func(e store.HiddenEntry) string { return e.Key }),
	}, nil
}

// hidden are hidden keys with their scores, if they have some, and their names, if known.
func (f boardForms) hidden(ctx context.Context, list []store.HiddenEntry) []*shoalv1.BoardHiddenEntry {
	rows := make([]store.Standing, len(list))
	for i, e := range list {
		rows[i].Entry = e.Entry
	}
	out := make([]*shoalv1.BoardHiddenEntry, len(list))
	for i, row := range f.named(ctx, rows) {
		out[i] = &shoalv1.BoardHiddenEntry{Key: row.Key, Name: nameText(row.Name)}
		if list[i].Scored {
			out[i].Score, out[i].Decimal, out[i].Meta = &list[i].Score, f.text(row.Score), metaForm(row.Meta)
		}
	}
	return out
}

// listing is how many items of a list are wanted behind a key.
func listing(after string, limit *int32) (int, error) {
	if after != "" {
		if err := name.CheckKey("after", after); err != nil {
			return 0, err
		}
	}
	return limitOf("limit", limit, defaultPage, store.MaxPage)
}

// nextKey is where a list goes on, nil when it has ended.
func nextKey[T any](list []T, limit int, key func(T) string) *string {
	if len(list) < limit {
		return nil
	}
	return proto.String(key(list[len(list)-1]))
}

// Bans lists the banned keys.
func (b boardService) Bans(ctx context.Context, req *shoalv1.BoardBansRequest) (*shoalv1.BoardBansResponse, error) {
	limit, err := listing(req.GetAfter(), req.Limit)
	if err != nil {
		return nil, err
	}
	list, err := b.s.boards.Bans(ctx, req.GetAfter(), limit)
	if err != nil {
		return nil, err
	}
	out := &shoalv1.BoardBansResponse{Next: nextKey(list, limit, func(r board.BanRecord) string { return r.Key })}
	for _, r := range list {
		out.Bans = append(out.Bans, &shoalv1.BoardBanned{Key: r.Key, Actor: r.Actor, Note: r.Reason, Time: timestamppb.New(r.At)})
	}
	return out, nil
}

// Audit lists what operators did.
func (b boardService) Audit(ctx context.Context, req *shoalv1.BoardAuditRequest) (*shoalv1.BoardAuditResponse, error) {
	if req.GetBefore() != "" {
		if err := name.CheckKey("before", req.GetBefore()); err != nil {
			return nil, err
		}
	}
	limit, err := limitOf("limit", req.Limit, defaultPage, store.MaxPage)
	if err != nil {
		return nil, err
	}
	list, next, err := b.s.boards.Audit(ctx, req.GetBefore(), limit)
	if err != nil {
		return nil, err
	}
	out := &shoalv1.BoardAuditResponse{Next: orAbsent(next)}
	for _, e := range list {
		out.Entries = append(out.Entries, b.auditForm(e))
	}
	return out, nil
}

func (b boardService) auditForm(e board.AuditEntry) *shoalv1.BoardAuditEntry {
	out := &shoalv1.BoardAuditEntry{
		Id: e.ID, Time: timestamppb.New(e.At), Action: string(e.Action), Board: orAbsent(e.Board), Keys: e.Keys,
		Actor: e.Actor, Note: e.Reason, Erased: int32(e.Erased), //nolint:gosec // at most the keys of a call
	}
	f := b.formsOf(e.Board)
	for _, was := range e.Entries {
		out.Entries = append(out.Entries, &shoalv1.BoardEntry{Key: was.Key, Score: was.Score, Decimal: f.text(was.Score), Meta: metaForm(was.Meta)})
	}
	return out
}
