package season

import (
	"context"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// NewStill is a service without its loops: a test calls the steps itself.
func NewStill(n *node.Node, set string, cfg Config, deps Deps) (*Service, error) {
	return newService(n, set, cfg, deps)
}

// Window sends the changed values of all sessions.
func (s *Service) Window(ctx context.Context) error { return s.window(ctx, s.players.all()) }

// Sweep processes closed seasons for the open sessions.
func (s *Service) Sweep(ctx context.Context) (bool, error) { return s.sweep(ctx) }

// Inspect looks after the boards of the running season.
func (s *Service) Inspect(ctx context.Context) error { return s.inspect(ctx) }

// Rules are the pure rules.
type Rules struct{ r *rules }

// NewRules prepares the rules of a configuration.
func NewRules(set string, cfg Config) (Rules, error) {
	cfg, err := cfg.withDefaults(set)
	if err != nil {
		return Rules{}, err
	}
	return Rules{newRules(set, cfg)}, nil
}

// Record applies what events do to a profile.
func (r Rules) Record(data doc.Value, k int64, events ...Event) (doc.Value, []string, error) {
	t, err := r.r.record(data, k, r.r.cfg.ID(k), events)
	if err != nil {
		return data, nil, err
	}
	next, err := doc.Apply(data, t.ops...)
	return next, t.evicted, err
}

// Advance applies what time does to a profile.
func (r Rules) Advance(data doc.Value, k int64) (doc.Value, []string, error) {
	t, err := r.r.advance(data, k)
	if err != nil {
		return data, nil, err
	}
	next, err := doc.Apply(data, t.ops...)
	return next, t.evicted, err
}

// View reads a profile.
func (r Rules) View(data doc.Value, k, created int64) (Block, error) {
	return r.r.view(data, k, created)
}

// Grant applies results to a profile.
func (r Rules) Grant(data doc.Value, key string, created, first int64, results []*Result, settled map[int64]doc.Value) (doc.Value, []Title, error) {
	g, err := r.r.grant(data, occasion{key, created, first, results, settled})
	if err != nil {
		return data, nil, err
	}
	next, err := doc.Apply(data, g.ops...)
	return next, g.titles, err
}

// MakeResult is a result of one board.
func MakeResult(k int64, c Calendar, b Board, page store.Page, top int) (*Result, error) {
	r := &Result{Format: resultFormat, Season: c.ID(k), K: k, Number: c.Number(k), Boards: []BoardResult{boardResult(b, page, top)}}
	data, err := r.encode()
	if err != nil {
		return nil, err
	}
	return decodeResult(data)
}

// EncodeResult and DecodeResult are the stored form.
func EncodeResult(r *Result) ([]byte, error) { return r.encode() }

// DecodeResult reads the stored form.
func DecodeResult(data []byte) (*Result, error) { return decodeResult(data) }

// DecodeRegister reads the stored form and encodes it again.
func DecodeRegister(data []byte) ([]byte, error) {
	r, err := decodeRegister(data)
	if err != nil {
		return nil, err
	}
	return r.encode()
}

// Outbox is the outbox by itself.
type Outbox struct{ o *outbox }

// NewOutbox makes one with a limit.
func NewOutbox(limit int) Outbox { return Outbox{newOutbox(limit)} }

// Put adds a parcel whose only stat has the value.
func (o Outbox) Put(k int64, key string, value int64, stamp store.Stamp) error {
	return o.o.put(parcel{slot: slot{k, key}, stats: doc.MustObject(map[string]doc.Value{"v": doc.Int(value)}), stamp: stamp})
}

// Settle takes the parcels that take accepts out of those pending, after between has run.
func (o Outbox) Settle(between func(), take func(k int64, key string) bool) {
	list := o.o.pending()
	between()
	for _, p := range list {
		if take(p.k, p.key) {
			o.o.settle(p)
		}
	}
}

// Values lists what waits, in order.
func (o Outbox) Values() (out []OutboxValue) {
	for _, p := range o.o.pending() {
		v, _ := number(p.stats, "v")
		out = append(out, OutboxValue{p.k, p.key, v})
	}
	return out
}

// OutboxValue is one waiting parcel.
type OutboxValue struct {
	K     int64
	Key   string
	Value int64
}

// SessionOf is the open session of a key, or nil.
func (s *Service) SessionOf(key string) Session {
	if p := s.players.byKey(key); p != nil {
		return p.session
	}
	return nil
}
