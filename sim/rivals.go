package sim

import (
	"encoding/json"
	"time"

	"github.com/shoalworks/shoal/doc"
)

// Rivals are libraries written here from the published rules of others: what they would show
// in this simulator. They are models of rules, not of anybody's code.
func Rivals() []Library { return []Library{Naive(), StealAfter40(), Lease()} }

// Naive gets at the start and puts now and then, without any lock.
func Naive() Library {
	return rival{rivalRules{name: "get-set", save: 300 * time.Second}}
}

// StealAfter40 keeps the session and the latest request in the record. A holder meets a
// request at its next save, or hears of it in a message; after 40 s the session is taken. A
// record that nobody has written for 630 s, by the servers' own clocks, is free.
func StealAfter40() Library {
	return rival{rivalRules{
		name: "steal-40", lock: true, inRecord: true,
		save: 300 * time.Second, steal: 40 * time.Second, dead: 630 * time.Second,
	}}
}

// Lease keeps a lease in the record, renewed by every save. A holder that is asked in a
// message lets go; after 15 s the lease is taken, and after 300 s without renewal it is void.
func Lease() Library {
	return rival{rivalRules{
		name: "lease-300", lock: true, byAge: true,
		save: 60 * time.Second, steal: 15 * time.Second, dead: 300 * time.Second,
	}}
}

// rivalRules are the numbers and the manners of a rival.
type rivalRules struct {
	name     string
	lock     bool // it has sessions at all
	inRecord bool // requests are left in the record
	byAge    bool // the store tells the age of a record, not its writer
	save     time.Duration
	steal    time.Duration
	dead     time.Duration
}

// rivalRecord is what a rival stores.
type rivalRecord struct {
	Data    json.RawMessage `json:"data"`
	Rev     uint64          `json:"rev"`
	Session string          `json:"session,omitempty"` // "<server> <token>"; empty: free
	Request string          `json:"request,omitempty"` // the latest one
	Updated time.Time       `json:"updated"`           // by the writer's clock

	age time.Duration
}

func (r rivalRecord) encode() []byte {
	out, err := json.Marshal(r)
	if err != nil {
		panic("sim: a rival's record does not encode: " + err.Error())
	}
	return out
}

func (r rivalRecord) value() (doc.Value, error) { return doc.Parse(r.Data, nil) }

// rivalStep is what a rival's load does with a record.
type rivalStep uint8

const (
	rivalClaim rivalStep = iota
	rivalAsk
	rivalWait
	rivalOutbid
)

// step decides about a record that a load has read. asked is how long ago its first request
// was; negative: not yet.
func (r rivalRules) step(rec rivalRecord, me string, now time.Time, asked time.Duration) rivalStep {
	idle := now.Sub(rec.Updated)
	if r.byAge {
		idle = rec.age
	}
	switch {
	case !r.lock, rec.Session == "", rec.Session == me, idle > r.dead:
		return rivalClaim
	case asked < 0:
		return rivalAsk
	case r.inRecord && rec.Request != "" && rec.Request != me:
		return rivalOutbid
	case asked >= r.steal:
		return rivalClaim
	case r.inRecord && rec.Request == "":
		return rivalAsk
	}
	return rivalWait
}
