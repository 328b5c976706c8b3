package profile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// SourceMail is the kind of changes that mail makes: Actor is who sent it, Note is why.
const SourceMail SourceKind = "mail"

const (
	// maxPostmen bounds the boxes that a set looks into at once.
	maxPostmen = 32
	// mailPage is how much of a box is read, and dealt with, in one go: one Tx takes it.
	mailPage = 32
	// mailAgain is when a box is looked into again that could not be read, or was held up.
	mailAgain = time.Second
	// maxReason bounds what a profile remembers of why mail was refused, in bytes.
	maxReason = 1024
)

// HandleMail has fn called with mail of a kind that has come to a session of this node, and
// what it answers is applied to the profile. Effect, the memory of the mail's id, and the
// removal from the box are stored in one write; so the effect happens once, though fn may be
// called more often: it must do nothing else. The operations should not depend on what fn
// read from the session, which may have changed since (see doc.CompareAndSet).
//
// An error of fn, a panic, more than HookTimeout, and a refusal of the operations leave the
// mail in the box: later mail goes on, and it is tried again, later and later, up to
// MaxMailAttempts times, and again by the next session. An error that is an [ErrMailRefused]
// removes it for good, without effect. Mail of a kind without a handler waits in the box; so
// register handlers before the first load. The last one of a kind counts.
func (s *Set) HandleMail(kind string, fn func(context.Context, *Session, Mail) ([]doc.Op, error)) {
	s.post.mu.Lock()
	defer s.post.mu.Unlock()
	if s.post.mu.handlers == nil {
		s.post.mu.handlers = make(map[string]mailHandler)
	}
	s.post.mu.handlers[kind] = mailHandler{name: funcName(fn), call: fn}
}

type mailHandler struct {
	name string
	call func(context.Context, *Session, Mail) ([]doc.Op, error)
}

func (s *Set) mailHandler(kind string) (mailHandler, bool) {
	s.post.mu.Lock()
	defer s.post.mu.Unlock()
	h, ok := s.post.mu.handlers[kind]
	return h, ok
}

// postbox is a session's work at its mail: one at a time.
type postbox struct {
	open    bool          // the OnLoad functions have returned
	wanted  bool          // a look into the box is due
	working bool          // somebody is at it
	began   time.Time     // when the last look began
	kick    chan struct{} // for whom is at it: look now
	trouble map[string]*trouble
	noted   store.Version // of the last note that was followed
}

// trouble is mail that could not be dealt with. There is as much as fits into a box.
type trouble struct {
	fails   int
	due     time.Time
	running bool // its handler has not returned
	late    bool // nobody waits for its handler any more
	said    bool // it has been logged that it must wait
	pass    int  // the last one in which it was there
}

// lookForMail has the box looked into, in the background.
func (s *Session) lookForMail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.mu.mail
	if !m.open || s.mu.reason != 0 {
		return
	}
	m.wanted = true
	if m.working {
		select {
		case m.kick <- struct{}{}:
		default:
		}
		return
	}
	m.working, m.kick = true, make(chan struct{}, 1)
	s.set.tasks.start(s.seeToMail)
}

// openMail has mail dealt with from now on, and looks for what came before.
func (s *Session) openMail() {
	s.mu.Lock()
	s.mu.mail.open = true
	s.mu.Unlock()
	s.lookForMail()
}

// noticed takes a note that says that there is mail. It comes again until it is removed.
func (s *Session) noticed(n node.Note) {
	s.mu.Lock()
	known := n.Version != 0 && n.Version == s.mu.mail.noted
	if n.Version != 0 {
		s.mu.mail.noted = n.Version
	}
	s.mu.Unlock()
	if !known {
		s.lookForMail()
	}
}

// mailed deals with the news that there is mail. What is not open here is found when it is.
func (s *Set) mailed(n node.Note) {
	if _, sess := s.find(n.For); sess != nil && sess.key == n.Key {
		sess.noticed(n)
	}
	s.removeNote(n)
}

// lookForAllMail has all boxes looked into that were not by now: notes may have been lost.
func (s *Set) lookForAllMail() {
	now := s.clk.Now()
	for _, sess := range s.inOrder() {
		if sess.lookedForMail().Before(now) {
			sess.lookForMail()
		}
	}
}

// lookedForMail is when the last look began.
func (s *Session) lookedForMail() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.mail.began
}

// seeToMail looks into the box, again and again as long as there is a reason to.
func (s *Session) seeToMail() {
	for round := (&mailRound{s: s}); ; {
		s.mu.Lock()
		m := &s.mu.mail
		if s.mu.reason != 0 || s.set.life().Err() != nil || !m.wanted && round.next.IsZero() {
			m.working = false
			s.mu.Unlock()
			return
		}
		now, kick := s.set.clk.Now(), m.kick
		wait := round.next.Sub(now)
		if m.wanted {
			wait = 0
		}
		if m.wanted = false; wait <= 0 {
			m.began = now // with the decision: who wants a look at this moment has it
		}
		s.mu.Unlock()
		if wait > 0 {
			s.restMail(kick, wait)
			continue
		}
		round.run()
	}
}

// restMail waits, or is kicked.
func (s *Session) restMail(kick chan struct{}, wait time.Duration) {
	t := s.set.clk.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C():
	case <-kick:
	case <-s.done:
	case <-s.set.life().Done():
	}
}

// mailRound is one look through the whole box.
type mailRound struct {
	s     *Session
	pass  int
	fails int       // reads in a row that failed
	next  time.Time // when to look again; zero: when kicked
	held  bool      // the rest of the box must wait
	clean bool      // everything that was dealt with is out of the box
	last  *ticket   // of the last claim that was made
}

// run looks through the box page by page. A session that is leaving leaves it to the next.
func (r *mailRound) run() {
	s := r.s
	r.pass, r.next, r.held, r.clean = r.pass+1, time.Time{}, false, true
	if over := s.over(); over != nil {
		select {
		case <-over:
			r.again(s.set.clk.Now()) // it may live on
		case <-s.done:
		}
		return
	}
	after := ""
	for !r.held {
		rows, err := r.page(after)
		if err != nil {
			r.unread(err)
			return
		}
		r.fails = 0
		for _, row := range rows {
			if after = row.id; !r.held {
				r.row(row)
			}
		}
		r.await()
		if len(rows) < mailPage {
			break
		}
	}
	if !r.held {
		r.through()
	}
}

// page reads the next rows, when there is a desk for it.
func (r *mailRound) page(after string) ([]mailReading, error) {
	set := r.s.set
	select {
	case set.post.desks <- struct{}{}:
	case <-r.s.done:
		return nil, r.s.gone()
	}
	defer func() { <-set.post.desks }()
	return set.boxPage(set.life(), node.ClassLoad, r.s.key, after, mailPage)
}

// again looks no later than at this time.
func (r *mailRound) again(at time.Time) { r.next = earlier(r.next, at) }

// holdUp leaves the rest of the box for a moment.
func (r *mailRound) holdUp() {
	r.held = true
	r.again(r.s.set.clk.Now().Add(mailAgain))
}

func (r *mailRound) unread(err error) {
	r.held = true
	if hopeless(err) {
		r.s.set.log.ErrorContext(r.s.set.life(), "mail cannot be read", "key", r.s.key, "err", err)
		return
	}
	r.fails++
	r.again(r.s.set.clk.Now().Add(mailAgain + backoff(r.fails, r.s.set.node.Random("box retry", r.s.key))))
}

// await waits until what was dealt with is stored, so that one Tx at a time is filled, and no
// more mail is taken out than that.
func (r *mailRound) await() {
	if r.last == nil {
		return
	}
	r.s.hurryClaim(r.last)
	<-r.last.done // at the latest when the session ends
	if r.last.err != nil {
		r.held = true
	}
	r.last = nil
}

// through takes in that the whole box was seen: what is old may be forgotten.
func (r *mailRound) through() {
	s := r.s
	now := s.set.node.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, t := range s.mu.mail.trouble {
		if t.pass != r.pass && !t.running {
			delete(s.mu.mail.trouble, id)
		}
	}
	full := len(s.mu.handled) >= maxHandled
	if r.clean {
		s.mu.handled = recentlyHandled(s.mu.handled, now)
	}
	switch {
	case full && len(s.mu.handled) < maxHandled:
		s.mu.mail.wanted = true
	case full:
		r.again(s.set.clk.Now().Add(max(mailAgain, MailMemory-now.Sub(s.mu.handled[0].at)+time.Millisecond)))
	}
}

// row deals with one row of the box.
func (r *mailRound) row(row mailReading) {
	s := r.s
	s.mu.Lock()
	if s.mu.reason != 0 || s.mu.leaving != nil {
		r.held = true
		s.mu.Unlock()
		return
	}
	step := boxStepOf(row, s.mu.rec.handled, s.mu.handled)
	t := s.mu.mail.trouble[row.id]
	waits := t != nil && (t.running || t.fails >= MaxMailAttempts || t.due.After(s.set.clk.Now()))
	if t != nil {
		t.pass = r.pass
		if waits && !t.running && t.fails < MaxMailAttempts {
			r.again(t.due)
		}
	}
	s.mu.Unlock()
	switch step {
	case boxRemove:
		r.remove(row)
	case boxOpaque:
		r.mustWait(row, unreadable(row.problem))
	case boxHandle:
		if !waits {
			r.handle(row)
		}
	case boxLeave, boxFull:
	}
}

// remove takes a row out that came after its mail was dealt with, or was put again.
func (r *mailRound) remove(row mailReading) {
	s := r.s.set
	err := s.node.Pass(s.life(), node.ClassBackground, node.KindWrite)
	if err == nil {
		ctx, cancel := s.call()
		defer cancel()
		err = s.commit(ctx, store.Tx{{Key: mailKey(s.name, r.s.key, row.id), Op: store.Delete, If: store.Is(row.version)}})
	}
	if err != nil && !isConflict(err) {
		r.clean = false
		r.again(s.clk.Now().Add(mailAgain))
	}
}

// trouble is what is remembered of mail that is not dealt with.
func (r *mailRound) trouble(id string, change func(*trouble)) {
	m := &r.s.mu
	m.Lock()
	defer m.Unlock()
	t := m.mail.trouble[id]
	if t == nil {
		if t = (&trouble{}); m.mail.trouble == nil {
			m.mail.trouble = make(map[string]*trouble)
		}
		m.mail.trouble[id] = t
	}
	t.pass = r.pass
	change(t)
}

// handlerReturned notes that a handler is not running any more; late tells that nobody waited.
func (s *Session) handlerReturned(id string) (late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.mu.mail.trouble[id]
	if t == nil {
		return false
	}
	late, t.running, t.late = t.late, false, false
	return late
}

// overslept notes that nobody waits for a handler any more; false: it has just returned.
func (s *Session) overslept(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.mu.mail.trouble[id]
	if t == nil || !t.running {
		return false
	}
	t.late = true
	return true
}

// mustWait logs once that mail stays in the box.
func (r *mailRound) mustWait(row mailReading, because error) {
	r.trouble(row.id, func(t *trouble) {
		if !t.said {
			r.s.set.log.WarnContext(r.s.set.life(), "mail waits in its box", "key", r.s.key, "id", row.id, "kind", row.letter.mail.Kind, "err", because)
		}
		t.said = true
	})
}

// handle deals with mail that is there to be dealt with.
func (r *mailRound) handle(row mailReading) {
	s, m := r.s, row.letter.mail
	ops := m.Ops
	if len(ops) == 0 && m.Kind != editKind {
		h, ok := s.set.mailHandler(m.Kind)
		if !ok {
			r.mustWait(row, errors.New("no handler of this kind"))
			return
		}
		var err error
		if ops, err = r.ask(h, m); err != nil {
			r.failed(row, err)
			return
		}
	}
	r.claim(row, ops, "")
}

// claim commits what mail brings, or that it is refused.
func (r *mailRound) claim(row mailReading, ops []doc.Op, refused string) {
	s := r.s
	src, digest, err := row.letter.source(ops)
	if refused != "" {
		src.ID, digest, ops, err = "", "", nil, nil
	}
	c := mailClaim(s.set.name, s.key, row, refused)
	if err == nil {
		_, err = s.carryOut(proposal{src: src, digest: digest, claim: c}, ops)
	}
	switch {
	case err == nil:
	case errors.Is(err, errHandled):
		return
	case refused != "", errors.Is(err, ErrBusy), errors.Is(err, ErrEnded), errors.Is(err, store.ErrUnavailable):
		r.holdUp()
		return
	default:
		r.failed(row, err)
		return
	}
	s.set.stats.mailHandled.Add(1)
	r.last = c.stored
	if row.letter.reply != "" {
		s.set.tasks.start(func() { s.reply(row, c.stored) })
	}
}

// mailClaim is the claim that deals with mail: with its row, if there is one.
func mailClaim(set, key string, row mailReading, refused string) *claim {
	c := &claim{name: "mail/" + row.id, stored: newTicket(), handled: &handled{id: row.id, refused: refused}}
	if row.version != 0 {
		c.rows = []store.Write{{Key: mailKey(set, key, row.id), Op: store.Delete, If: store.Is(row.version)}}
	}
	return c
}

// source says where a change by mail comes from.
func (l letter) source(ops []doc.Op) (src Source, digest string, err error) {
	if l.mail.Kind == editKind {
		return editSource(l, ops)
	}
	return Source{Kind: SourceMail, Actor: l.mail.From, Note: l.mail.Note}, "", nil
}

// failed takes in that mail could not be dealt with: it is refused for good, or tried again.
func (r *mailRound) failed(row mailReading, err error) {
	s := r.s
	if errors.Is(err, ErrMailRefused) || row.letter.mail.Kind == editKind {
		s.set.stats.mailRefused.Add(1)
		s.set.log.WarnContext(s.set.life(), "mail refused", "key", s.key, "id", row.id, "kind", row.letter.mail.Kind, "err", err)
		r.claim(row, nil, reason(err))
		return
	}
	s.set.stats.mailFailed.Add(1)
	r.trouble(row.id, func(t *trouble) {
		t.fails++
		t.due = s.set.clk.Now().Add(mailBackoff(t.fails))
		if t.fails < MaxMailAttempts {
			r.again(t.due)
			s.set.log.WarnContext(s.set.life(), "mail not dealt with: it is tried again", "key", s.key, "id", row.id, "kind", row.letter.mail.Kind, "fails", t.fails, "err", err)
			return
		}
		s.set.log.ErrorContext(s.set.life(), "mail not dealt with: it is left to the next session", "key", s.key, "id", row.id, "kind", row.letter.mail.Kind, "fails", t.fails, "err", err)
	})
}

// ask has a handler say what mail does. One that does not return in time is not called again
// for this mail until it has returned, and what it answers then is not used.
func (r *mailRound) ask(h mailHandler, m Mail) ([]doc.Op, error) {
	type answer struct {
		ops []doc.Op
		err error
	}
	s := r.s
	ctx, cancel := clock.WithTimeout(s.set.life(), s.set.clk, s.set.opts.HookTimeout)
	defer cancel()
	label := "HandleMail " + h.name
	s.set.hooks.begin(s, label)
	r.trouble(m.ID, func(t *trouble) { t.running = true })
	answered := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				s.set.stats.panics.Add(1)
				a = answer{err: &PanicError{Where: label, Value: p}}
			}
			s.set.hooks.end(s, label)
			late := s.handlerReturned(m.ID)
			answered <- a
			if late {
				s.lookForMail() // which goes on without it
			}
		}()
		a.ops, a.err = h.call(ctx, s, m)
	}()
	select {
	case a := <-answered:
		return a.ops, a.err
	case <-ctx.Done():
	}
	if !s.overslept(m.ID) {
		a := <-answered
		return a.ops, a.err
	}
	s.set.stats.stuck.Add(1)
	return nil, fmt.Errorf("%s did not return within %v", label, s.set.opts.HookTimeout)
}
