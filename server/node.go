package server

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shoalworks/shoal/node"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
)

// nodeService answers for shoal.v1.NodeService.
type nodeService struct{ s *Server }

// Status reads the state of this daemon and of the fleet.
func (n nodeService) Status(ctx context.Context, _ *shoalv1.NodeStatusRequest) (*shoalv1.NodeStatusResponse, error) {
	me := n.s.node
	members, err := me.Fleet(ctx)
	if err != nil {
		return nil, err
	}
	now, fresh := me.FleetTime()
	out := &shoalv1.NodeStatusResponse{
		Id: me.ID(), Name: me.Options().Name, Version: n.s.version, Beating: me.Beating(),
		Now: timestamppb.New(now), Fresh: fresh,
	}
	for _, name := range n.s.setNames {
		out.Sets = append(out.Sets, &shoalv1.NodeSet{Name: name, Sessions: int64(len(n.s.sets[name].Sessions()))})
	}
	out.Boards = n.s.ownBoards()
	out.Seasons = n.s.seasonNames
	for _, m := range members {
		out.Fleet = append(out.Fleet, &shoalv1.NodeMember{Id: m.ID, Name: m.Name, State: memberState(m), Age: durationpb.New(m.Age)})
	}
	return out, nil
}

// Parts tells how the parts of the store answer this daemon, from memory.
func (n nodeService) Parts(context.Context, *shoalv1.NodePartsRequest) (*shoalv1.NodePartsResponse, error) {
	out := &shoalv1.NodePartsResponse{Beating: n.s.node.Beating()}
	now := n.s.clock.Now()
	for _, p := range n.s.parts.all() {
		one := &shoalv1.NodePart{Role: string(p.role), State: p.state(), For: durationpb.New(now.Sub(p.since)), Took: durationpb.New(p.took)}
		if p.err != nil {
			one.Error, one.Meaning = p.err.Error(), partWords(p.role)
		}
		out.Parts = append(out.Parts, one)
	}
	return out, nil
}

// state is the part in a word.
func (p *storePart) state() string {
	switch {
	case p.asked.IsZero():
		return "unasked"
	case p.up():
		return "up"
	}
	return "down"
}

func memberState(m node.Member) string {
	switch {
	case m.Closed:
		return "closed"
	case m.Alive:
		return "alive"
	}
	return "silent"
}
