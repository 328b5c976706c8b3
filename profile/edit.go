package profile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// editKind is the kind of mail that carries an edit to the holder.
const editKind = reservedKinds + "edit"

// editRoom is how many edits fit into a box that is full of mail.
const editRoom = 64

// quietEvery is how often an edit that waits for a holder looks whether that one is gone: not
// before a holder that is there has read its notes, since a look may take some time.
const quietEvery = 2 * time.Second

// Where is where an edit was made.
type Where uint8

// The places.
const (
	Here      Where = iota + 1 // in the session of this node
	Elsewhere                  // by the node that holds the profile
	Nowhere                    // in the profile, which nobody held
)

// String is "here", "elsewhere" or "nowhere".
func (w Where) String() string {
	switch w {
	case Here:
		return "here"
	case Elsewhere:
		return "elsewhere"
	case Nowhere:
		return "nowhere"
	}
	return "no place"
}

// Edited is the answer to an edit.
type Edited struct {
	ID       string // Source.ID, or what was chosen in its place
	Where    Where  // 0 when it had been made before
	Revision uint64 // of the profile, with the edit in it
	// Repeated tells that the id was known, so that nothing was applied now.
	Repeated bool
}

// EditRefusedError is the refusal of an edit by the node that holds the profile. Nothing was
// applied.
type EditRefusedError struct {
	Reason string // all complaints, up to 1 KiB
}

// Error is the holder's reason.
func (e *EditRefusedError) Error() string { return "refused by the holder: " + e.Reason }

// Edit applies operations to a profile, wherever it is: in the session of this node; through
// the node that holds it, which applies them as its own and answers; or, when nobody holds it
// or the holder is dead, in the stored profile, without a word to the game (no OnLoad, no
// OnLeave, no mail). Nobody loses their session. It returns when the result is stored.
//
// Source.ID makes it safe to repeat, from any node: the same edit is applied once. It is like
// the id of a mail; the answer names the one that is chosen when it is empty, also beside an
// error. ErrNoProfile, ErrBoxFull, ErrRepeated, the refusals of Transact, and an
// [EditRefusedError] tell that nothing was applied. An ErrUnknown, as when ctx or LoadTimeout
// ends first, means that it may have been applied, or may be yet, even at the next load: ask
// again with the same id.
func (s *Set) Edit(ctx context.Context, key string, src Source, ops ...doc.Op) (Edited, error) {
	if src.ID == "" {
		src.ID = s.post.mint(s.node, key)
	}
	out, err := Edited{ID: src.ID}, errors.Join(name.CheckKey("key", key), name.CheckKey("id", src.ID))
	if err != nil {
		return out, fmt.Errorf("profile: edit: %w: %w", store.ErrInvalid, err)
	}
	out, err = s.edit(ctx, key, src, ops)
	if out.ID = src.ID; err != nil {
		return Edited{ID: src.ID}, fmt.Errorf("profile: edit %s of %s: %w", src.ID, key, err)
	}
	return out, nil
}

func (s *Set) edit(ctx context.Context, key string, src Source, ops []doc.Op) (Edited, error) {
	ctx, stop := clock.WithTimeout(ctx, s.clk, s.opts.LoadTimeout)
	defer stop()
	digest, err := doc.OpsDigest(ops)
	if err != nil {
		return Edited{}, err
	}
	leave, err := s.edits.turns.enter(ctx, key+"/"+src.ID)
	if err != nil {
		return Edited{}, fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	defer leave()
	e := &edit{set: s, key: key, src: src, ops: ops, digest: digest, begun: s.clk.Now()}
	e.kick = s.edits.listen(src.ID)
	defer s.edits.forget(src.ID)
	return e.run(ctx)
}

// editors are the edits of this node that wait for a holder.
type editors struct {
	turns turns
	mu    struct {
		sync.Mutex
		waiting map[string]chan struct{} // by id
	}
}

func (g *editors) listen(id string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.waiting == nil {
		g.mu.waiting = make(map[string]chan struct{})
	}
	kick := make(chan struct{}, 1)
	g.mu.waiting[id] = kick
	return kick
}

func (g *editors) forget(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.mu.waiting, id)
}

// heard takes the message that mail of this node was dealt with. It only travels on the bus:
// whoever waits finds out by itself, a little later.
func (g *editors) heard(n node.Note) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case g.mu.waiting[n.Token] <- struct{}{}:
	default:
	}
}

// reply tells whoever waits for it that mail was dealt with, once that is stored.
func (s *Session) reply(row mailReading, stored *ticket) {
	if <-stored.done; stored.err != nil {
		return
	}
	ctx, cancel := s.set.call()
	defer cancel()
	s.set.whisper(ctx, row.letter.reply, node.Note{
		Kind: node.NoteHandled, Set: s.set.name, Key: s.key, Token: row.id, Node: s.set.node.ID(),
	})
}

// edit is one running Edit.
type edit struct {
	set    *Set
	key    string
	src    Source
	ops    []doc.Op
	digest string
	begun  time.Time
	kick   chan struct{}

	sent    bool      // it may be in the box, so that a holder may apply it
	unsure  bool      // it may be stored
	quietly time.Time // when to try to open the profile again
	last    error     // the last thing that went wrong
}

// errAgain tells that the profile is on its way elsewhere, so that everything is to be looked
// at again.
var errAgain = errors.New("profile: look again")

func (e *edit) run(ctx context.Context) (Edited, error) {
	for {
		out, err := e.once(ctx)
		if !errors.Is(err, errAgain) {
			return out, unsureOf(e.sent || e.unsure, err)
		}
		if err := e.rest(ctx); err != nil {
			return Edited{}, e.gaveUp(err)
		}
	}
}

// gaveUp is the error of an edit that has no more time.
func (e *edit) gaveUp(err error) error {
	err = errors.Join(err, e.last)
	if e.sent || e.unsure {
		return fmt.Errorf("%w: it may still be applied: %w", store.ErrUnknown, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// rest waits for the next look, or for the message that it was dealt with.
func (e *edit) rest(ctx context.Context) error {
	every := e.set.opts.PollEvery
	if e.set.clk.Now().Sub(e.begun) > eagerFor {
		every = max(every, firstLazy)
	}
	t := e.set.clk.NewTimer(every)
	defer t.Stop()
	select {
	case <-t.C():
	case <-e.kick:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// once looks where the profile is, and makes the edit there. An answer of the holder is final,
// and so is a refusal; errAgain is not.
func (e *edit) once(ctx context.Context) (Edited, error) {
	if sess, ok := e.set.Session(e.key); ok && !e.sent {
		return e.here(ctx, sess)
	}
	r, err := e.set.readAs(ctx, node.ClassLoad, e.key)
	if err != nil {
		return e.later(fmt.Errorf("%w: %w", store.ErrUnavailable, err))
	}
	if out, known, err := e.known(r); known {
		return out, err
	}
	now, held := e.set.clk.Now(), r.record.session != nil
	switch {
	case held && !e.sent:
		e.quietly = now.Add(quietEvery)
		err = e.send(ctx)
	case !held || !now.Before(e.quietly):
		e.quietly = now.Add(quietEvery)
		var out Edited
		if out, err = e.nowhere(ctx); !errors.Is(err, ErrInUse) {
			return out, err
		}
		err = nil
	}
	if err == nil {
		err = errAgain
	}
	return Edited{}, err
}

// later puts a store that does not answer off, once something depends on it.
func (e *edit) later(err error) (Edited, error) {
	if e.last = err; e.sent || e.unsure {
		return Edited{}, errAgain
	}
	return Edited{}, err
}

// known is what the record says of the edit, which is the holder's answer.
func (e *edit) known(r reading) (out Edited, known bool, err error) {
	if r.problem == nil && (r.missing() || !r.record.erased.IsZero()) {
		return Edited{}, true, ErrNoProfile
	}
	out = Edited{Where: Elsewhere, Repeated: !e.sent && !e.unsure}
	if out.Repeated {
		out.Where = 0
	}
	m, marked := r.record.marked(e.src.ID)
	if marked && m.digest != "" && m.digest != e.digest {
		return Edited{}, true, ErrRepeated
	}
	h, done := handledMail(r.record.handled, e.src.ID)
	switch {
	case done && h.refused != "": // the holder's own word, for good
		e.sent, e.unsure = false, false
		return Edited{}, true, &EditRefusedError{Reason: h.refused}
	case marked:
		out.Revision = m.revision
	case done:
		out.Revision = h.revision
	}
	e.sent, e.unsure = e.sent && !done, e.unsure && !done && !marked
	return out, marked || done, nil
}

// send leaves the edit in the box, for the holder.
func (e *edit) send(ctx context.Context) error {
	l, err := e.letter()
	if err != nil {
		return err
	}
	l.mail.At, l.reply = stamp(e.set.node.Now()), e.set.node.ID()
	_, err = e.set.send(ctx, e.key, l, MaxBox+editRoom)
	e.sent = err == nil || store.OutcomeOf(err) == store.Unknown && !errors.Is(err, ErrBoxFull) && !errors.Is(err, ErrRepeated) && !errors.Is(err, ErrNoProfile)
	if e.sent && err != nil {
		e.last, err = err, nil
	}
	return err
}

// letter is the edit as mail.
func (e *edit) letter() (letter, error) {
	var b doc.Builder
	for _, m := range [...]struct{ name, text string }{{"actor", e.src.Actor}, {"kind", string(e.src.Kind)}, {"note", e.src.Note}} {
		v, err := doc.String(m.text)
		if err != nil {
			return letter{}, fmt.Errorf("%s: %w", m.name, err)
		}
		b.Add(m.name, v)
	}
	body, err := b.Object()
	return letter{mail: Mail{ID: e.src.ID, Kind: editKind, Body: body, Ops: e.ops}}, err
}

// editSource is the source of an edit that came by mail.
func editSource(l letter, ops []doc.Op) (src Source, digest string, err error) {
	text := func(name string) string {
		v, _ := l.mail.Body.Member(name)
		s, _ := v.AsString()
		return s
	}
	digest, err = doc.OpsDigest(ops)
	return Source{Kind: SourceKind(text("kind")), Actor: text("actor"), Note: text("note"), ID: l.mail.ID}, digest, err
}

// here makes the edit in the session of this node.
func (e *edit) here(ctx context.Context, sess *Session) (Edited, error) {
	c := mailClaim(e.set.name, e.key, mailReading{id: e.src.ID}, "")
	if p, t := sess.pending(c.name); t != nil { // from before, or by mail
		e.unsure = true
		return e.stored(Edited{Repeated: true, Revision: p.Revision}, sess.settled(ctx, t))
	}
	out, err := sess.carryOut(proposal{src: e.src, digest: e.digest, claim: c}, e.ops)
	switch {
	case err == nil:
		e.unsure = true
		ed := Edited{Where: Here, Revision: out.Revision, Repeated: out.Repeated}
		if out.Repeated {
			ed.Where = 0
		}
		return e.stored(ed, sess.settled(ctx, c.stored))
	case errors.Is(err, errHandled):
		out, known, err := e.known(reading{version: 1, record: sess.remembers()})
		if !known {
			err = errAgain
		}
		return out, err
	case errors.Is(err, ErrBusy), errors.Is(err, ErrEnded):
		e.last = err
		return Edited{}, errAgain
	}
	return Edited{}, err
}

// remembers is what the session knows of mail and ids, stored or not.
func (s *Session) remembers() record {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mu.rec
	r.handled, r.marks = s.mu.handled, s.mu.marks
	return r
}

// stored is the answer when the claim has ended.
func (e *edit) stored(out Edited, err error) (Edited, error) {
	switch {
	case err == nil:
		e.unsure = false
		return out, nil
	case errors.Is(err, errVoid): // not stored, and the session is gone
		e.unsure = false
		return Edited{}, errAgain
	}
	e.last = err
	return Edited{}, errAgain // ended by ctx, or by the session's end: the record tells
}

// carryOut commits operations with the claim that remembers them. If their id is known, they
// were applied before: then only that is remembered.
func (s *Session) carryOut(p proposal, ops []doc.Op) (Commit, error) {
	p.fn = func(doc.Value) ([]doc.Op, error) { return ops, nil }
	out, err := s.transact(p)
	if err != nil || !out.Repeated {
		return out, err
	}
	p.src.ID, p.digest = "", ""
	p.fn = func(doc.Value) ([]doc.Op, error) { return nil, nil }
	_, err = s.transact(p)
	return out, err
}

// nowhere opens the profile for a moment, if nobody has it; ErrInUse tells that somebody does.
func (e *edit) nowhere(ctx context.Context) (Edited, error) {
	rules := e.set.node.Rules() // time enough to find out whether the holder lives
	o, err := (&LoadOptions{Quiet: true, errand: true, Wait: 2*rules.DeadAfter + 2*rules.Beat}).withDefaults(&e.set.opts)
	if err != nil {
		return Edited{}, err
	}
	sess, err := e.set.load(ctx, e.key, o)
	switch {
	case err == nil:
	case errors.Is(err, ErrOpen), errors.Is(err, ErrTimeout), errors.Is(err, ErrOutbid), errors.Is(err, ErrEnded), ctx.Err() != nil:
		e.last = err
		return Edited{}, errAgain
	default:
		return Edited{}, err
	}
	out, err := e.change(ctx, sess)
	if free := sess.Release(ctx); free != nil { // it goes on by itself
		e.last = free
	}
	return out, err
}

// change makes the edit in a session of its own, with the row that waits for a holder. The
// save that ends the session stores it.
func (e *edit) change(ctx context.Context, sess *Session) (Edited, error) {
	row, err := e.row(ctx)
	switch {
	case errors.Is(err, ErrRepeated):
		return Edited{}, err
	case err != nil:
		return e.later(err)
	}
	if out, known, err := e.known(reading{version: 1, record: sess.remembers()}); known {
		return out, err // by a holder before
	}
	c := mailClaim(e.set.name, e.key, row, "")
	out, refusal := sess.carryOut(proposal{src: e.src, digest: e.digest, claim: c}, e.ops)
	switch {
	case refusal == nil:
	case errors.Is(refusal, ErrBusy), errors.Is(refusal, ErrEnded), errors.Is(refusal, store.ErrUnavailable):
		e.last = refusal
		return Edited{}, errAgain
	case e.sent || row.version != 0: // nobody may apply it later
		c = mailClaim(e.set.name, e.key, row, reason(refusal))
		if _, err := sess.carryOut(proposal{src: Source{Kind: SourceMail}, claim: c}, nil); err != nil {
			e.last = errors.Join(refusal, err)
			return Edited{}, errAgain
		}
	default:
		return Edited{}, refusal
	}
	e.unsure = true
	sess.leave(Released, nil)
	ed := Edited{Where: Nowhere, Revision: out.Revision, Repeated: out.Repeated}
	if out.Repeated {
		ed.Where = 0
	}
	ed, err = e.stored(ed, sess.settled(ctx, c.stored))
	if err == nil {
		e.sent = false
		err = refusal
	}
	return ed, err
}

// row is the edit's own row in the box, if there is one. Another's under the same id is a
// refusal.
func (e *edit) row(ctx context.Context) (mailReading, error) {
	recs, err := e.set.readRows(ctx, mailKey(e.set.name, e.key, e.src.ID))
	if err != nil {
		return mailReading{}, err
	}
	row := mailReadingOf(e.src.ID, recs[0])
	l, err := e.letter()
	if err == nil {
		l, err = l.sealed()
	}
	if err == nil && row.version != 0 && (row.problem != nil || row.letter.digest != l.digest) {
		err = ErrRepeated
	}
	return row, err
}
