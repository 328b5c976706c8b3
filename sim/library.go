package sim

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/season"
)

// Library is what the simulator tests: ours, or a rival.
type Library interface {
	Name() string
	// Exact tells that it stores the records of PROTOCOL.md B3, so that the ledger can check
	// every write.
	Exact() bool
	// Start makes the process a server.
	Start(ctx context.Context, p *Process, name string, s Settings) (Host, error)
}

// Host is a library that runs in a process.
type Host interface {
	// ID is how the library's records name the process.
	ID() string
	// Load opens a profile, or says why not: see [Refusal].
	Load(ctx context.Context, key string, how How) (Hold, error)
	// Holds tells which session of a key is open, and whether the host is still at work on
	// the key otherwise.
	Holds(key string) (epoch uint64, open, busy bool)
	// Close ends the host in order and names the keys that it could not store or free.
	Close(ctx context.Context) (left []string, err error)
}

// Hold is an open session.
type Hold interface {
	// Epoch numbers the sessions of a key, in their order; 0 when the library has no such
	// number.
	Epoch() uint64
	Data() doc.Value
	Revision() uint64
	Transact(ops ...doc.Op) (data doc.Value, revision uint64, err error)
	Save(ctx context.Context) error
	Sync(ctx context.Context) error
	Release(ctx context.Context) error
	Done() <-chan struct{}
	End() End
}

// How is how a session was asked for.
type How struct {
	Wait   time.Duration // 0: the library's default
	Policy Policy
}

// Policy is what a load does about a living holder.
type Policy uint8

// The policies.
const (
	PolicySteal Policy = iota
	PolicyWait
	PolicyFail
)

// End is how a session ended.
type End uint8

// The ends. The zero End is that of a session that lives.
const (
	Living     End = iota
	Released       // everything is stored
	HandedOver     // everything is stored
	Lost
	Closed // stored, unless Close names the key
)

// Refusal is why a load opened nothing.
type Refusal uint8

// The refusals.
const (
	Failed  Refusal = iota // it should have opened
	Outbid                 // a newer load goes first
	Ended                  // the server is closing or has crashed
	Opened                 // the server has it open already
	Refused                // as it should: a record of another release, a holder under Fail
)

// Settings are what a fleet's servers run with.
type Settings struct {
	Beat, DeadAfter, AskEvery, JournalEvery            time.Duration
	Save, StealAfter, LoadTimeout, FallbackSave, Lease time.Duration
	Versions                                           time.Duration // how often a version is kept; negative: never
	Schema                                             int
	HardBytes, JournalBytes                            int
	Limits                                             node.Limits
	// Boards are those of every server; nil: servers have none.
	Boards map[string]board.Config
	// Window is how often what waits for boards is written. Default: the library's.
	Window time.Duration
	// Seasons are what every server's players compete in; nil: nothing. Then there are no others.
	Seasons *season.Config
}

// Anchor are the settings of the anchor world (DESIGN.md 11, issue text): 4 s beats, asks
// read every second, journals every 2 s, saves every 300 s. No versions are kept, as no rival
// keeps any: by default a save an hour has a second record in it.
func Anchor() Settings {
	return Settings{
		Beat: 4 * time.Second, DeadAfter: 8 * time.Second, AskEvery: time.Second, JournalEvery: 2 * time.Second,
		Save: 300 * time.Second, StealAfter: 15 * time.Second, LoadTimeout: 120 * time.Second,
		FallbackSave: 30 * time.Second, Lease: 300 * time.Second, Versions: -1, Schema: 1, HardBytes: 64 << 10,
	}
}

// AnchorWeather is the weather of the anchor world: store calls of 50 to 250 ms, with the
// effect in the middle for the durable store and at the end for the fast one; a publish is a
// call, and is delivered 0.5 to 2 s later.
func AnchorWeather() (w [parts]Weather) {
	call := Span{Min: 50 * time.Millisecond, Max: 250 * time.Millisecond}
	w[Durable] = Weather{Took: call, Effect: InTheMiddle}
	w[Fast] = Weather{Took: call}
	w[Boards] = Weather{Took: call}
	w[Bus] = Weather{Took: call, Carry: Span{Min: 500 * time.Millisecond, Max: 2 * time.Second}}
	for i := range w {
		w[i].LateBy = Span{Max: 30 * time.Second}
	}
	return w
}

// template is the data of a new player, in every library.
func template() doc.Value {
	return doc.Must(map[string]any{
		"at": "", "bag": []any{}, "pos": map[string]any{}, "stats": map[string]any{}, "steps": 0,
	})
}
