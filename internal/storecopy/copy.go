package storecopy

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// Options say what is copied where.
type Options struct {
	// From and To are the stores. Both required.
	From, To *store.Store
	// DryRun only counts what would be done.
	DryRun bool
	// Prune removes from the target what the source has removed since it was copied. Default:
	// it is counted.
	Prune bool
	// Overwrite copies over what somebody else has written into the target, and brings back what
	// somebody else has removed there. Default: that is left as it is, and reported.
	Overwrite bool
	// Rate is how many records and entries a second are written at most. Default 0: as many as
	// go.
	Rate int
	// Alive is the age up to which a beat is that of a running node. Default: 30 s.
	Alive time.Duration
	// Clock times pauses. Default: the system's.
	Clock clock.Clock
	// Random makes the versions of the ledger. Default: the system's.
	Random func() uint64
	// Report is called for each thing that was not copied. Default: nobody is told.
	Report func(Finding)
	// Progress is called after each group of writes with the sum so far. Default: nobody is.
	Progress func(Sum)
}

// Kind is why something was not copied.
type Kind string

// The kinds.
const (
	Held     Kind = "held"     // a session holds the profile: a later pass copies it
	Conflict Kind = "conflict" // the target has what somebody else wrote there
	Removed  Kind = "removed"  // somebody else removed it from the target
	Gone     Kind = "gone"     // the source has it no more; the target still has the copy
	Moving   Kind = "moving"   // a board changed too much while it was read: a later pass copies it
)

// Finding is one thing that was not copied.
type Finding struct {
	Kind  Kind
	Key   string // of a record; "" for a board
	Board string
	Why   string
}

// Sum counts a pass.
type Sum struct {
	Records RecordSum
	Boards  BoardSum
	// Nodes are those that ran on the source when the pass began or ended.
	Nodes []string
}

// RecordSum counts records.
type RecordSum struct {
	Seen      int   `json:"seen"`   // at the source, without what is never copied
	Copied    int   `json:"copied"` // in a dry run: that would be
	Bytes     int64 `json:"bytes"`  // of the copied values
	Same      int   `json:"same"`   // at the target already
	Held      int   `json:"held"`
	Conflicts int   `json:"conflicts"`
	Removed   int   `json:"removed"` // from the target, by somebody else
	Gone      int   `json:"gone"`    // from the source; still at the target
	Pruned    int   `json:"pruned"`
	Foreign   int   `json:"foreign"` // only the target has them, and the copier did not write them
}

// BoardSum counts boards.
type BoardSum struct {
	Seen      int   `json:"seen"`
	Copied    int   `json:"copied"`
	Entries   int64 `json:"entries"` // and hidden keys of the copied boards
	Same      int   `json:"same"`
	Conflicts int   `json:"conflicts"`
	Removed   int   `json:"removed"`
	Gone      int   `json:"gone"`
	Pruned    int   `json:"pruned"`
	Moving    int   `json:"moving"`
	Foreign   int   `json:"foreign"`
}

// Refused is how much was left as it is at the target, because somebody else decided so there.
func (s *Sum) Refused() int {
	return s.Records.Conflicts + s.Records.Removed + s.Boards.Conflicts + s.Boards.Removed
}

// Waiting is how much a later pass has to do.
func (s *Sum) Waiting() int {
	return s.Records.Held + s.Records.Gone + s.Boards.Moving + s.Boards.Gone
}

// Complete tells that the target was all of the source when the pass ended.
func (s *Sum) Complete() bool { return s.Refused() == 0 && s.Waiting() == 0 && len(s.Nodes) == 0 }

// ErrNodes tells that nodes run on the target.
var ErrNodes = errors.New("storecopy: nodes run on the target")

// ErrSame tells that source and target are one store.
var ErrSame = errors.New("storecopy: source and target are the same store")

// pass is one run of Copy.
type pass struct {
	Options
	to     *target
	ledger *ledger
	pace   pace
	sum    Sum
}

// Copy makes one pass. See the package's comment.
func Copy(ctx context.Context, o Options) (Sum, error) {
	p := &pass{Options: o}
	p.defaults()
	err := p.run(ctx)
	return p.sum, err
}

func (p *pass) defaults() {
	p.Clock = clock.Or(p.Clock)
	if p.Random == nil {
		p.Random = random
	}
	if p.Alive == 0 {
		p.Alive = 30 * time.Second
	}
	if p.Report == nil {
		p.Report = func(Finding) {}
	}
	if p.Progress == nil {
		p.Progress = func(Sum) {}
	}
	p.to = &target{records: p.To.Durable(), clock: p.Clock}
	p.pace = pace{clock: p.Clock, rate: p.Rate}
}

// random is 64 random bits.
func random() uint64 {
	var b [8]byte
	_, _ = crand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:])
}

func (p *pass) run(ctx context.Context) (err error) {
	if err := p.begin(ctx); err != nil {
		return err
	}
	if err := p.records(ctx); err != nil {
		return fmt.Errorf("storecopy: records: %w", err)
	}
	if err := p.boards(ctx); err != nil {
		return fmt.Errorf("storecopy: boards: %w", err)
	}
	return p.end(ctx)
}

// begin finds out whether the pass may write at all.
func (p *pass) begin(ctx context.Context) (err error) {
	if p.sum.Nodes, err = p.running(ctx, p.From); err != nil {
		return fmt.Errorf("storecopy: the nodes of the source: %w", err)
	}
	if err := p.quiet(ctx); err != nil {
		return err
	}
	if p.ledger, err = openLedger(ctx, p.to, p.Random); err != nil {
		return err
	}
	if p.DryRun {
		return nil
	}
	if err := p.apart(ctx); err != nil {
		return err
	}
	source, err := p.identify(ctx)
	if err != nil {
		return err
	}
	return p.ledger.belong(ctx, source)
}

// apart fails when both stores are one: what is written into the target is at the source.
func (p *pass) apart(ctx context.Context) error {
	v := store.VersionFrom(p.Random())
	w := store.Write{Key: ledgerFolder + "probe/" + v.String(), Op: store.Put, Value: []byte("{}"), If: store.Absent(), Version: v}
	if _, err := p.to.write(ctx, []store.Write{w}); err != nil {
		return err
	}
	found, err := p.From.Durable().Get(ctx, w.Key)
	if err == nil && !found[0].Missing() {
		err = ErrSame
	}
	_, end := p.to.write(ctx, []store.Write{{Key: w.Key, Op: store.Delete, If: store.Is(v)}})
	return errors.Join(err, end)
}

// quiet fails while nodes run on the target.
func (p *pass) quiet(ctx context.Context) error {
	nodes, err := p.running(ctx, p.To)
	if err != nil {
		return fmt.Errorf("storecopy: the nodes of the target: %w", err)
	}
	if len(nodes) > 0 {
		return fmt.Errorf("%w: %s; end them first", ErrNodes, listed(nodes))
	}
	return nil
}

// end looks once more who runs where, and closes the ledger of this pass.
func (p *pass) end(ctx context.Context) error {
	nodes, err := p.running(ctx, p.From)
	if err != nil {
		return fmt.Errorf("storecopy: the nodes of the source: %w", err)
	}
	p.sum.Nodes = merged(p.sum.Nodes, nodes)
	if !p.DryRun {
		if err := p.ledger.settle(ctx); err != nil {
			return err
		}
	}
	return p.quiet(ctx)
}

// sourceMark is what a source is known by.
type sourceMark struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
}

// identify is the identity of the source, given to it by its first copier.
func (p *pass) identify(ctx context.Context) (string, error) {
	from := &target{records: p.From.Durable(), clock: p.Clock}
	for {
		found, err := from.records.Get(ctx, sourceKey)
		if err != nil {
			return "", err
		}
		if !found[0].Missing() {
			var m sourceMark
			err := decode(sourceKey, found[0].Value, &m)
			return m.ID, err
		}
		m := fmt.Appendf(nil, `{"format":%d,"id":%q}`, ledgerFormat, strconv.FormatUint(p.Random(), 36))
		w := store.Write{Key: sourceKey, Op: store.Put, Value: m, If: store.Absent(), Version: store.VersionFrom(p.Random())}
		if _, err := from.write(ctx, []store.Write{w}); err != nil { // refused: another copier was first
			return "", err
		}
	}
}
