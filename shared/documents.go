package shared

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Documents is a set of shared documents on one node. Several sets have names of their own;
// every node that makes one with the same name has the same documents.
type Documents struct {
	node    *node.Node
	name    string
	opts    Options
	clk     clock.Clock
	log     *slog.Logger
	durable store.Records

	// life hands out the context of what runs in the set's own name; halt ends it.
	life    func() context.Context
	halt    context.CancelFunc
	lanes   lanes
	herald  herald
	lookout lookout
	end     sync.Once
	ended   chan struct{} // closed when Close is through

	mu struct {
		sync.Mutex
		closing bool
		calls   sync.WaitGroup // Add under the lock, and never once closing
	}
}

// Source says where a change comes from. The zero Source is the game's.
type Source struct {
	Actor string // a person or a service, for the record
	Note  string // why, for the record
	// ID makes the change safe to repeat: a document remembers the last 64 ids, and a known one
	// answers what is there without changing it. Empty: not remembered for callers.
	ID string
}

// Document is a shared document as it is stored.
type Document struct {
	Key      string
	Data     doc.Value // null when it is missing
	Revision uint64    // changes ever accepted, deletions included; 0: there never was one
	Created  time.Time
	Updated  time.Time
	Actor    string // of the last change
	Note     string // of the last change
	// Missing tells that there is no document. Only a [Watch] and Delete hand out such.
	Missing bool
	// Change is the revision that the change made, in the answer to one; 0 when it changed
	// nothing.
	Change uint64
	// Repeated tells that the change's id was known, so nothing was applied now.
	Repeated bool
}

// New makes the set of documents with this name on the node. It does no I/O, and ends with the
// node, or with Close.
func New(n *node.Node, setName string, opts *Options) (*Documents, error) {
	if err := name.CheckName("set", setName); err != nil {
		return nil, fmt.Errorf("shared: %w", err)
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := validate(o.Validate, o.Template); err != nil {
		return nil, fmt.Errorf("shared: options: Template: %w", err)
	}
	life, halt := context.WithCancel(context.Background())
	d := &Documents{
		node: n, name: setName, opts: o, clk: n.Clock(), log: n.Logger().With("documents", setName, "node", n.ID()),
		durable: n.Store().Durable(), life: func() context.Context { return life }, halt: halt, ended: make(chan struct{}),
	}
	if o.Through != nil {
		d.durable = n.Store().Through(o.Through, func(b store.Boards) store.Boards { return b }).Durable()
	}
	d.lanes.mu.open = make(map[string]*lane)
	d.herald.begin(d)
	d.lookout.begin(d)
	n.OnClose(node.StageSessions, "shared/"+setName, d.closeWithNode)
	return d, nil
}

// Name is the set's name, the middle part of its keys in the store.
func (d *Documents) Name() string { return d.name }

// enter begins a call of the game's: its context ends with ctx, or when the set has closed.
func (d *Documents) enter(ctx context.Context) (context.Context, func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.closing {
		return nil, nil, ErrClosed
	}
	d.mu.calls.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(d.life(), cancel)
	return ctx, func() {
		stop()
		cancel()
		d.mu.calls.Done()
	}, nil
}

// Read is the document as it is stored now. A missing one is [ErrNoDocument].
func (d *Documents) Read(ctx context.Context, key string) (Document, error) {
	doc, err := d.readDocument(ctx, key)
	if err != nil {
		return Document{}, fmt.Errorf("shared: read %s: %w", key, err)
	}
	return doc, nil
}

func (d *Documents) readDocument(ctx context.Context, key string) (Document, error) {
	if err := name.CheckKey("key", key); err != nil {
		return Document{}, err
	}
	ctx, leave, err := d.enter(ctx)
	if err != nil {
		return Document{}, err
	}
	defer leave()
	r, err := d.read(ctx, key)
	if err != nil {
		return Document{}, err
	}
	d.lookout.tell(key, r)
	if r.problem != nil {
		return Document{}, r.problem
	}
	if !r.there() {
		return Document{}, ErrNoDocument
	}
	return documentOf(key, r.record), nil
}

// read is one read of a record.
func (d *Documents) read(ctx context.Context, key string) (reading, error) {
	if err := d.node.Pass(ctx, node.ClassLoad, node.KindRead); err != nil {
		return reading{}, err
	}
	ctx, cancel := clock.WithTimeout(ctx, d.clk, d.opts.CallTimeout)
	defer cancel()
	recs, err := d.durable.Get(ctx, recordKey(d.name, key))
	if err != nil {
		return reading{}, err
	}
	return readingOf(recs[0]), nil
}

func documentOf(key string, r record) Document {
	return Document{
		Key: key, Data: r.data, Revision: r.revision, Created: r.created, Updated: r.updated,
		Actor: r.by.actor, Note: r.by.note, Missing: r.revision == 0 || !r.deleted.IsZero(),
	}
}

// Close refuses further calls, waits for those that run, or for the end of ctx, which cuts
// them short, and ends the watches.
func (d *Documents) Close(ctx context.Context) error {
	d.end.Do(func() { go d.close() })
	select {
	case <-d.ended:
		return nil
	case <-ctx.Done():
	}
	d.halt()
	<-d.ended
	return nil
}

func (d *Documents) closeWithNode(ctx context.Context) (int, error) { return 0, d.Close(ctx) }

func (d *Documents) close() {
	defer close(d.ended)
	d.mu.Lock()
	d.mu.closing = true
	d.mu.Unlock()
	d.mu.calls.Wait() // each is bounded by its caller's context, and by life
	d.herald.close()
	d.halt()
	d.lookout.close()
}
