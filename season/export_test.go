package season

import (
	"bytes"
	"context"
	"fmt"
	"time"

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

// LookAgain reads corrections that were promised and not found.
func (s *Service) LookAgain(ctx context.Context) error { return s.lookAgain(ctx) }

// DecodeCorrections reads the stored form.
func DecodeCorrections(id string, data []byte) ([]Correction, error) {
	c, err := decodeCorrections(id, data)
	return c.List, err
}

// Reread reads data as each of the records beside a result, and what can be read once more as it
// is written. It answers what comes out otherwise, and how.
func Reread(id string, data []byte) ([]byte, error) {
	for _, read := range []func([]byte) (any, error){
		func(d []byte) (any, error) { return decodeCorrections(id, d) },
		func(d []byte) (any, error) { return decodeCorrected(d) },
		func(d []byte) (any, error) { return decodeErasing(d) },
		func(d []byte) (any, error) { _, err := decodeCloseRecord(id, d); return nil, err },
	} {
		record, err := read(data)
		if err != nil || record == nil {
			continue
		}
		first, err := encodePlain("record", record)
		if err != nil {
			return data, err
		}
		record, err = read(first)
		if err != nil {
			return first, err
		}
		second, err := encodePlain("record", record)
		if err != nil || !bytes.Equal(first, second) {
			return second, fmt.Errorf("was %s: %w", first, err)
		}
	}
	return nil, nil
}

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

// Occasion is what results are processed for.
type Occasion struct {
	Key            string
	Created, First int64
	Results        []*Result
	Standings      []*Standings // beside Results, which have no corrections
	Settled        map[int64]doc.Value
	Revocable      bool
}

// Grant applies results to a profile.
func (r Rules) Grant(data doc.Value, o Occasion) (doc.Value, []Title, error) {
	next, g, err := r.Correct(data, o)
	return next, g.Titles, err
}

// Granted is what processing results came to.
type Granted struct {
	Titles, Revoked, Rewarded []Title
	Changes                   []TitleChange
	Ops                       int
}

// Correct applies results and corrections to a profile.
func (r Rules) Correct(data doc.Value, o Occasion) (doc.Value, Granted, error) {
	list := o.Standings
	for _, res := range o.Results {
		list = append(list, standingsOf(res, nil))
	}
	g, err := r.r.grant(data, occasion{o.Key, o.Created, o.First, list, o.Settled, o.Revocable})
	if err != nil {
		return data, Granted{}, err
	}
	next, err := doc.Apply(data, g.ops...)
	return next, Granted{g.titles, g.revoked, g.rewarded, g.changes, len(g.ops)}, err
}

// Outdated lists seasons with more corrections than a profile's titles take into account.
func (r Rules) Outdated(data doc.Value, counts map[string]int) []int64 {
	block, err := r.r.block(data)
	if err != nil {
		return nil
	}
	return r.r.outdated(block, func(id string) int { return counts[id] })
}

// StandingsOf is how a result stands with corrections.
func StandingsOf(r *Result, list []Correction) *Standings { return standingsOf(r, list) }

// Changes tells whether a correction changes how a result with corrections stands.
func Changes(r *Result, list []Correction, c Correction) bool { return changes(r, list, c) }

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
	return o.o.put(parcel{slot: slot{k, key}, stats: doc.MustObject(map[string]doc.Value{"v": doc.Int(value)}), meta: fmt.Append(nil, value), stamp: stamp})
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
		if string(p.meta) != fmt.Sprint(v) {
			v = -1 // another value's name
		}
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

// Stored is the mark as it is in a block, and ReadProcessed reads that.
func (p Processed) Stored() doc.Value { return p.value() }

// ReadProcessed reads the mark of a block.
func ReadProcessed(v doc.Value) (Processed, bool) { return processedFrom(v) }

// SessionOf is the open session of a key, or nil.
func (s *Service) SessionOf(key string) Session {
	if p := s.players.byKey(key); p != nil {
		return p.session
	}
	return nil
}

// Shelf is the shelf by itself.
type Shelf struct{ sh *shelf }

// NewShelf makes one that holds so many results.
func NewShelf(limit int) Shelf { return Shelf{newShelf(limit)} }

// Put keeps a result.
func (s Shelf) Put(r *Result) { s.sh.put(r, s.sh.epoch()) }

// Get tells whether a result is in memory.
func (s Shelf) Get(k int64) bool {
	_, ok := s.sh.get(k)
	return ok
}

// Know keeps what was read of the progress.
func (s Shelf) Know(started bool, first, through int64) { s.sh.know(progress{started, first, through}) }

// Stored is what is known of the progress.
func (s Shelf) Stored() (started bool, first, through int64) {
	p := s.sh.stored()
	return p.started, p.first, p.through
}

// IsClosed tells that a season is known to be closed, and News how often that was news.
func (s Shelf) IsClosed(k int64) bool { return s.sh.isClosed(k) }

// News counts what became known.
func (s Shelf) News() uint64 { return s.sh.news() }

// Unheard lists closes that the game has not heard of, and Announced notes that it does now.
func (s Shelf) Unheard(limit int) []int64 { return s.sh.unheard(limit) }

// Announced notes that the game hears of a close.
func (s Shelf) Announced(k int64) bool { return s.sh.announced(k) }

// Absent remembers that a season had no result, and IsAbsent whether that is still believed.
func (s Shelf) Absent(k int64, now time.Time) { s.sh.setAbsent(k, now) }

// IsAbsent tells whether a season is believed to have no result.
func (s Shelf) IsAbsent(k int64, now time.Time) bool { return s.sh.isAbsent(k, now) }

// CleanName is a name as boards show it.
func CleanName(text string) string { return cleanName(text) }

// MaxBeyond is how many standings are kept beside a page.
const MaxBeyond = maxBeyond

// KeptPages is how many pages are kept.
func (s *Service) KeptPages() int {
	s.pages.mu.RLock()
	defer s.pages.mu.RUnlock()
	return len(s.pages.mu.byBoard)
}

// KeptStandings is how many standings are kept beside the page of a board that is shown now.
func (s *Service) KeptStandings(board string) int {
	at, err := s.boardNow(board)
	if err != nil {
		return -1
	}
	p := s.pages.of(at).peek(s.clock.Now()).value
	p.beyond.Lock()
	defer p.beyond.Unlock()
	return len(p.beyond.byKey)
}

// Docket is the docket by itself.
type Docket struct{ d *docket }

// NewDocket makes an empty one.
func NewDocket() Docket { return Docket{newDocket()} }

// Promise keeps what was read of the index.
func (d Docket) Promise(seasons map[string]int, at time.Time) bool { return d.d.promise(seasons, at) }

// Put keeps a list of so many corrections.
func (d Docket) Put(id string, n, promised int, at time.Time) bool {
	return d.d.put(id, make([]Correction, n), promised, at)
}

// List is how many corrections are known, and whether they need not be read again.
func (d Docket) List(id string, now time.Time) (n int, good bool) {
	list, _, good := d.d.list(id, now)
	return len(list), good
}

// Count is how many corrections there may be, and Unfulfilled where more are promised.
func (d Docket) Count(id string, now time.Time) int { return d.d.count(id, now) }

// Unfulfilled lists seasons of which more corrections are promised than known.
func (d Docket) Unfulfilled(now time.Time) []string { return d.d.unfulfilled(now) }
