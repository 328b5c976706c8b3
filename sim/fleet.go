package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// Fleet is a run of one scenario: servers of one library, players, and what came of it.
type Fleet struct {
	*World
	Lib      Library
	Settings Settings
	Ledger   *Ledger
	// Script is the actor that runs the scenario.
	Script *Actor

	servers  []*Server
	names    map[string]int
	keys     []string
	visits   []*Visit
	scoring  scoring
	leaks    int
	journals int
	late     bool // writes may land after their callers have given them up
	deeds    int
	contests int
	flawless bool   // of the seasons nothing may be lost, or come too late
	quiet    bool   // nobody outside begins or repeats anything any more
	hash     uint64 // of the run up to the end of the audit
	rng      *stream
}

// Server is a library in a process of the fleet.
type Server struct {
	*Process
	Host   Host
	fleet  *Fleet
	closed bool
	left   []string // keys that Close named
}

// Up tells that the server runs and takes players.
func (s *Server) Up() bool { return !s.Gone() && !s.closed }

// Start starts a server. A name that was used before is a restart under the same name.
func (f *Fleet) Start(name string) *Server { return f.StartWith(name, f.Settings, 0) }

// StartWith starts a server with settings of its own, and a clock that is off.
func (f *Fleet) StartWith(name string, settings Settings, offset time.Duration) *Server {
	f.names[name]++
	label := name
	if n := f.names[name]; n > 1 {
		label = fmt.Sprintf("%s%d", name, n)
	}
	s := &Server{fleet: f}
	f.Script.Do(func() { s.Process = f.NewProcess(label, offset) })
	host, err := f.boot(s.Process, name, settings)
	if err != nil {
		f.Ledger.Violated("start", fmt.Sprintf("%s: %v", label, err))
		f.Script.Do(s.Crash)
		return s
	}
	s.Host = host
	f.Ledger.Register(host.ID(), s.Process)
	if l := s.ladder(); l != nil {
		l.OnRefused(func(board string, values []store.Submission, unknown bool) {
			f.Ledger.Refused(s.Process, board, values, unknown)
		})
	}
	f.listen(s)
	s.OnCrash(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_, _ = host.Close(ended)
	})
	f.servers = append(f.servers, s)
	f.Script.Yield()
	return s
}

// boots is how often a server that does not start is started again, once a second, as
// whatever watches over game servers would.
const boots = 60

func (f *Fleet) boot(p *Process, name string, settings Settings) (host Host, err error) {
	for range boots {
		if host, err = f.Lib.Start(p.Context(), p, name, settings); err == nil {
			return host, nil
		}
		f.Script.Sleep(time.Second)
	}
	return nil, err
}

// Servers starts servers A, B, C and so on.
func (f *Fleet) Servers(n int) []*Server {
	out := make([]*Server, n)
	for i := range out {
		out[i] = f.Start(string(rune('A' + i)))
	}
	f.Script.Sleep(2 * f.Settings.Beat) // they may judge from now on
	return out
}

// Key makes a player's key.
func (f *Fleet) Key() string {
	key := fmt.Sprintf("p%d", len(f.keys))
	f.keys = append(f.keys, key)
	return key
}

// Crash ends a server at once.
func (f *Fleet) Crash(s *Server) {
	f.Script.Do(s.Crash)
	f.drop(s)
}

// drop tells the ledger that the sessions of a crashed server are gone.
func (f *Fleet) drop(s *Server) {
	for _, v := range f.visits {
		if v.Server == s && v.tenure != nil {
			f.Ledger.Dropped(v.tenure)
		}
	}
}

// Close ends a server in order, on an actor of its own; the channel is closed when it has.
func (f *Fleet) Close(s *Server) <-chan struct{} {
	done := make(chan struct{})
	s.closed = true
	f.Go(s.Process, s.Name+" closes", func(a *Actor) {
		begun, quiet := a.Now(), f.quiet
		left, err := s.Host.Close(s.Context())
		if !a.Alive() {
			return
		}
		s.left = left
		f.scoring.closed(a.Now() - begun)
		f.say(s.Process, "closed: left %v, %v", left, err)
		f.Ledger.HostClosed(s.Host.ID())
		f.closeBoards(s, quiet)
		f.endVisits(s)
		close(done)
	})
	return done
}

// endVisits settles the sessions of a server that has closed: what Close did not name is
// acknowledged.
func (f *Fleet) endVisits(s *Server) {
	for _, v := range f.visits {
		if v.Server != s || v.tenure == nil {
			continue
		}
		if end := v.Hold.End(); end != Living {
			f.Ledger.Ended(v.tenure, end, slices.Contains(s.left, v.Key))
		}
	}
}

// Forget empties the fast store. With one record store its part of it is emptied.
func (f *Fleet) Forget() { f.Script.Do(f.forget) }

func (f *Fleet) forget() {
	f.say(nil, "the fast store forgets")
	if f.Apart() {
		f.engine.Forget(memstore.Fast)
	} else {
		f.forgetFastKeys()
	}
	f.Ledger.Forgot()
	f.Ledger.forgottenAnglers()
}

// Plan is what a player does on a server.
type Plan struct {
	How    How
	Every  time.Duration // a step of play; default 1 s; negative: never
	Sync   float64       // chance that a step is followed by Sync
	Save   float64       // chance that a step is followed by Save
	Earn   float64       // chance that a step earns a coin
	Poison float64       // chance that the game tries to store what cannot be stored
}

// Visit is a player's stay on a server.
type Visit struct {
	Server *Server
	Key    string
	Plan   Plan
	Hold   Hold
	Err    error
	Waited time.Duration // for the load

	Answered chan struct{} // closed when the load has ended
	Over     chan struct{} // closed when the stay has ended

	fleet  *Fleet
	tenure *Tenure
	leave  chan struct{}
	audit  bool // not part of the scenario: it is not counted
	told   bool // the library tells of each commit
}

// Join has a player come to a server, and play there until told to leave, or until the
// session ends.
func (f *Fleet) Join(s *Server, key string, plan Plan) *Visit {
	if plan.Every == 0 {
		plan.Every = time.Second
	}
	v := &Visit{
		Server: s, Key: key, Plan: plan, fleet: f,
		Answered: make(chan struct{}), Over: make(chan struct{}), leave: make(chan struct{}),
	}
	f.visits = append(f.visits, v)
	f.Go(s.Process, fmt.Sprintf("%s visits %s %d", key, s.Name, len(f.visits)), v.run)
	return v
}

// Open tells that the load has opened the profile.
func (v *Visit) Open() bool { return isClosed(v.Answered) && v.Hold != nil }

// Leave has the player leave.
func (v *Visit) Leave() {
	if !isClosed(v.leave) {
		close(v.leave)
	}
}

// AwaitOpen waits for the end of the load, and tells whether it opened the profile. A load of
// a server that crashes does not end.
func (v *Visit) AwaitOpen() bool {
	v.await(v.Answered)
	return v.Open()
}

// AwaitOver waits for the end of the stay, or of the server.
func (v *Visit) AwaitOver() { v.await(v.Over) }

func (v *Visit) await(c <-chan struct{}) {
	select {
	case <-c:
	case <-v.Server.dead:
	case <-v.fleet.over:
	}
	v.fleet.Script.Yield()
}

func (v *Visit) run(a *Actor) {
	if !v.load(a) {
		return
	}
	for a.Alive() {
		leave, alive := a.AwaitFor(v.pace(), v.leave)
		switch {
		case !alive:
			return
		case leave:
			v.release(a)
			return
		case isClosed(v.Hold.Done()):
			close(v.Over)
			return
		case v.Plan.Every > 0:
			v.play(a)
		}
	}
}

func (v *Visit) pace() time.Duration {
	if v.Plan.Every < 0 {
		return time.Minute
	}
	return v.Plan.Every
}

// load opens the profile and tells whether there is anything to play with.
func (v *Visit) load(a *Actor) bool {
	f, begun := v.fleet, a.Now()
	hold, err := v.Server.Host.Load(v.Server.Context(), v.Key, v.Plan.How)
	if !a.Alive() {
		return false
	}
	v.Waited, v.Err = a.Now()-begun, err
	f.note(v, err)
	if err != nil {
		close(v.Answered)
		close(v.Over)
		return false
	}
	v.Hold, v.tenure = hold, f.Ledger.Opened(v.Server.Process, v.Key, hold)
	if h, ok := hold.(Claimant); ok {
		v.told = true
		h.OnCommit(func(data doc.Value, revision uint64) { f.Ledger.Committed(v.tenure, data, revision) })
	}
	go v.watch()
	close(v.Answered)
	return a.Yield()
}

// watch tells the ledger when the session ends.
func (v *Visit) watch() {
	select {
	case <-v.Hold.Done():
	case <-v.Server.dead:
	}
	if v.Server.Gone() || v.Hold.End() == Closed {
		return // of a closed server the report says more
	}
	v.fleet.Ledger.Ended(v.tenure, v.Hold.End(), false)
}

// note counts a load.
func (f *Fleet) note(v *Visit, err error) {
	f.say(v.Server.Process, "load of %s after %v: %v", v.Key, v.Waited, err)
	switch refusal := refusalOf(err); {
	case v.audit:
	case err == nil:
		f.scoring.opened(v.Waited)
	case refusal == Outbid:
		f.Ledger.Met("outbid")
		f.scoring.refused(refusal)
	default:
		f.scoring.refused(refusal)
	}
}

// play is one step of play.
func (v *Visit) play(a *Actor) {
	if a.rng.chance(v.Plan.Poison) {
		v.poison(a)
	}
	_, after, err := v.step(a)
	if err != nil {
		return // busy, or at an end: the next step tells
	}
	v.survives()
	sync, save := a.rng.chance(v.Plan.Sync), a.rng.chance(v.Plan.Save)
	switch {
	case sync:
		err = v.Hold.Sync(v.Server.Context())
	case save:
		err = v.Hold.Save(v.Server.Context())
	default:
		return
	}
	if !a.Alive() {
		return
	}
	if err == nil {
		v.fleet.Ledger.Acknowledged(v.tenure, after)
		if sync && len(v.fleet.Shut) > 0 {
			v.fleet.Ledger.Met("saved instead")
		}
	}
	a.Yield()
}

// survives takes the library at its word about what survives the loss of the server.
func (v *Visit) survives() {
	h, ok := v.Hold.(interface{ Synced() (doc.Value, uint64) })
	if !ok {
		return
	}
	data, _ := h.Synced()
	n := v.fleet.Ledger.CountOf(v.tenure, data)
	if id, at := placeOf(data); n == 0 && id == v.tenure.id {
		n = at
	}
	if n > 0 {
		v.fleet.Ledger.Survives(v.tenure, n, data)
	}
}

// step makes one commit and answers how many the session has made by then.
func (v *Visit) step(a *Actor) (doc.Value, int, error) {
	l := v.fleet.Ledger
	data, revision, err := v.Hold.Transact(v.moves(a, l.Count(v.tenure)+1)...)
	if err != nil {
		return data, 0, err
	}
	if !v.told {
		return data, l.Committed(v.tenure, data, revision), nil
	}
	if l.CountAt(v.tenure, revision) == 0 {
		a.Yield() // another goroutine is about to tell
	}
	return data, l.CountAt(v.tenure, revision), nil
}

// moves are the operations of a step: a counter, its own place in history, and one of several
// kinds of change.
func (v *Visit) moves(a *Actor, n int) []doc.Op {
	ops := []doc.Op{doc.Increment("/steps", 1), doc.Set("/at", doc.MustString(placeText(v.tenure.id, n)))}
	bag, _ := v.Hold.Data().Member("bag")
	draw := a.rng.below(1000)
	switch item := doc.Int(int64(draw)); {
	case bag.Len() >= 8 || draw < 150 && bag.Len() > 0:
		ops = append(ops, doc.RemoveAt("/bag", draw%bag.Len()))
	case draw < 500:
		ops = append(ops, doc.AppendTo("/bag", item))
	case draw < 650:
		ops = append(ops, doc.Set("/pos/x", item))
	case draw < 750:
		ops = append(ops, doc.Unset("/pos/x"))
	case draw < 850:
		ops = append(ops, doc.Merge("/stats", doc.MustObject(map[string]doc.Value{"best": item})))
	default:
		ops = append(ops, doc.InsertAt("/bag", draw%(bag.Len()+1), item))
	}
	if v.Plan.Earn > 0 && a.rng.chance(v.Plan.Earn) {
		ops = append(ops, doc.Increment(coinsAt, 1), doc.Increment(earnedAt, 1))
	}
	return ops
}

// poison tries what must be refused, and leaves no trace.
func (v *Visit) poison(a *Actor) {
	before := v.Hold.Data()
	var ops []doc.Op
	switch a.rng.below(3) {
	case 0:
		ops = []doc.Op{doc.Set("/x", doc.Int(1)), doc.Increment("/at", 1)} // a string is no number
	case 1:
		big := make([]byte, v.fleet.Settings.HardBytes+1)
		for i := range big {
			big[i] = 'x'
		}
		ops = []doc.Op{doc.Set("/x", doc.MustString(string(big)))}
	default:
		ops = []doc.Op{doc.Set("/x", doc.Int(1)), doc.Set("/steps/deep/er", doc.Int(1))}
	}
	if _, _, err := v.Hold.Transact(ops...); err == nil {
		v.fleet.Ledger.Violated("poison", v.Key+": accepted")
	}
	if !v.Hold.Data().Equal(before) {
		v.fleet.Ledger.Violated("poison", v.Key+": refused, and the data is another")
	}
	v.fleet.Ledger.Met("poison")
}

// release has the player leave.
func (v *Visit) release(a *Actor) {
	err := v.Hold.Release(v.Server.Context())
	if !a.Alive() {
		return
	}
	if err == nil {
		v.fleet.Ledger.Ended(v.tenure, endOf(v.Hold), false)
	}
	v.fleet.say(v.Server.Process, "release of %s: %v", v.Key, err)
	close(v.Over)
	a.Yield()
}

// endOf is the end of a session whose release has been answered with success.
func endOf(h Hold) End {
	if end := h.End(); end != Closed {
		return end
	}
	return Released
}
