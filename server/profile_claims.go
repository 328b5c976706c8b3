package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/profile"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
)

// What happens exactly once with a profile's commit: receipts and trades.

// Grant applies operations exactly once for a receipt.
func (p profileService) Grant(ctx context.Context, req *shoalv1.ProfileGrantRequest) (*shoalv1.ProfileGrantResponse, error) {
	sess, err := p.session(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if err := name.CheckKey("receipt", req.GetReceipt()); err != nil {
		return nil, err
	}
	src, err := sourceOf(sourceReceipt, words{kind: req.GetKind(), actor: req.GetActor(), note: req.GetNote()})
	if err != nil {
		return nil, err
	}
	ops, err := parseOps(req.GetOps())
	if err != nil {
		return nil, err
	}
	g, err := sess.Grant(ctx, req.GetReceipt(), src, ops...)
	if err != nil {
		return nil, err
	}
	at := g.At.Truncate(time.Millisecond) // as the receipt has it
	return &shoalv1.ProfileGrantResponse{Revision: g.Revision, Commit: g.Commit, Time: timestamppb.New(at), Repeated: g.Repeated}, nil
}

// Receipt reads a receipt.
func (p profileService) Receipt(ctx context.Context, req *shoalv1.ProfileReceiptRequest) (*shoalv1.ProfileReceiptResponse, error) {
	set, err := p.named(req.GetSet())
	if err != nil {
		return nil, err
	}
	if err := name.CheckKey("receipt", req.GetReceipt()); err != nil {
		return nil, err
	}
	if req.GetKey() != "" {
		if err := checkKey(req.GetKey()); err != nil {
			return nil, err
		}
	}
	r, err := set.Receipt(ctx, req.GetReceipt())
	if err != nil {
		return nil, err
	}
	out := &shoalv1.ProfileReceiptResponse{Revision: r.Revision, Epoch: r.Epoch, Commit: r.Commit, Time: timestamppb.New(r.At)}
	if req.GetKey() != "" {
		out.Of = proto.Bool(r.Of(req.GetKey()))
	}
	return out, nil
}

// Trade applies operations to several profiles, all or none.
func (p profileService) Trade(ctx context.Context, req *shoalv1.ProfileTradeRequest) (*shoalv1.ProfileTradeResponse, error) {
	src, err := sourceOf(profile.SourceGame, words{kind: req.GetKind(), actor: req.GetActor(), note: req.GetNote(), id: req.GetId()})
	if err != nil {
		return nil, err
	}
	parties, err := p.parties(req.GetParties())
	if err != nil {
		return nil, err
	}
	traded, err := profile.Trade(ctx, src, parties...)
	if err != nil {
		return nil, err
	}
	out := &shoalv1.ProfileTradeResponse{Id: traded.ID, Repeated: traded.Repeated}
	for i, party := range req.GetParties() {
		done := &shoalv1.ProfileTraded{Set: party.GetSet(), Key: party.GetKey()}
		if i < len(traded.Commits) {
			done.Revision = traded.Commits[i].Revision
		}
		out.Parties = append(out.Parties, done)
	}
	return out, nil
}

// parties are the sides of a trade, in the order of the request.
func (p profileService) parties(list []*shoalv1.ProfileTradeParty) ([]profile.Party, error) {
	if n := len(list); n < 2 || n > profile.MaxParties {
		return nil, refuse(badField, "parties", "2 to %d parties are expected, got %d", profile.MaxParties, n)
	}
	out := make([]profile.Party, len(list))
	for i, party := range list {
		sess, err := p.session(party.GetSet(), party.GetKey())
		if err != nil {
			return nil, within(indexed("parties", i), err)
		}
		out[i].Session = sess
		if party.GetOps() == "" {
			continue
		}
		if out[i].Ops, err = parseSomeOps(party.GetOps()); err != nil {
			return nil, within(indexed("parties", i), err)
		}
	}
	return out, nil
}
