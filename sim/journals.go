package sim

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// journaling is what the ledger knows of a page's journal.
type journaling struct {
	journal *journalForm // as last written; nil: there is none
	text    []byte       // its stored form
	chain   chain
	tokens  map[string]owner
	states  map[uint64]map[uint64]doc.Value // what records have held, by epoch and revision
	stored  map[store.Version]stored
	past    []pastJournal     // the last ones that stood there
	told    map[string]uint64 // the newest revision that a session knows to be stored, by token
}

// chain is a run of appends of one session, each on the one before.
type chain struct {
	token  string
	opened uint64 // the step in which its first append was applied
	// backed tells that a save that was sent after the first append has landed: whoever takes
	// over from now on has seen the journal (rule H4).
	backed bool
}

// owner is whose a token is.
type owner struct {
	proc  *Process
	epoch uint64
}

// stored is a record as it was written.
type stored struct {
	token    string
	revision uint64
}

// pastJournal is a journal that stood there once.
type pastJournal struct {
	version store.Version
	value   []byte
}

// maxPast is how many journals of a key are remembered.
const maxPast = 5

// pastJournal is the journal of a key that stood there some writes ago; false: none did.
func (l *Ledger) pastJournal(key string, ago int) (pastJournal, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	past := l.pageLocked(key).past
	if ago >= len(past) {
		return pastJournal{}, false
	}
	return past[len(past)-1-ago], true
}

func newJournaling() journaling {
	return journaling{
		tokens: make(map[string]owner), states: make(map[uint64]map[uint64]doc.Value),
		stored: make(map[store.Version]stored), told: make(map[string]uint64),
	}
}

// savedLocked remembers what a record holds.
func (l *Ledger) savedLocked(pg *page, v store.Version, r *recordForm) {
	pg.stored[v] = stored{r.token(), r.Revision}
	if r.Session != nil {
		pg.tokens[r.Session.Token] = owner{l.hostLocked(r.Session.Node).proc, r.Epoch}
	}
	if pg.states[r.Epoch] == nil {
		pg.states[r.Epoch] = make(map[uint64]doc.Value)
	}
	pg.states[r.Epoch][r.Revision] = r.data
}

// tellLocked takes in that a process has learned that a version of the record stood there.
func (l *Ledger) tellLocked(p *Process, key string, v store.Version) {
	pg := l.pageLocked(key)
	if s, ok := pg.stored[v]; ok && pg.tokens[s.token].proc == p {
		pg.told[s.token] = max(pg.told[s.token], s.revision)
	}
}

// journalLocked checks a write to a journal.
func (l *Ledger) journalLocked(p *Process, w store.Write) {
	pg := l.pageLocked(w.Key[len(journalPrefix):])
	before := pg.journal
	var next *journalForm
	switch w.Op {
	case store.Check:
		return
	case store.Delete:
		l.deletedLocked(pg, p)
	case store.Put:
		if next = parseJournal(w.Value); next == nil {
			l.violatedLocked("not a journal", "%s: %s writes %.200q", pg.key, p.Name, w.Value)
		}
	}
	switch {
	case next == nil:
	case next.SealedBy != "":
		l.sealedLocked(pg, p, next, w.Value)
	default:
		l.appendedLocked(pg, p, next)
	}
	pg.journal, pg.text = next, w.Value
	if next != nil {
		pg.past = append(pg.past, pastJournal{w.Version, w.Value})
		pg.past = pg.past[max(0, len(pg.past)-maxPast):]
	}
	l.rechainLocked(pg, before)
	l.safeLocked(pg)
}

// rechainLocked begins a chain with the first append of a session.
func (l *Ledger) rechainLocked(pg *page, before *journalForm) {
	j := pg.journal
	switch {
	case j == nil:
		pg.chain = chain{}
	case j.SealedBy != "" || before != nil && before.Token == j.Token:
	default:
		pg.chain = chain{token: j.Token, opened: l.step()}
		l.mu.events["opening append"]++
		if t := pg.byEpoch[j.Epoch]; t != nil && t.forgot > 0 {
			l.mu.events["opened again"]++
		}
	}
}

// deletedLocked checks a removal: nobody needs the journal of a session that the record does
// not name.
func (l *Ledger) deletedLocked(pg *page, p *Process) {
	if j := pg.journal; j != nil && pg.rec.token() == j.Token {
		l.violatedLocked("journal removed", "%s: %s removes the journal of epoch %d, and the record names its session", pg.key, p.Name, j.Epoch)
	}
}

// sealedLocked checks a seal: it keeps the entries (rule T2).
func (l *Ledger) sealedLocked(pg *page, p *Process, next *journalForm, text []byte) {
	before := pg.journal
	if before != nil && before.SealedBy == "" {
		l.mu.events["seal"]++
		if l.onSeal != nil {
			l.onSeal(p, pg.key)
		}
	}
	if before == nil || before.Token != next.Token || before.Base != next.Base || before.Rev != next.Rev ||
		before.BaseDigest != next.BaseDigest || !before.Effects.Equal(next.Effects) {
		l.violatedLocked("seal", "%s: %s seals another journal than there is: %.200s, before: %.200s", pg.key, p.Name, text, pg.text)
	}
}

// appendedLocked checks an append against rules J1, H3 and H4.
func (l *Ledger) appendedLocked(pg *page, p *Process, next *journalForm) {
	for _, c := range pg.appendComplaints(p, next) {
		l.violatedLocked(c.kind, "%s: %s: %s (epoch %d base %d rev %d, record %s)",
			pg.key, p.Name, c.text, next.Epoch, next.Base, next.Rev, shownRecord(pg.rec))
	}
}

func (pg *page) appendComplaints(p *Process, next *journalForm) (out []complaint) {
	add := func(kind, text string) { out = append(out, complaint{kind, text}) }
	me, known := pg.tokens[next.Token]
	if !known || me.proc != p || me.epoch != next.Epoch {
		add("foreign journal", "the session is not one of this server")
	}
	if before := pg.journal; before != nil {
		switch {
		case before.Epoch > next.Epoch:
			add("journal back", "a newer session's journal stood there")
		case before.Epoch == next.Epoch && before.Token != next.Token:
			add("foreign journal", "another session's journal stood there")
		case before.Token == next.Token && before.SealedBy != "":
			add("seal ignored", "it was sealed")
		case before.Token == next.Token && before.Rev > next.Rev:
			add("journal back", "a newer one of the same session stood there")
		}
	}
	base, ok := pg.states[next.Epoch][next.Base]
	if !ok || next.Base > pg.told[next.Token] {
		add("base", "the session does not know that its base is stored")
	}
	if ok && base.Digest() != next.BaseDigest {
		add("base", "the digest is not that of the base")
	}
	t := pg.byEpoch[next.Epoch]
	if t == nil || t.stateAt(next.Rev) == nil {
		add("foreign journal", "the session has made no such commit")
		return out
	}
	if pg.rec != nil && t.stateAt(next.Rev).claims > holdingsOf(pg.rec.data).claims() {
		add("claim journaled", "what must be stored with something else is in a journal, and not in the record")
	}
	for at, data := range pg.states[next.Epoch] {
		if at >= next.Base && at < next.Rev && !t.leadsTo(next, data) {
			add("replay", "replayed on revision "+number(at)+" it gives another state")
		}
	}
	return out
}

// leadsTo tells that the journal, replayed on the data, gives the state of its revision.
func (t *Tenure) leadsTo(j *journalForm, data doc.Value) bool {
	at := t.stateAt(j.Rev)
	after, err := j.Effects.Apply(data)
	return at != nil && err == nil && fingerprint(after) == at.data
}

// stateAt is the state of a revision, which may be that after the changes that the load
// itself has made; nil: there is none.
func (t *Tenure) stateAt(revision uint64) *commit {
	if n := t.commitAt(revision); n > 0 {
		return &t.commits[n-1]
	}
	if revision == t.start.revision {
		return &t.start
	}
	return nil
}

// commitAt is the how-manieth commit of the session has a revision; 0: none.
func (t *Tenure) commitAt(revision uint64) int {
	i, ok := slices.BinarySearchFunc(t.commits, revision, func(c commit, r uint64) int {
		switch {
		case c.revision < r:
			return -1
		case c.revision > r:
			return 1
		}
		return 0
	})
	if !ok {
		return 0
	}
	return i + 1
}

// replayLocked checks, after a write to the record, what a takeover would make of the journal.
func (l *Ledger) replayLocked(pg *page) {
	j := pg.journal
	if !j.applies(pg.rec) {
		return
	}
	if t := pg.byEpoch[j.Epoch]; t == nil || !t.leadsTo(j, pg.rec.data) {
		l.violatedLocked("replay", "%s: the journal of epoch %d, from %d to %d, replayed on the record gives another state: %s",
			pg.key, j.Epoch, j.Base, j.Rev, shownRecord(pg.rec))
	}
}

// chainLocked takes in a save by the holder: what it has appended before that is trusted now.
func (l *Ledger) chainLocked(pg *page, p *Process, before *recordForm, made uint64) {
	token := pg.rec.token()
	if before.token() != token || token == "" || pg.tokens[token].proc != p {
		return
	}
	if c := &pg.chain; c.token == token && made >= c.opened {
		c.backed = true
	}
	if t := pg.byEpoch[pg.rec.Epoch]; t != nil && t.forgotten > 0 && made >= t.forgotStep {
		l.foundLocked(t)
	}
}

// inRecord is how many commits of the session the record holds.
func (pg *page) inRecord(t *Tenure) int {
	if pg.rec == nil {
		return 0
	}
	return pg.rec.holds(t)
}

// holds is how many commits of a session are in the record's data.
func (r *recordForm) holds(t *Tenure) int {
	for pt := r.at; pt.t != nil; pt = pt.t.base {
		if pt.t == t {
			return pt.n
		}
	}
	return 0
}

// covered is how many commits of the session are safe from the loss of its node: they are in
// the record, or in a journal that every takeover has to replay.
func (pg *page) covered(t *Tenure) int {
	has := pg.inRecord(t)
	if pg.rec != nil && pg.rec.Epoch == t.epoch && pg.chain.backed && pg.journal.applies(pg.rec) {
		return max(has, t.commitAt(pg.journal.Rev))
	}
	return has
}

// safeLocked checks, after each write, that what the present session has acknowledged is safe.
func (l *Ledger) safeLocked(pg *page) {
	if pg.rec == nil {
		return
	}
	t := pg.byEpoch[pg.rec.Epoch]
	if t == nil {
		return
	}
	has := pg.covered(t)
	l.untilLocked(t, has)
	if t.forgotten > 0 && has >= t.forgotten {
		l.foundLocked(t)
	}
	if has < t.acked && t.acked > t.forgotten && t.acked > t.blamed {
		t.blamed = t.acked
		l.violatedLocked("acknowledged, not stored", "%s: session %s has acknowledged %d steps, %d are safe now, journal %.300s",
			pg.key, t.id, t.acked, has, pg.text)
	}
}

// needed tells that the record of a key names the session of its journal.
func (l *Ledger) needed(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	pg := l.pageLocked(key)
	return pg.journal != nil && pg.journal.Token == pg.rec.token()
}

// untilLocked takes in that commits that were in the memory of their node only are so no more.
func (l *Ledger) untilLocked(t *Tenure, has int) {
	if l.exact && has > t.safe {
		unsafe := l.now() - t.commits[t.safe].at
		if unsafe > 3*time.Second {
			l.say("unsafe: %d steps of %s were in memory only for up to %v", has-t.safe, t.id, unsafe)
		}
		l.mu.unsafe = max(l.mu.unsafe, unsafe)
		t.safe = has
	}
}

// unwatchSeals ends what seals set off.
func (l *Ledger) unwatchSeals() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onSeal = nil
}

// foundLocked ends the time in which steps were held by nothing: the holder has found out.
func (l *Ledger) foundLocked(t *Tenure) {
	if t.proc == nil || !t.proc.gone.Load() { // the dead do not find out, and a takeover comes when it comes
		l.mu.exposed = max(l.mu.exposed, l.now()-t.forgot)
	}
	t.forgotten = 0
}

// storedLocked checks an acknowledgement against what is stored.
func (l *Ledger) storedLocked(t *Tenure) {
	pg := t.page
	has := pg.covered(t)
	switch {
	case has >= t.acked:
	case t.acked > t.forgotten:
		t.blamed = t.acked
		l.violatedLocked("acknowledged, not stored", "%s: session %s acknowledges %d steps, %d are safe, journal %.300s",
			pg.key, t.id, t.acked, has, pg.text)
	case pg.rec.Epoch != t.epoch && t.excused < 0: // by an answer that was on its way
		t.excused = has
		l.mu.excused++
	}
}

// keptInRecordLocked checks the end in order of a session: nothing is missing, and nothing
// excuses it.
func (l *Ledger) keptInRecordLocked(t *Tenure) {
	if n := len(t.commits); l.exact && t.page.inRecord(t) < n {
		l.violatedLocked("ended, not stored", "%s: session %s ends in order with %d steps, %d are in the record",
			t.page.key, t.id, n, t.page.inRecord(t))
	}
	l.ackLocked(t, len(t.commits))
}

// successorLocked checks that a write that ends a session keeps what it has acknowledged.
// Only a takeover may lose something: what the fast store had forgotten before.
func (l *Ledger) successorLocked(pg *page, p *Process, before, next *recordForm) {
	t := pg.byEpoch[before.Epoch]
	if t == nil || next.token() == before.token() {
		return
	}
	has := next.holds(t)
	if has >= t.acked {
		return
	}
	if l.takenLocked(p, before, next) && t.acked <= t.forgotten && has >= pg.covered(t) {
		if t.excused < 0 {
			l.mu.excused++
		}
		t.excused = has
		return
	}
	l.violatedLocked("acknowledged lost", "%s: epoch %d begins with %d of the %d steps that session %s has acknowledged",
		pg.key, next.Epoch, has, t.acked, t.id)
}

// takenLocked tells that a write ends a session that did not end itself, or follows such a
// one.
func (l *Ledger) takenLocked(p *Process, before, next *recordForm) bool {
	return before.Session == nil || next.TookFrom != nil && next.TookFrom.Token == before.token() ||
		l.kindLocked(p, before, next) == writeTakeover
}

// Landed implements Watcher.
func (l *Ledger) Landed(p *Process, tx store.Tx, _ time.Duration) {
	if !l.exact {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range tx {
		if strings.HasPrefix(w.Key, recordPrefix) {
			l.tellLocked(p, w.Key[len(recordPrefix):], w.Version)
		}
	}
}

// Conflicted implements Watcher: a holder that meets a seal is counted.
func (l *Ledger) Conflicted(p *Process, tx store.Tx) {
	if strings.HasPrefix(tx[0].Key, reefPrefix) && strings.HasSuffix(tx[0].Key, "/result") {
		l.Met("double close")
		return
	}
	if !l.exact || !strings.HasPrefix(tx[0].Key, journalPrefix) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	pg := l.pageLocked(tx[0].Key[len(journalPrefix):])
	mine := parseJournal(tx[0].Value)
	if j := pg.journal; j != nil && j.SealedBy != "" && mine != nil && mine.SealedBy == "" && mine.Token == j.Token {
		l.mu.events["seal refusal"]++
		l.say("%s meets the seal on %s", p.Name, pg.key)
	}
}

// Forgot notes that the fast store has lost its memory: what only a journal held is gone.
// That is a declared loss (PROTOCOL.md D S1) if the node is lost before it has found out.
func (l *Ledger) Forgot() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.events["memory lost"]++
	for _, pg := range l.mu.pages {
		l.revertedLocked(pg, nil)
	}
}

// Reverted notes that the fast store is back at an older journal of a key.
func (l *Ledger) Reverted(key string, value []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.events["memory restored"]++
	l.revertedLocked(l.pageLocked(key), value)
}

// revertedLocked takes in that the store has another journal than was written last.
func (l *Ledger) revertedLocked(pg *page, value []byte) {
	j := pg.journal
	if j == nil {
		return
	}
	t := pg.byEpoch[j.Epoch]
	held := 0
	if t != nil {
		held = pg.covered(t)
	}
	if pg.journal, pg.text = nil, value; value != nil {
		pg.journal = parseJournal(value)
	}
	pg.chain.backed, pg.chain.opened = false, l.step()
	if pg.journal == nil {
		pg.chain = chain{}
	}
	if t != nil && pg.rec != nil && pg.rec.Epoch == t.epoch && held > pg.covered(t) {
		l.forgetLocked(t, held)
	}
	// Whose journal is without its seal again goes on as if nobody had taken over, or were
	// about to.
	if now := pg.journal; now != nil && now.SealedBy == "" && (j.SealedBy != "" || now.Epoch < j.Epoch) {
		if t := pg.byEpoch[now.Epoch]; t != nil {
			l.forgetLocked(t, math.MaxInt)
		}
	}
}

// forgetLocked takes in that commits up to n are held by nothing but their node, or will be.
func (l *Ledger) forgetLocked(t *Tenure, n int) {
	if t.forgotten == 0 {
		t.forgot = l.now()
	}
	t.forgotten, t.forgotStep = max(t.forgotten, n), l.step()
}
