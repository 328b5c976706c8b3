package season

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/shoalworks/shoal/doc"
)

// MaxOwed is how many past seasons a block keeps final values of while they wait for their
// result. When one more comes, the oldest leaves and is reported as refused.
const MaxOwed = 32

// Block is the season block of a profile, as far as it can be read.
//
// In the profile it is an object at Config.Path:
//
//	{"season": "C1S2",
//	 "stats": {"fish": 12, "streak": 3},
//	 "owed": {"C1S1": {"fish": 40, "streak": 0}},
//	 "processed": {"through": 0, "extra": [2]},
//	 "titles": {"Fish@C1S1": {"rank": 3, "score": 40, "name": "SEA KING", "number": 1,
//	                          "text": "#3 SEA KING (S1)", "corrections": 0}},
//	 "corrected": {"C1S1": 0}, "withdrawn": {"Coins@C1S1": 2}}
//
// corrected says, of each season in whose result the player has a place, how many corrections
// the titles take into account. withdrawn has titles that a correction took away, with the rank
// whose reward the player has kept (0: it was taken back); a title's paid is the rank whose
// reward was given, when that is another than the title's.
//
// Other members are left alone. A stat that no event has touched is absent, and the player is
// not on its board.
type Block struct {
	K         int64            // the season that the counters belong to
	Season    string           // its id
	Stats     map[string]int64 // never nil
	Owed      map[string]map[string]int64
	Processed Processed
	Titles    []Title // by season, then board
}

// rules are the pure rules of one season set: what events and time do to a block.
type rules struct {
	cfg     Config
	set     string
	effects map[string][]effect
	notes   map[string]string // event name → the note of its transaction

	path, seasonAt, statsAt, owedAt, processedAt, titlesAt doc.Path
	correctedAt, withdrawnAt                               doc.Path
	nameAt                                                 doc.Path // the root: nowhere
	statAt                                                 []doc.Path
	index                                                  map[string]int
}

// newRules prepares the rules of a valid configuration.
func newRules(set string, cfg Config) *rules {
	path := doc.MustPath(cfg.Path)
	r := &rules{
		cfg: cfg, set: set, effects: effectsOf(cfg.Stats), notes: make(map[string]string),
		path: path, seasonAt: path.Append("season"), statsAt: path.Append("stats"),
		owedAt: path.Append("owed"), processedAt: path.Append("processed"), titlesAt: path.Append("titles"),
		correctedAt: path.Append("corrected"), withdrawnAt: path.Append("withdrawn"),
		nameAt: doc.MustPath(cfg.Name),
	}
	r.index = make(map[string]int, len(cfg.Stats))
	for i, s := range cfg.Stats {
		r.statAt, r.index[s.Name] = append(r.statAt, r.statsAt.Append(s.Name)), i
	}
	for event := range r.effects {
		r.notes[event] = "season " + set + ": " + event
	}
	return r
}

// block is what the profile has at the path: an object, or null when there is nothing.
func (r *rules) block(data doc.Value) (doc.Value, error) {
	b, ok := data.Get(r.path)
	if ok && b.Kind() != doc.KindObject && !b.IsNull() {
		return doc.Value{}, fmt.Errorf("%w: %s is of kind %s", ErrBlock, r.cfg.Path, b.Kind())
	}
	return b, nil
}

// kept is what a block's season and counters are at a time.
type kept struct {
	k     int64
	id    string
	stats doc.Value // null when there are none
	// stale: the block belongs to an earlier season, old, whose values have to move to owed.
	stale bool
	old   string
	owed  doc.Value // the old values, null when there are none
	// adopted: the block names no season and becomes one of the current season's.
	adopted bool
}

// keptAt judges a block in season current. A block of a later season is in its own: it never
// goes back. A block that names no season ("", an old "2026-08") adopts the current one with
// counters at zero, and nothing moves.
func (r *rules) keptAt(block doc.Value, current int64, currentID string) kept {
	member, _ := block.Member("season")
	id, _ := member.AsString()
	if id == currentID {
		stats, _ := block.Member("stats")
		return kept{k: current, id: id, stats: stats}
	}
	k, ok := r.cfg.Parse(id)
	if !ok {
		return kept{k: current, id: currentID, adopted: true}
	}
	stats, _ := block.Member("stats")
	if k > current {
		return kept{k: k, id: id, stats: stats}
	}
	return kept{k: current, id: currentID, stale: true, old: id, owed: numbersOf(stats)}
}

// number is the integer member of an object. A float without a fraction counts, since a
// client may have written it.
func number(object doc.Value, name string) (int64, bool) {
	v, ok := object.Member(name)
	if !ok {
		return 0, false
	}
	return integer(v)
}

func integer(v doc.Value) (int64, bool) {
	if i, ok := v.AsInt(); ok {
		return i, true
	}
	const exact = 1 << 53
	if f, ok := v.AsFloat(); ok && f == float64(int64(f)) && f >= -exact && f <= exact {
		return int64(f), true
	}
	return 0, false
}

// numbersOf is an object's integer members, null when it has none.
func numbersOf(v doc.Value) doc.Value {
	var b doc.Builder
	for name, member := range v.Members() {
		if i, ok := integer(member); ok {
			b.Add(name, doc.Int(i))
		}
	}
	if b.Len() == 0 {
		return doc.Null()
	}
	object, err := b.Object()
	if err != nil {
		return doc.Null() // cannot be: the names come from an object
	}
	return object
}

// turn is what one transaction does to a block.
type turn struct {
	ops []doc.Op
	// evicted are owed seasons that had to leave because there were too many.
	evicted []string
}

// advance moves the block to season current, if it is older: the old values go to owed.
// Without anything to do there are no ops.
func (r *rules) advance(data doc.Value, current int64) (turn, error) {
	block, err := r.block(data)
	if err != nil {
		return turn{}, err
	}
	now := r.keptAt(block, current, r.cfg.ID(current))
	if !now.stale {
		return turn{}, nil
	}
	return r.reset(block, now, doc.MustObject(nil)), nil
}

// reset writes the season and its first stats, and what the old season leaves behind.
func (r *rules) reset(block doc.Value, now kept, stats doc.Value) turn {
	if block.IsNull() {
		return turn{ops: []doc.Op{doc.Set(r.path, doc.MustObject(map[string]doc.Value{
			"season": must(doc.String(now.id)), "stats": stats,
		}))}}
	}
	t := turn{ops: []doc.Op{
		doc.Set(r.seasonAt, must(doc.String(now.id))),
		doc.Set(r.statsAt, stats),
	}}
	if !now.owed.IsNull() {
		owed, evicted := r.owe(block, now.old, now.owed)
		t.ops = append(t.ops, doc.Set(r.owedAt, owed))
		t.evicted = evicted
	}
	return t
}

// owe is the block's owed with one season more, and the ids that had to leave: the oldest.
func (r *rules) owe(block doc.Value, id string, values doc.Value) (owed doc.Value, evicted []string) {
	before, _ := block.Member("owed")
	members := make(map[string]doc.Value, before.Len()+1)
	for season, v := range before.Members() {
		members[season] = v
	}
	members[id] = values
	for _, season := range r.inOrder(members) {
		if len(members) <= MaxOwed {
			break
		}
		delete(members, season)
		evicted = append(evicted, season)
	}
	return doc.MustObject(members), evicted
}

// inOrder lists season ids from the oldest to the newest, with what is no id first.
func (r *rules) inOrder(members map[string]doc.Value) []string {
	ids := slices.Sorted(maps.Keys(members))
	slices.SortStableFunc(ids, func(a, b string) int {
		ka, okA := r.cfg.Parse(a)
		kb, okB := r.cfg.Parse(b)
		switch {
		case okA != okB && okB:
			return -1
		case okA != okB:
			return 1
		case ka < kb:
			return -1
		case ka > kb:
			return 1
		}
		return 0
	})
	return ids
}

// record counts events, all or none, in season current or in the block's own later one. A
// turn without ops means that nothing changes (a maximum that was not exceeded).
func (r *rules) record(data doc.Value, current int64, currentID string, events []Event) (turn, error) {
	block, err := r.block(data)
	if err != nil {
		return turn{}, err
	}
	now := r.keptAt(block, current, currentID)
	var t tally
	for _, e := range events {
		effects, ok := r.effects[e.Name]
		if !ok {
			return turn{}, fmt.Errorf("%w: %q", ErrUnknownEvent, e.Name)
		}
		for _, f := range effects {
			r.fetch(&t, now.stats, f.stat)
			if f.act == actBest {
				r.fetch(&t, now.stats, f.run)
			}
			if err := t.apply(f, e.Amount); err != nil {
				return turn{}, fmt.Errorf("season: event %q: stat %q: %w", e.Name, r.cfg.Stats[f.stat].Name, err)
			}
		}
	}
	if now.stale || now.adopted || now.stats.Kind() != doc.KindObject {
		return r.reset(block, now, r.statsOf(&t)), nil
	}
	return turn{ops: r.opsOf(now.stats, &t)}, nil
}

// opsOf writes what the tally has changed: one stat by itself, several as one new object, which
// is less work for the session than one operation after the other.
func (r *rules) opsOf(stats doc.Value, t *tally) (ops []doc.Op) {
	if bits.OnesCount32(t.changed) > 1 && stats.Len() <= maxStats {
		return []doc.Op{doc.Set(r.statsAt, r.statsWith(stats, t))}
	}
	for left := t.changed; left != 0; left &= left - 1 {
		i := bits.TrailingZeros32(left)
		ops = append(ops, doc.Set(r.statAt[i], doc.Int(t.vals[i])))
	}
	return ops
}

// statsWith is the object of stats, members that are none of ours included, with what the tally
// has changed.
func (r *rules) statsWith(stats doc.Value, t *tally) doc.Value {
	var b doc.Builder
	left := t.changed
	for name, v := range stats.Members() {
		if i, ok := r.index[name]; ok && left&(1<<i) != 0 {
			v = doc.Int(t.vals[i])
			left &^= 1 << i
		}
		b.Add(name, v)
	}
	for ; left != 0; left &= left - 1 {
		i := bits.TrailingZeros32(left)
		b.Add(r.cfg.Stats[i].Name, doc.Int(t.vals[i]))
	}
	return must(b.Object())
}

// fetch reads a stat into the tally the first time it is needed.
func (r *rules) fetch(t *tally, stats doc.Value, i int) {
	bit := uint32(1) << i
	if t.fetched&bit != 0 {
		return
	}
	t.fetched |= bit
	if v, ok := number(stats, r.cfg.Stats[i].Name); ok {
		t.vals[i] = v
		t.has |= bit
	}
}

// statsOf is the object of all stats that the tally has.
func (r *rules) statsOf(t *tally) doc.Value {
	members := make(map[string]doc.Value)
	for i, s := range r.cfg.Stats {
		if v, ok := t.get(i); ok {
			members[s.Name] = doc.Int(v)
		}
	}
	return doc.MustObject(members)
}

// view is the block as it is in season current, without writing anything: what advance would
// make of it.
func (r *rules) view(data doc.Value, current int64, created int64) (Block, error) {
	block, err := r.block(data)
	if err != nil {
		return Block{}, err
	}
	now := r.keptAt(block, current, r.cfg.ID(current))
	b := Block{
		K: now.k, Season: now.id, Stats: intsOf(now.stats),
		Processed: r.processed(block, created), Titles: r.titles(block),
	}
	owed, _ := block.Member("owed")
	if now.stale && !now.owed.IsNull() {
		owed, _ = r.owe(block, now.old, now.owed)
	}
	for id, values := range owed.Members() {
		if b.Owed == nil {
			b.Owed = make(map[string]map[string]int64)
		}
		b.Owed[id] = intsOf(values)
	}
	return b, nil
}

func intsOf(v doc.Value) map[string]int64 {
	out := make(map[string]int64)
	for name, member := range v.Members() {
		if i, ok := integer(member); ok {
			out[name] = i
		}
	}
	return out
}

// processed is the block's processed mark; without one, every season before the profile's
// creation counts as processed.
func (r *rules) processed(block doc.Value, created int64) Processed {
	member, _ := block.Member("processed")
	if p, ok := processedFrom(member); ok {
		return p
	}
	return Processed{Through: created - 1}
}

// must unwraps values that cannot fail: ids and names are ASCII, titles were validated.
func must(v doc.Value, err error) doc.Value {
	if err != nil {
		panic(fmt.Sprintf("season: %v", err))
	}
	return v
}
