package sim

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/shoalworks/shoal/store"
)

// calm ends all faults: nothing is lost, down, cut off or paused.
func (f *Fleet) calm() {
	f.Script.Do(func() {
		f.say(nil, "faults end")
		f.Ledger.unwatchSeals()
		for i, w := range f.Weather {
			f.Weather[i] = w.fair()
		}
		f.Down, f.Shut = [parts]bool{}, nil
		for _, p := range f.procs {
			p.Cut, p.Mute = [parts]bool{}, nil
			p.Resume()
		}
	})
}

// rested is for how long servers are at rest until they have tidied up: three rounds of the
// reaper, and a little.
const rested = 50 * time.Second

// finale checks that everything comes to rest once the faults have ended: that no record is
// left to nobody, that each key can be loaded, with all that was acknowledged, and that
// nothing is left behind.
func (f *Fleet) finale() {
	auditor := f.Start("Z")
	if !auditor.Up() {
		return
	}
	f.Script.Sleep(20*time.Second + 2*f.Settings.Beat)
	if f.Lib.Exact() {
		f.orphans()
	}
	f.audit(auditor)
	f.seasonsAtRest(auditor)
	rest := f.rng.chance(0.5)
	if rest {
		f.Script.Sleep(rested) // notes are read and removed, the journals of the dead are saved
	}
	// A server that closes looks after its disowned tokens in the order of a map: the trace is
	// compared up to here.
	f.hash = f.Hash()
	var closing []<-chan struct{}
	for _, s := range f.servers {
		if s.Up() {
			closing = append(closing, f.Close(s))
		}
	}
	for _, c := range closing {
		f.Script.Await(c)
	}
	f.Script.Sleep(f.Settings.LoadTimeout)
	if f.Lib.Exact() {
		f.leftovers(rest)
	}
	f.boardsAtRest()
}

// audit loads every key on one server, under every policy.
func (f *Fleet) audit(auditor *Server) {
	visits := make([]*Visit, len(f.keys))
	limits := make([]time.Duration, len(f.keys))
	for i, key := range f.keys {
		policy := Policy(f.rng.below(3))
		limits[i] = f.Settings.DeadAfter + 5*time.Second + f.slowness()
		if f.Ledger.leased(key) {
			limits[i] += f.Settings.Lease
			policy = PolicyWait // under Fail it is refused, as long as the lease holds
		}
		visits[i] = f.Join(auditor, key, Plan{Every: -1, How: How{Policy: policy, Wait: 15 * time.Minute}})
		visits[i].audit = true
	}
	for i, v := range visits {
		for range 3 { // a load that has waited since the faults may ask again, and go first
			if !v.AwaitOpen() && refusalOf(v.Err) == Outbid {
				v = f.Join(auditor, v.Key, v.Plan)
				v.audit, visits[i] = true, v
			}
		}
		switch open := v.Open(); {
		case !open:
			f.Ledger.Violated("cannot be loaded", fmt.Sprintf("%s, after the faults: %v", v.Key, v.Err))
		case f.Lib.Exact() && v.Waited > limits[i]:
			f.Ledger.Violated("loads slowly", fmt.Sprintf("%s, after the faults: %v, at most %v expected", v.Key, v.Waited, limits[i]))
		}
	}
	f.settle(visits)
	for _, v := range visits {
		v.Leave()
	}
	for _, v := range visits {
		v.AwaitOver()
	}
}

// slowness is what a load takes longer than in the anchor world: a takeover waits for about
// eight calls, one after the other.
func (f *Fleet) slowness() time.Duration {
	slow := time.Duration(0)
	for _, w := range f.Weather {
		slow = max(slow, w.Took.Max+w.Wait.Max-250*time.Millisecond)
	}
	return 8 * slow
}

// leased tells that a record's holder is dead and does not vouch for its beat: only its lease
// frees it.
func (l *Ledger) leased(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.pageLocked(key).rec
	return r != nil && r.Session != nil && !r.Session.Beating && l.hostLocked(r.Session.Node).proc.Gone()
}

// orphans checks that each session that a record names is known where it is said to be.
func (f *Fleet) orphans() {
	for _, key := range f.keys {
		epoch, id := f.Ledger.named(key)
		for _, s := range f.servers {
			if !s.Up() || s.Host.ID() != id {
				continue
			}
			if has, open, busy := s.Host.Holds(key); (!open || has != epoch) && !busy {
				f.Ledger.Violated("orphan", fmt.Sprintf("%s: epoch %d is said to be held by %s, which has epoch %d open: %v", key, epoch, s.Name, has, open))
			}
		}
	}
}

// named is the session that a key's record names.
func (l *Ledger) named(key string) (epoch uint64, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.pageLocked(key).rec; r != nil && r.Session != nil {
		return r.Epoch, r.Session.Node
	}
	return 0, ""
}

// leftovers looks at what is left of the fast store at rest. Beats of servers that have
// crashed stay; so may what concerned servers that have crashed when the others closed at
// once, without a rest; and what a write has made that came long after its caller had given
// it up. Anything else is a leak.
func (f *Fleet) leftovers(rest bool) {
	crashed := make(map[string]bool)
	for _, s := range f.servers {
		if s.Host != nil && (!s.closed || len(s.left) > 0) { // what it has left is taken over like that of the dead
			crashed[s.Host.ID()] = true
		}
	}
	var left []string
	for rec, err := range f.records[f.part(Fast)].Scan(context.Background(), store.Range{}) {
		if err == nil && fastKey(rec.Key) {
			left = append(left, rec.Key+" "+string(rec.Value))
		}
	}
	sort.Strings(left)
	for _, line := range left {
		key, value, _ := strings.Cut(line, " ")
		owner, _, _ := strings.Cut(key[strings.Index(key, "/")+1:], "/")
		switch {
		case (strings.HasPrefix(key, beatPrefix) || strings.HasPrefix(key, markPrefix)) && crashed[owner]:
		case strings.HasPrefix(key, beatPrefix), strings.HasPrefix(key, markPrefix):
			f.leaks++ // one that was on its way when its server closed
		case strings.HasPrefix(key, notePrefix) && (crashed[owner] || !rest):
			f.leaks++ // its reader is dead, or has closed within the second
		case strings.HasPrefix(key, markerPrefix) && (f.late || crashed[owner] && !rest):
			f.leaks++
		case strings.HasPrefix(key, "journal/"+anglerSet+"/"):
			f.journals++ // what they hold is judged by the seasons' results
		case strings.HasPrefix(key, journalPrefix) && f.late && !f.Ledger.needed(key[len(journalPrefix):]):
			f.journals++
		default:
			f.Ledger.Violated("left behind", key+" "+value)
		}
	}
}

// forgetFastKeys deletes what the fast store would hold.
func (f *Fleet) forgetFastKeys() {
	r := f.records[Durable]
	for _, prefix := range fastPrefixes() {
		for rec, err := range r.Scan(context.Background(), store.Prefix(prefix)) {
			if err == nil {
				_ = r.Commit(context.Background(), store.Tx{{Key: rec.Key, Op: store.Delete}})
			}
		}
	}
}
