package node

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/store"
)

const (
	beatFormat = 1
	beatPrefix = "node/"
)

// beatForm is the stored form of a beat.
type beatForm struct {
	Format  int       `json:"format"`
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	N       uint64    `json:"n"`
	Started time.Time `json:"started"`
	Players int       `json:"players,omitempty"`
	Closed  bool      `json:"closed,omitempty"`
}

func (b beatForm) encode() []byte {
	out, err := json.Marshal(b)
	if err != nil {
		panic("node: a beat does not encode: " + err.Error())
	}
	return out
}

// decodeBeat reads a beat. A later release may add members, so unknown ones are ignored.
func decodeBeat(value []byte) (beatForm, error) {
	var b beatForm
	if err := json.Unmarshal(value, &b); err != nil {
		return beatForm{}, fmt.Errorf("is not a beat: %w", err)
	}
	if b.Format < beatFormat || b.ID == "" {
		return beatForm{}, fmt.Errorf("is not a beat: %q", value)
	}
	return b, nil
}

// Member is a node of the fleet as its beat record shows it.
type Member struct {
	ID      string
	Name    string
	Beats   uint64        // since its start
	Started time.Time     // fleet time
	Players int           // that it had at its last beat
	Age     time.Duration // of the last beat, by the store's clock
	Closed  bool          // it ended and left a session behind
	Alive   bool          // the beat is younger than DeadAfter and not closed; no verdict
}

// maxMembers bounds what Fleet reads.
const maxMembers = 10_000

// Fleet reads the beat records of all nodes, in byte order of id, at most 10,000.
func (n *Node) Fleet(ctx context.Context) ([]Member, error) {
	recs, err := n.readBeats(ctx)
	if err != nil {
		return nil, err
	}
	return n.membersOf(ctx, recs), nil
}

// membersOf decodes beats; foreign ones are left out.
func (n *Node) membersOf(ctx context.Context, recs []store.Record) []Member {
	members := make([]Member, 0, len(recs))
	for _, rec := range recs {
		b, err := decodeBeat(rec.Value)
		if err != nil {
			n.opts.Logger.WarnContext(ctx, "foreign beat record", "key", rec.Key, "err", err)
			continue
		}
		members = append(members, Member{
			ID: b.ID, Name: b.Name, Beats: b.N, Started: b.Started, Players: b.Players, Age: rec.Age, Closed: b.Closed,
			Alive: !b.Closed && rec.Age <= n.opts.DeadAfter,
		})
	}
	return members
}
