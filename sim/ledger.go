package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shoalworks/shoal/doc"
)

// Violation is a broken promise.
type Violation struct {
	At   time.Duration
	Kind string // a short word: "acknowledged lost", "foreign write"
	Text string
}

// String is the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%.3fs %s: %s", v.At.Seconds(), v.Kind, v.Text)
}

// maxViolations and maxOfKind bound what one run keeps.
const (
	maxViolations = 50
	maxOfKind     = 10
)

// Ledger compares what a library says in public with a model: every session that was opened,
// every commit that was accepted, every acknowledgement. With an exact library it also checks
// every write that was applied (see writes.go).
//
// The data says by itself where it comes from: each step of play writes who made it and the
// how-manieth it is. So a load's parent and prefix are read from the data, and the whole data
// is then compared with what the model has for that very step.
type Ledger struct {
	now   func() time.Duration
	exact bool
	beat  time.Duration
	// tolerance is how far the landing of a call is from its sending and answer at most.
	tolerance time.Duration
	say       func(format string, args ...any) // into the trace
	onSeal    func(p *Process, key string)     // called when p has sealed a journal; nil: nobody wants to know
	step      func() uint64                    // the step that is being released

	mu struct {
		sync.Mutex
		pages      map[string]*page
		hosts      map[string]*hostEntry // by the id in records
		ids        map[*Process]string
		looks      map[lookKey][]look
		violations []Violation
		kinds      map[string]int
		events     map[string]int
		excused    int
		deeds      deeds
		contest    contest
		reef       reef
		wrong      int           // verdicts on the living
		learned    time.Duration // slowest Lost after the takeover was applied
		unsafe     time.Duration // the longest that a step was in the memory of its node only
		exposed    time.Duration // the longest that steps were held by nothing after the fast store had forgotten them
	}
}

// page is what is known of one key.
type page struct {
	key     string
	tenures []*Tenure // in the order of opening
	byEpoch map[uint64]*Tenure
	rec     *recordForm // as last written; nil: never
	journaling
}

// Tenure is one session that a load has answered.
type Tenure struct {
	id      string
	page    *page
	proc    *Process
	epoch   uint64
	base    point
	start   commit // the state as opened
	commits []commit
	states  map[uint64]int // how many commits lead to a state, by its fingerprint
	last    doc.Value      // the state now
	acked   int            // so many commits are acknowledged
	blamed  int            // so many of them have been found unsafe, and said to be so
	safe    int            // so many were safe from the loss of the node at some time
	// forgotten is up to where commits were held by a journal that the fast store forgot, and
	// by nothing since; forgot says when, at which step. Commits up to there may be lost
	// with the node, and may still be acknowledged, by answers that are on their way.
	forgotten  int
	forgot     time.Duration
	forgotStep uint64
	// excused is with how many commits the next session began, when some that were
	// acknowledged had been forgotten so; -1: nothing was lost.
	excused int
	opened  time.Duration
	ended   time.Duration
	end     End
	over    bool
	taken   time.Duration // when the write that took it over was applied; 0: never
	after   *Tenure       // the first one that was opened after it
	unseen  bool          // nobody was told of it: it was opened for an edit only
}

// commit is one accepted step of play, or one that a claim has made.
type commit struct {
	data     uint64 // fingerprint
	revision uint64
	at       time.Duration
	claims   int // how many claims lead to it, see [holdings.claims]
}

// point is a state: a session's data after so many of its own commits.
type point struct {
	t *Tenure // nil: the template
	n int
}

// NewLedger makes a ledger. exact says that the library stores the records of PROTOCOL.md.
func NewLedger(now func() time.Duration, exact bool, s Settings) *Ledger {
	l := &Ledger{
		say: func(string, ...any) {}, step: func() uint64 { return 0 },
		now: now, exact: exact, beat: s.Beat, tolerance: 300 * time.Millisecond,
	}
	l.mu.pages = make(map[string]*page)
	l.mu.hosts = make(map[string]*hostEntry)
	l.mu.ids = make(map[*Process]string)
	l.mu.looks = make(map[lookKey][]look)
	l.mu.events, l.mu.kinds = make(map[string]int), make(map[string]int)
	l.mu.deeds = newDeeds()
	return l
}

// Violated implements Watcher.
func (l *Ledger) Violated(kind, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violatedLocked(kind, "%s", text)
}

// Violations are those found so far.
func (l *Ledger) Violations() []Violation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.mu.violations)
}

func (l *Ledger) violatedLocked(kind, format string, args ...any) {
	if l.mu.kinds[kind]++; l.mu.kinds[kind] <= maxOfKind && len(l.mu.violations) < maxViolations {
		l.mu.violations = append(l.mu.violations, Violation{l.now(), kind, fmt.Sprintf(format, args...)})
	}
}

// Met counts an event that a set of runs must have met.
func (l *Ledger) Met(event string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.events[event]++
}

func (l *Ledger) pageLocked(key string) *page {
	p := l.mu.pages[key]
	if p == nil {
		p = &page{key: key, byEpoch: make(map[uint64]*Tenure), journaling: newJournaling()}
		l.mu.pages[key] = p
	}
	return p
}

// Opened notes a session that a load has answered.
func (l *Ledger) Opened(p *Process, key string, h Hold) *Tenure {
	data, epoch := h.Data(), h.Epoch()
	l.mu.Lock()
	defer l.mu.Unlock()
	pg := l.pageLocked(key)
	t := &Tenure{
		id: fmt.Sprintf("%s.%s.%d", key, p.Name, len(pg.tenures)), page: pg, proc: p, epoch: epoch,
		opened: l.now(), start: l.commitOf(data, h.Revision()), excused: -1, states: make(map[uint64]int), last: data,
	}
	t.base = l.resolveLocked(pg, data, "opened by "+p.Name)
	if epoch != 0 {
		if other := pg.byEpoch[epoch]; other != nil && !other.unseen {
			l.violatedLocked("two sessions", "%s: epoch %d opened on %s and on %s", key, epoch, other.proc.Name, p.Name)
		}
		pg.byEpoch[epoch] = t
	}
	if before := pg.before(t); before != nil && before.after == nil {
		before.after = t
		if has := contained(t, before); has < len(before.commits) {
			l.say("lost: %d of the %d steps of %s, %d of them acknowledged, are in %s", has, len(before.commits), before.id, before.acked, t.id)
		}
	}
	if got := stepsOf(data); got != pg.steps(t.base) {
		l.violatedLocked("no prefix", "%s opened by %s: %d steps were made up to there, the data says %d", key, p.Name, pg.steps(t.base), got)
	}
	pg.tenures = append(pg.tenures, t)
	for _, x := range pg.tenures {
		l.keptLocked(t, x)
	}
	return t
}

// before is the session that t follows, nil when it is the first.
func (pg *page) before(t *Tenure) *Tenure {
	var best *Tenure
	for _, x := range pg.tenures {
		if x.precedes(t) && (best == nil || best.precedes(x)) {
			best = x
		}
	}
	return best
}

// precedes tells that another comes after it: by epoch, or by the order of opening.
func (t *Tenure) precedes(other *Tenure) bool {
	if t.epoch != 0 && other.epoch != 0 {
		return t.epoch < other.epoch
	}
	return t.opened < other.opened || t.opened == other.opened && t != other
}

// steps is how many steps of play lead to a state.
func (pg *page) steps(pt point) int64 {
	n := 0
	for ; pt.t != nil; pt = pt.t.base {
		n += pt.n
	}
	return int64(n)
}

func stepsOf(data doc.Value) int64 {
	m, _ := data.Member("steps")
	n, _ := m.AsInt()
	return n
}

// contained is how many commits of x are in what t was opened with.
func contained(t, x *Tenure) int {
	for p := t.base; p.t != nil; p = p.t.base {
		if p.t == x {
			return p.n
		}
	}
	return 0
}

// keptLocked checks that what x has acknowledged is in what t was opened with.
func (l *Ledger) keptLocked(t, x *Tenure) {
	if x == t || !x.precedes(t) {
		return
	}
	has := contained(t, x)
	if has >= x.acked || x.excused >= 0 && has >= x.excused && x.acked <= x.forgotten {
		return
	}
	l.violatedLocked("acknowledged lost", "%s: session %s (epoch %d) acknowledged %d steps, session %s (epoch %d) was opened with %d",
		t.page.key, x.id, x.epoch, x.acked, t.id, t.epoch, has)
}

// resolveLocked finds which state the data is, and compares it whole.
func (l *Ledger) resolveLocked(pg *page, data doc.Value, what string) point {
	pt, ok := pg.where(data)
	if !ok {
		l.violatedLocked("no prefix", "%s %s: the data is no state of its history: %.300s", pg.key, what, data.String())
	}
	return pt
}

// where finds the state that the data is: at the place that it names itself, or after claims,
// which change the data and not the place.
func (pg *page) where(data doc.Value) (pt point, ok bool) {
	mark := fingerprint(data)
	if pt, ok = pg.find(placeOf(data)); ok && pg.dataOf(pt) == mark {
		return pt, true
	}
	for _, t := range slices.Backward(pg.tenures) {
		if n := t.states[mark]; n > 0 {
			return point{t, n}, true
		}
	}
	return pt, false
}

// find is the state that a place names.
func (pg *page) find(id string, n int) (point, bool) {
	if id == "" {
		return point{}, true
	}
	for _, t := range slices.Backward(pg.tenures) {
		if t.id == id {
			if n < 1 || n > len(t.commits) {
				return point{}, false
			}
			return point{t, n}, true
		}
	}
	return point{}, false
}

func (pg *page) dataOf(pt point) uint64 {
	switch {
	case pt.t == nil:
		return fingerprint(template())
	case pt.n < 1 || pt.n > len(pt.t.commits):
		return 0
	}
	return pt.t.commits[pt.n-1].data
}

// Committed notes a commit that was accepted, and answers the how-manieth of its session it
// is. One that is known already is compared.
func (l *Ledger) Committed(t *Tenure, data doc.Value, revision uint64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := t.commitAt(revision); l.exact && n > 0 {
		if t.commits[n-1].data != fingerprint(data) {
			l.violatedLocked("two commits", "%s: session %s has two commits of revision %d", t.page.key, t.id, revision)
		}
		return n
	}
	if t.over && !t.proc.Gone() {
		l.violatedLocked("commit after the end", "%s: session %s accepts a step after its end", t.page.key, t.id)
	}
	l.addLocked(t, data, revision)
	return len(t.commits)
}

// addLocked adds a commit to a session.
func (l *Ledger) addLocked(t *Tenure, data doc.Value, revision uint64) {
	t.commits, t.last = append(t.commits, l.commitOf(data, revision)), data
	t.states[fingerprint(data)] = len(t.commits)
	if want := t.page.steps(t.base) + int64(len(t.commits)); stepsOf(data) != want {
		l.violatedLocked("miscounted", "%s: %d steps were made, the data says %d", t.page.key, want, stepsOf(data))
	}
}

func (l *Ledger) commitOf(data doc.Value, revision uint64) commit {
	return commit{data: fingerprint(data), revision: revision, at: l.now(), claims: holdingsOf(data).claims()}
}

// Count is how many commits the session has made.
func (l *Ledger) Count(t *Tenure) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(t.commits)
}

// CountAt is how many commits lead to a revision of the session; 0: it is not known.
func (l *Ledger) CountAt(t *Tenure, revision uint64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.commitAt(revision)
}

// CountOf is how many commits of the session lead to the data; 0: none.
func (l *Ledger) CountOf(t *Tenure, data doc.Value) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.states[fingerprint(data)]
}

// Acknowledged notes that the first n steps of the session are promised to be kept.
func (l *Ledger) Acknowledged(t *Tenure, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ackLocked(t, n)
}

// Survives notes that the library says of the first n steps, which led to data, that they
// survive the loss of their server: no less than an acknowledgement.
func (l *Ledger) Survives(t *Tenure, n int, data doc.Value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 1 || n > len(t.commits) || t.commits[n-1].data != fingerprint(data) {
		l.violatedLocked("survives", "%s: session %s never was in the state that survives, it says: %.300s", t.page.key, t.id, data.String())
		return
	}
	l.ackLocked(t, n)
}

func (l *Ledger) ackLocked(t *Tenure, n int) {
	if n <= t.acked {
		return
	}
	t.acked = n
	if l.exact {
		l.storedLocked(t)
	}
	for _, x := range t.page.tenures {
		l.keptLocked(x, t)
	}
}

// Ended notes the end of a session. Of one that says that everything is stored, everything
// is acknowledged; left says that Close has named it.
func (l *Ledger) Ended(t *Tenure, end End, left bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.over {
		return
	}
	t.over, t.end, t.ended = true, end, l.now()
	l.untilLocked(t, len(t.commits))
	switch end {
	case Released, HandedOver:
		l.keptInRecordLocked(t)
	case Closed:
		if !left {
			l.keptInRecordLocked(t)
		}
	case Lost:
		l.mu.events["lost"]++
		if t.taken > 0 && !t.proc.troubled() {
			l.mu.learned = max(l.mu.learned, t.ended-max(t.taken, t.proc.cleared))
		}
	case Living:
	}
}

// Dropped notes that a session's process is gone.
func (l *Ledger) Dropped(t *Tenure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !t.over {
		t.over, t.ended = true, l.now()
		l.untilLocked(t, len(t.commits))
	}
}

// placeOf reads from the data which step it is: whose, and the how-manieth.
func placeOf(data doc.Value) (id string, n int) {
	at, _ := data.Member("at")
	text, _ := at.AsString()
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == ':' {
			for _, c := range text[i+1:] {
				n = 10*n + int(c-'0')
			}
			return text[:i], n
		}
	}
	return text, 0
}

func placeText(id string, n int) string { return fmt.Sprintf("%s:%d", id, n) }

// fingerprint stands for the whole data.
func fingerprint(v doc.Value) uint64 { return foldText(0, v.String()) }
