package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// This file holds what the ledger knows of deeds: what must happen exactly once (PROTOCOL.md
// B5, G 8). Every write is judged, not only the last one.

// Deed is a receipt, a gift, a letter, a trade or an edit: with its own mark, which all its
// entries in logs end with.
type Deed struct {
	kind  string // one of the prefixes of entries; a letter's is mailEntry
	id    string
	hands map[string]hand // by key of the profile; what the addressee gets is letter
	// to and letter are of mail: what its row holds until it is handled.
	to     string
	letter hand

	open    int // attempts that are under way, or that have ended with nobody knowing how
	refused int // attempts that are known to have had no effect
	told    int // attempts that are known to have had it
}

// deeds is what is known of all of them.
type deeds struct {
	byID map[string]*Deed         // with the kind's prefix; a gift also by its letter's
	done map[string][]string      // keys of the profiles whose records have the entry
	box  map[string]time.Duration // rows of mail that stand there, by id, and since when
	held map[string]holdings      // by key, of the record
}

func newDeeds() deeds {
	return deeds{
		byID: make(map[string]*Deed), done: make(map[string][]string), box: make(map[string]time.Duration),
		held: make(map[string]holdings),
	}
}

// Answer is what a library says of a deed.
type Answer uint8

// The answers.
const (
	Unsure Answer = iota // nobody knows
	Done                 // it has its effect, for good
	Undone               // it has had none
)

// Intended notes what is about to be done. It is told once, however often it is tried.
func (l *Ledger) Intended(d *Deed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.deeds.byID[d.kind+d.id] = d
	if d.kind == giftEntry {
		l.mu.deeds.byID[mailEntry+d.id] = d
	}
}

// Tried notes that a deed is being tried.
func (l *Ledger) Tried(d *Deed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.open++
	l.mu.events[d.word()+" tried"]++
	if l.mu.deeds.has(d) {
		l.mu.events[d.word()+" repeated"]++
	}
}

// Answered notes what became of an attempt for a profile; empty: all that it is about.
func (l *Ledger) Answered(d *Deed, key string, a Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch a {
	case Unsure:
		l.mu.events[d.word()+" unknown"]++
		return
	case Undone:
		d.open--
		d.refused++
		l.mu.events[d.word()+" refused"]++
		l.doneSecretlyLocked(d)
		return
	case Done:
	}
	d.open--
	d.told++
	l.mu.events[d.word()+" done"]++
	if !l.mu.deeds.has(d) || key != "" && !slices.Contains(l.mu.deeds.done[d.kind+d.id], key) {
		l.violatedLocked("done, not stored", "%s %s: said to be done, and is not stored", d.word(), d.id)
	}
}

// doneSecretlyLocked finds a deed whose attempts have all been refused, and that is done.
func (l *Ledger) doneSecretlyLocked(d *Deed) {
	if d.open == 0 && d.told == 0 && d.refused > 0 && l.mu.deeds.has(d) {
		l.violatedLocked("refused, but done", "%s %s: each attempt was refused, and it is done", d.word(), d.id)
	}
}

// has tells that the store shows the deed.
func (s *deeds) has(d *Deed) bool {
	return len(s.done[d.kind+d.id]) > 0 || d.letter.entry != "" && (s.stands(d.id) || len(s.done[mailEntry+d.id]) > 0)
}

func (s *deeds) stands(id string) bool {
	_, ok := s.box[id]
	return ok
}

// word is the deed's kind for people.
func (d *Deed) word() string {
	switch d.kind {
	case receiptEntry:
		return "receipt"
	case giftEntry:
		return "gift"
	case mailEntry:
		return "letter"
	case tradeEntry:
		return "trade"
	case editEntry:
		return "edit"
	}
	return "deed"
}

// of is what an entry in the log of a profile stands for.
func (s *deeds) of(entry, key string) (*Deed, hand, bool) {
	d := s.byID[entry]
	if d == nil {
		return nil, hand{}, false
	}
	if d.to == key && d.letter.entry == entry {
		return d, d.letter, true
	}
	h, ok := d.hands[key]
	return d, h, ok && h.entry == entry
}

// tradedLocked takes in commits that reach the store before they reach a session: those of
// trades, which are made in memory when they have landed, and those of sessions that nobody
// was told of, because they are opened for an edit only.
func (l *Ledger) tradedLocked(tx store.Tx) {
	for _, w := range tx {
		if w.Op != store.Put || !strings.HasPrefix(w.Key, recordPrefix) {
			continue
		}
		pg := l.pageLocked(w.Key[len(recordPrefix):])
		next, err := parseRecord(w.Value)
		if err != nil || pg.rec == nil || pg.rec.Session == nil || pg.rec.data.Equal(next.data) {
			continue
		}
		t := pg.byEpoch[pg.rec.Epoch] // who writes, unless it is a takeover
		if t == nil {
			t = l.unseenLocked(pg)
		}
		if t.states[fingerprint(next.data)] == 0 {
			l.reachLocked(t, next)
		}
	}
}

// unseenLocked is the session that the record names, of a load that nobody was told of.
func (l *Ledger) unseenLocked(pg *page) *Tenure {
	r := pg.rec
	t := &Tenure{
		id: fmt.Sprintf("%s.unseen.%d", pg.key, r.Epoch), page: pg, proc: l.hostLocked(r.Session.Node).proc, epoch: r.Epoch,
		base: r.at, opened: l.now(), excused: -1, start: l.commitOf(r.data, r.Revision), states: make(map[uint64]int), last: r.data, unseen: true,
	}
	pg.byEpoch[r.Epoch] = t
	pg.tenures = append(pg.tenures, t)
	return t
}

// reachLocked adds the commits to a session that lead to what is stored, if deeds do.
func (l *Ledger) reachLocked(t *Tenure, next *recordForm) {
	has, log := len(holdingsOf(t.last).log), holdingsOf(next.data).log
	if has >= len(log) || next.Revision < t.revision()+uint64(len(log)-has) {
		return
	}
	states := []doc.Value{t.last}
	for _, entry := range log[has:] {
		d, h, ok := l.mu.deeds.of(entry, t.page.key)
		if !ok || d.kind != tradeEntry && !t.unseen {
			return
		}
		after, err := doc.Apply(states[len(states)-1], h.ops()...)
		if err != nil {
			return
		}
		states = append(states, after)
	}
	if !states[len(states)-1].Equal(next.data) {
		return
	}
	for i, data := range states[1:] {
		l.addLocked(t, data, next.Revision-uint64(len(states)-2-i))
	}
}

// revision is that of the session's last commit.
func (t *Tenure) revision() uint64 {
	if n := len(t.commits); n > 0 {
		return t.commits[n-1].revision
	}
	return t.start.revision
}

// claimedLocked judges a transaction as a whole.
func (l *Ledger) claimedLocked(p *Process, tx store.Tx) {
	s, touched := &l.mu.deeds, false
	for _, w := range tx {
		switch {
		case strings.HasPrefix(w.Key, auditPrefix), strings.HasPrefix(w.Key, versionPrefix):
			l.besideLocked(p, w, tx)
		case strings.HasPrefix(w.Key, recordPrefix) && w.Op == store.Put:
			touched = l.ownedLocked(p, w.Key[len(recordPrefix):], tx) || touched
		case strings.HasPrefix(w.Key, receiptPrefix), strings.HasPrefix(w.Key, mailPrefix):
			touched = touched || w.Op != store.Check
		}
	}
	if !touched {
		return
	}
	for _, w := range tx {
		switch {
		case strings.HasPrefix(w.Key, receiptPrefix):
			l.receiptRowLocked(p, w)
		case strings.HasPrefix(w.Key, mailPrefix):
			l.mailRowLocked(p, w)
		}
	}
	for _, problem := range s.unbalanced() {
		l.violatedLocked("not conserved", "after a write of %s: %s", p.Name, problem)
	}
}

// besideLocked judges a row that is kept beside a save: it is written with it.
func (l *Ledger) besideLocked(p *Process, w store.Write, tx store.Tx) {
	kind, rest, _ := strings.Cut(w.Key, "/"+setName+"/")
	key, _, _ := strings.Cut(rest, "/")
	switch {
	case w.Op == store.Put && !puts(tx, recordPrefix+key):
		l.violatedLocked("without its save", "%s: %s writes %s, and no record with it", key, p.Name, w.Key)
	case w.Op == store.Put:
		l.mu.events[kind+" row"]++
	}
}

// ownedLocked takes in what a record holds now, and tells whether it is something else.
func (l *Ledger) ownedLocked(p *Process, key string, tx store.Tx) bool {
	s, pg := &l.mu.deeds, l.pageLocked(key)
	if pg.rec == nil {
		return false
	}
	before, now := s.held[key], holdingsOf(pg.rec.data)
	s.held[key] = now
	if slices.Equal(before.log, now.log) {
		if before.coins-before.earned != now.coins-now.earned || !slices.Equal(before.items, now.items) {
			l.violatedLocked("not conserved", "%s: %s changes what is owned, and no deed does", key, p.Name)
		}
		return now.coins != before.coins
	}
	if n := len(before.log); len(now.log) < n || !slices.Equal(now.log[:n], before.log) {
		l.violatedLocked("undone", "%s: %s stores the log %v, before: %v", key, p.Name, now.log, before.log)
		return true
	}
	want := before
	for _, entry := range now.log[len(before.log):] {
		d, h, ok := s.of(entry, key)
		if !ok {
			l.violatedLocked("not conserved", "%s: %s stores %q, which nobody wanted", key, p.Name, entry)
			continue
		}
		want = h.apply(want)
		l.enteredLocked(p, d, entry, key, tx)
	}
	if want.coins-want.earned != now.coins-now.earned || !slices.Equal(want.items, now.items) {
		l.violatedLocked("not conserved", "%s: %s stores %d coins of which %d are earned, and items %v; the log says %d coins, items %v",
			key, p.Name, now.coins, now.earned, now.items, want.coins-want.earned, want.items)
	}
	return true
}

// enteredLocked judges one new entry in a record: it is new everywhere, and comes with what it
// claims.
func (l *Ledger) enteredLocked(p *Process, d *Deed, entry, key string, tx store.Tx) {
	s := &l.mu.deeds
	if has := s.done[entry]; len(has) > 0 && (d.kind != tradeEntry || slices.Contains(has, key)) {
		l.violatedLocked(twice(entry[:2]), "%s: %s stores %s once more, after %v", key, p.Name, entry, has)
	}
	s.done[entry] = append(s.done[entry], key)
	l.mu.events[entered(entry[:2])]++
	if d.open == 0 && d.told == 0 {
		l.doneSecretlyLocked(d)
	}
	switch entry[:2] {
	case receiptEntry:
		if !puts(tx, receiptPrefix+d.id) {
			l.violatedLocked("without its claim", "%s: %s grants receipt %s, and does not store it with it", key, p.Name, d.id)
		}
	case giftEntry:
		if !puts(tx, mailPrefix+d.to+"/"+d.id) {
			l.violatedLocked("without its claim", "%s: %s sends gift %s, and does not store it with it", key, p.Name, d.id)
		}
	case mailEntry, editEntry:
		l.handledLocked(p, d, key, tx)
	case tradeEntry:
		for other, h := range d.hands {
			if !stores(tx, other, h.entry) {
				l.violatedLocked("half a trade", "%s: %s stores trade %s, and not for %s", key, p.Name, d.id, other)
			}
		}
	}
}

// handledLocked judges mail, or an edit, that takes effect: its row goes, and its id is
// remembered.
func (l *Ledger) handledLocked(p *Process, d *Deed, key string, tx store.Tx) {
	row := mailPrefix + key + "/" + d.id // of an edit it may go later: it was made where the profile is open, too
	if d.kind != editEntry && !slices.ContainsFunc(tx, func(w store.Write) bool { return w.Key == row && w.Op == store.Delete }) {
		l.violatedLocked("without its claim", "%s: %s handles mail %s, and leaves it in its box", key, p.Name, d.id)
	}
	if rec := l.pageLocked(key).rec; !slices.ContainsFunc(rec.Handled, func(h handledForm) bool { return h.ID == d.id }) {
		l.violatedLocked("handled id not kept", "%s: %s handles mail %s, and does not remember it", key, p.Name, d.id)
	}
	if from := l.mu.deeds.opened(l, key); from != "" {
		l.mu.events[entered(d.letterKind())+" after a "+from]++
	}
}

// opened is how the session that a record names began, if not in peace.
func (*deeds) opened(l *Ledger, key string) string {
	if r := l.pageLocked(key).rec; r.TookFrom != nil && r.TookFrom.Epoch+1 == r.Epoch {
		return "takeover"
	}
	return ""
}

// twice and entered are the words for an entry that comes once more, and for one that comes.
func twice(kind string) string {
	return map[string]string{
		receiptEntry: "granted twice", giftEntry: "sent twice", mailEntry: "mail handled twice", tradeEntry: "traded twice", editEntry: "edited twice",
	}[kind]
}

func entered(kind string) string {
	return map[string]string{
		receiptEntry: "receipt granted", giftEntry: "gift sent", mailEntry: "mail handled", tradeEntry: "traded", editEntry: "edited",
	}[kind]
}

func puts(tx store.Tx, key string) bool {
	return slices.ContainsFunc(tx, func(w store.Write) bool { return w.Key == key && w.Op == store.Put })
}

// stores tells that a transaction stores a profile with an entry in its log.
func stores(tx store.Tx, key, entry string) bool {
	return slices.ContainsFunc(tx, func(w store.Write) bool {
		if w.Key != recordPrefix+key || w.Op != store.Put {
			return false
		}
		r, err := parseRecord(w.Value)
		return err == nil && slices.Contains(holdingsOf(r.data).log, entry)
	})
}

// receiptRowLocked judges a write to a receipt: it comes with its grant, and stays.
func (l *Ledger) receiptRowLocked(p *Process, w store.Write) {
	s, id := &l.mu.deeds, w.Key[len(receiptPrefix):]
	switch {
	case w.Op == store.Delete:
		l.violatedLocked("receipt removed", "%s removes receipt %s", p.Name, id)
	case w.Op != store.Put:
	case len(s.done[receiptEntry+id]) == 0:
		l.violatedLocked("without its effect", "%s stores receipt %s, and grants nothing with it", p.Name, id)
	}
}

// mailRowLocked judges a write to a box: a gift comes with what it costs, and nothing goes
// that has had no effect. A row that comes after its mail was handled, by a call that was
// given up, is no mail any more.
func (l *Ledger) mailRowLocked(p *Process, w store.Write) {
	s := &l.mu.deeds
	key, id, _ := strings.Cut(w.Key[len(mailPrefix):], "/")
	d, handled := s.byID[mailEntry+id], len(s.done[mailEntry+id])+len(s.done[editEntry+id]) > 0
	if e := s.byID[editEntry+id]; d == nil && e != nil && e.hands[key].entry != "" {
		d = e // on its way to the holder
	}
	switch {
	case d == nil || d.kind != editEntry && d.to != key:
		l.violatedLocked("not conserved", "%s: %s writes mail %s, which nobody wanted to send", key, p.Name, id)
	case w.Op == store.Put && handled:
		l.mu.events["mail came again"]++
	case w.Op == store.Put:
		if d.kind == giftEntry && len(s.done[giftEntry+id]) == 0 {
			l.violatedLocked("without its effect", "%s: %s sends gift %s, and the sender keeps it", key, p.Name, id)
		}
		s.box[id] = l.now()
		if d.kind == editEntry {
			l.mu.events["edit sent to the holder"]++
			break
		}
		l.mu.events["mail sent"]++
	case w.Op == store.Delete && !handled:
		l.violatedLocked("mail lost", "%s: %s removes mail %s, which has had no effect", key, p.Name, id)
		delete(s.box, id)
	case w.Op == store.Delete:
		delete(s.box, id)
	}
}

// unbalanced says what is wrong with all that there is: each coin comes from somewhere, and
// each item is in exactly one place.
func (s *deeds) unbalanced() (problems []string) {
	var coins, minted int64
	places := make(map[string][]string)
	for key, h := range s.held {
		coins += h.coins - h.earned
		for _, id := range h.items {
			places[id] = append(places[id], key)
		}
	}
	for id := range s.box {
		if d := s.byID[mailEntry+id]; d != nil && len(s.done[mailEntry+id]) == 0 {
			coins += d.letter.coins
			for _, item := range d.letter.gets {
				places[item] = append(places[item], "mail "+id)
			}
		}
	}
	for _, d := range s.byID {
		for _, h := range s.minted(d) {
			minted += h.coins
			for _, item := range h.gets {
				if len(places[item]) == 0 {
					problems = append(problems, "item "+item+" has vanished")
				}
			}
		}
	}
	if coins != minted {
		problems = append(problems, "there are "+signed(coins)+" coins, and "+signed(minted)+" have come in")
	}
	for item, where := range places {
		if len(where) > 1 {
			slices.Sort(where)
			problems = append(problems, "item "+item+" is in "+strings.Join(where, " and in "))
		}
	}
	slices.Sort(problems)
	return problems
}

// minted is what has come in from outside with a deed that is done.
func (s *deeds) minted(d *Deed) (out []hand) {
	switch d.kind {
	case mailEntry:
		if s.has(d) {
			out = append(out, d.letter)
		}
	case receiptEntry, editEntry:
		for _, key := range s.done[d.kind+d.id] {
			out = append(out, d.hands[key])
		}
	}
	return out
}

func signed(n int64) string { return strconv.FormatInt(n, 10) }

// unheard are the receipts of a profile that nobody was told to be granted.
func (l *Ledger) unheard(key string) (out []*Deed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.mu.deeds.byID {
		if _, mine := d.hands[key]; mine && d.kind == receiptEntry && d.told == 0 && len(d.hands) == 1 {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *Deed) int { return strings.Compare(a.id, b.id) })
	return out
}

// waiting is the mail that has stood in its box for longer than d.
func (l *Ledger) waiting(d time.Duration) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, since := range l.mu.deeds.box {
		if l.now()-since > d {
			out = append(out, fmt.Sprintf("mail %s for %s stands in its box since %v", id, l.mu.deeds.addressee(id), since))
		}
	}
	slices.Sort(out)
	return out
}

// letterKind is the kind of entry that its handling makes.
func (d *Deed) letterKind() string {
	if d.kind == editEntry {
		return editEntry
	}
	return mailEntry
}

// addressee is whose box a piece of mail is in.
func (s *deeds) addressee(id string) string {
	if d := s.byID[mailEntry+id]; d != nil {
		return d.to
	}
	return "the holder"
}

// ID is the deed's own mark.
func (d *Deed) ID() string { return d.id }
