package profile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

const (
	// MaxBox is how much mail waits in a box. More is refused with ErrBoxFull, never dropped.
	MaxBox = 1000
	// MaxMailBytes bounds one mail in its stored form.
	MaxMailBytes = 256 << 10

	maxMailFrom = 128
	maxMailNote = 1024
	// reservedKinds begin the kinds of mail that the library itself sends.
	reservedKinds = "shoal."
)

// Why mail is not dealt with.
var (
	// ErrBoxFull: the player's box is full. Nothing was sent. Try again when they have played,
	// or keep it elsewhere.
	ErrBoxFull = errors.New("mail box is full")
	// ErrMailRefused is what a handler of mail wraps to refuse mail for good: it is removed
	// without effect, and the reason is kept with its id.
	ErrMailRefused = errors.New("mail refused")
)

// Mail is a message to a profile, which has its effect exactly once, whether the player is
// online anywhere, or comes back in a month.
type Mail struct {
	// ID names the mail: up to 128 letters, digits and ._-:@+=~. Sending the same mail again
	// under the same id has no further effect, for MailMemory after it was dealt with. Mail of
	// one box is dealt with in the byte order of the ids. Default: a UUIDv7, in the order of
	// sending.
	ID string
	// Kind picks the handler (see Set.HandleMail); like the name of a set. It may be empty for
	// mail with Ops.
	Kind string
	// From is who sent it, for the record; at most 128 bytes.
	From string
	// Note is why, for the record; at most 1024 bytes.
	Note string
	// Body is whatever the handler understands.
	Body doc.Value
	// Ops are applied to the profile by the library itself; no handler is asked then.
	Ops []doc.Op
	// AllowMissing sends also to a profile that does not exist yet, or was erased. Default:
	// such mail is refused with ErrNoProfile, since a mistyped key would count as sent.
	AllowMissing bool
	// At is when it was sent, in fleet time. Sending sets it.
	At time.Time
}

// Sent is the answer to a mail that is in its box, or was dealt with already.
type Sent struct {
	ID string
	// Repeated tells that it had been sent before, so that nothing was done now.
	Repeated bool
	// Revision is that of the sender's commit (Session.SendMail), 0 if it is not known.
	Revision uint64
}

// Send leaves mail for a profile of the set, held by whatever node or by none. It returns when
// the mail is stored in the durable store; a holder hears of it at once, or within a second
// if the message is lost, and otherwise the next load finds it. The answer has the mail's id
// also beside an error: after an ErrUnknown, send the same mail with that id again.
//
// ErrBoxFull, ErrNoProfile, ErrTooLarge, ErrUnavailable: nothing was sent. ErrRepeated: other
// mail with the id waits in the box. Senders that race for the last places of a box may
// exceed MaxBox by their number.
func (s *Set) Send(ctx context.Context, key string, m Mail) (Sent, error) {
	l, err := s.newLetter(key, m)
	if err != nil {
		return Sent{ID: l.mail.ID}, err
	}
	out := Sent{ID: l.mail.ID}
	if out.Repeated, err = s.send(ctx, key, l, MaxBox); err != nil {
		return out, fmt.Errorf("profile: send %s to %s: %w", l.mail.ID, key, err)
	}
	return out, nil
}

// newLetter checks mail and fills in what the sender leaves to the library.
func (s *Set) newLetter(key string, m Mail) (letter, error) {
	if m.ID == "" {
		m.ID = s.post.mint(s.node, key)
	}
	m.At = stamp(s.node.Now())
	l := letter{mail: m}
	var err error
	switch {
	case name.CheckKey("key", key) != nil:
		err = name.CheckKey("key", key)
	case name.CheckKey("id", m.ID) != nil:
		err = name.CheckKey("id", m.ID)
	case (m.Kind != "" || len(m.Ops) == 0) && name.CheckName("kind", m.Kind) != nil:
		err = name.CheckName("kind", m.Kind)
	case strings.HasPrefix(m.Kind, reservedKinds):
		err = fmt.Errorf("kind: %q begins the library's own", reservedKinds)
	case len(m.From) > maxMailFrom || !utf8.ValidString(m.From):
		err = fmt.Errorf("from: at most %d bytes of UTF-8 expected, got %d", maxMailFrom, len(m.From))
	case len(m.Note) > maxMailNote || !utf8.ValidString(m.Note):
		err = fmt.Errorf("note: at most %d bytes of UTF-8 expected, got %d", maxMailNote, len(m.Note))
	}
	if err != nil {
		return l, fmt.Errorf("profile: mail: %w: %w", store.ErrInvalid, err)
	}
	return l, nil
}

// stamped is the row of a letter. It is refused when it is too large or malformed.
func stamped(l letter) (letter, []byte, error) {
	l, err := l.sealed()
	if err != nil {
		return l, nil, err
	}
	text, err := l.encode()
	if err == nil && len(text) > MaxMailBytes {
		err = fmt.Errorf("%w: a mail of %d bytes, at most %d are allowed", ErrTooLarge, len(text), MaxMailBytes)
	}
	return l, text, err
}

// send puts a letter into its box, unless it is there or was dealt with. Once a put has an
// unknown outcome, so has the whole.
func (s *Set) send(ctx context.Context, key string, l letter, limit int) (repeated bool, err error) {
	l, text, err := stamped(l)
	if err != nil {
		return false, err
	}
	unsure := false
	for try := 1; try <= maxTries; try++ {
		var step sendStep
		if step, err = s.lookUp(ctx, key, l); err == nil && step == sendPut {
			if err = s.boxRoom(ctx, key, limit); err == nil {
				err = s.putMail(ctx, mailKey(s.name, key, l.mail.ID), text)
			}
			if err == nil {
				step = sendDelivered
			}
		} else if err == nil {
			repeated = !unsure
		}
		switch {
		case err == nil && step == sendDelivered:
			s.announce(key)
			return repeated, nil
		case err == nil:
			return repeated, unsureOf(unsure, step.problem())
		case errors.Is(err, ErrBoxFull), store.OutcomeOf(err) == store.NotDone && !isConflict(err):
			return false, unsureOf(unsure, err)
		case !isConflict(err):
			unsure = true
		}
		if clock.Sleep(ctx, s.clk, backoff(try, s.node.Random("mail retry", key))) != nil {
			break
		}
	}
	return false, unsureOf(unsure, err)
}

// unsureOf is the error of a write of which an earlier try may be applied, or may still be.
func unsureOf(unsure bool, err error) error {
	if unsure && err != nil && !errors.Is(err, store.ErrUnknown) {
		return fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return err
}

// problem is why mail is not put into its box; nil when it need not be.
func (step sendStep) problem() error {
	switch step {
	case sendTaken:
		return ErrRepeated
	case sendOpaque:
		return fmt.Errorf("%w: what is in the box under the id is not understood", ErrRepeated)
	case sendNowhere:
		return ErrNoProfile
	case sendPut, sendDelivered, sendHandled:
	}
	return nil
}

// lookUp reads box and profile in one call. What is handled between the two looks like what
// was never sent; putting it again has no effect.
func (s *Set) lookUp(ctx context.Context, key string, l letter) (sendStep, error) {
	recs, err := s.readRows(ctx, mailKey(s.name, key, l.mail.ID), recordKey(s.name, key))
	if err != nil {
		return 0, err
	}
	return sendStepOf(mailReadingOf(l.mail.ID, recs[0]), readingOf(recs[1]), l), nil
}

// boxRoom refuses when the box has so many rows.
func (s *Set) boxRoom(ctx context.Context, key string, limit int) error {
	n := 0
	for _, err := range s.boxRows(ctx, node.ClassLoad, key, "", limit) {
		if err != nil {
			return err
		}
		n++
	}
	if n >= limit {
		return fmt.Errorf("%d mails: %w", n, ErrBoxFull)
	}
	return nil
}

// boxPage reads up to limit rows of a box, behind the one with this id.
func (s *Set) boxPage(ctx context.Context, c node.Class, key, after string, limit int) ([]mailReading, error) {
	var out []mailReading
	for rec, err := range s.boxRows(ctx, c, key, after, limit) {
		if err != nil {
			return nil, err
		}
		out = append(out, mailReadingOf(rec.Key[len(boxPrefix(s.name, key)):], rec))
	}
	return out, nil
}

// boxRows are up to limit rows of a box, behind the one with this id.
func (s *Set) boxRows(ctx context.Context, c node.Class, key, after string, limit int) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := s.node.Pass(ctx, c, node.KindList); err != nil {
			yield(store.Record{}, fmt.Errorf("list mail: %w", err))
			return
		}
		prefix := boxPrefix(s.name, key)
		r := store.Prefix(prefix)
		r.Limit = limit
		if after != "" {
			r.From = prefix + after + "\x00"
		}
		ctx, cancel := s.within(ctx)
		defer cancel()
		for rec, err := range s.durable.Scan(ctx, r) {
			if err != nil {
				err = fmt.Errorf("list mail: %w: %w", store.ErrUnavailable, err)
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

func (s *Set) putMail(ctx context.Context, key string, text []byte) error {
	if err := s.node.Pass(ctx, node.ClassLoad, node.KindWrite); err != nil {
		return err
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	return s.commit(ctx, store.Tx{{Key: key, Op: store.Put, Value: text, If: store.Absent(), Version: s.node.NewVersion("mail", key)}})
}

// Mails lists the mail that waits in a box, behind the one with the id after, in the order in
// which it will be dealt with; at most limit of them, at most and by default MaxBox. Mail that
// cannot be read is left out, and is in the error beside the rest.
func (s *Set) Mails(ctx context.Context, key, after string, limit int) ([]Mail, error) {
	if err := name.CheckKey("key", key); err != nil {
		return nil, fmt.Errorf("profile: mails: %w: %w", store.ErrInvalid, err)
	}
	if limit <= 0 || limit > MaxBox {
		limit = MaxBox
	}
	rows, err := s.boxPage(ctx, node.ClassLoad, key, after, limit)
	if err != nil {
		return nil, fmt.Errorf("profile: mails of %s: %w", key, err)
	}
	var problems []error
	out := make([]Mail, 0, len(rows))
	for _, r := range rows {
		if r.problem != nil {
			problems = append(problems, fmt.Errorf("profile: mail %s of %s: %w", r.id, key, unreadable(r.problem)))
			continue
		}
		out = append(out, r.letter.mail)
	}
	return out, errors.Join(problems...)
}

// SendMail is a gift: operations on this profile and mail to another one of the set, both or
// neither, exactly once. It returns when both are stored, in one write. Sending the same mail
// under the same id again, from this session of the profile or a later one, has no further
// effect. The mail's id stands in for src.ID, which is not used.
//
// The errors are those of Transact and of Set.Send, and nothing was applied or sent; except
// for an ErrUnknown, as when ctx ends first: send the same again to find out.
func (s *Session) SendMail(ctx context.Context, src Source, to string, m Mail, ops ...doc.Op) (Sent, error) {
	l, err := s.set.newLetter(to, m)
	if err != nil {
		return Sent{ID: l.mail.ID}, err
	}
	l.sender = ownerOf(s.set.name, s.key)
	out, err := s.gift(ctx, src, to, l, ops)
	if out.ID = l.mail.ID; err != nil {
		return Sent{ID: out.ID}, fmt.Errorf("profile: send %s from %s to %s: %w", l.mail.ID, s.key, to, err)
	}
	return out, nil
}

func (s *Session) gift(ctx context.Context, src Source, to string, l letter, ops []doc.Op) (Sent, error) {
	l, text, err := stamped(l)
	if err != nil {
		return Sent{}, err
	}
	row := mailKey(s.set.name, to, l.mail.ID)
	leave, err := s.set.post.turns.enter(ctx, row)
	if err != nil { // the one under way may be sent
		return Sent{}, fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	defer leave()
	if c, t := s.pending(row); t != nil {
		return Sent{Repeated: true, Revision: c.Revision}, s.claimed(ctx, row, t, ErrRepeated)
	}
	step, err := s.set.lookUp(ctx, to, l)
	if err != nil || step != sendPut {
		return Sent{Repeated: true}, errors.Join(err, step.problem())
	}
	if err := s.set.boxRoom(ctx, to, MaxBox); err != nil {
		return Sent{}, err
	}
	src.ID = "mail/" + to + "/" + l.mail.ID
	digest, err := doc.OpsDigest(ops)
	if err != nil {
		return Sent{}, err
	}
	c := &claim{name: row, stored: newTicket(), rows: []store.Write{{
		Key: row, Op: store.Put, Value: text, If: store.Absent(), Version: s.set.node.NewVersion("gift", row),
	}}}
	out, err := s.transact(proposal{src: src, digest: digest, claim: c, fn: func(doc.Value) ([]doc.Op, error) { return ops, nil }})
	if err != nil || out.Repeated { // stored: a claim that is not was found above
		return Sent{Repeated: out.Repeated, Revision: out.Revision}, err
	}
	s.set.tasks.start(func() {
		if <-c.stored.done; c.stored.err == nil || store.OutcomeOf(c.stored.err) == store.Unknown {
			s.set.announce(to)
		}
	})
	return Sent{Revision: out.Revision}, s.claimed(ctx, row, c.stored, ErrRepeated)
}

// postOffice is what a set has for mail.
type postOffice struct {
	turns turns
	desks chan struct{} // taken by those who look into a box
	mu    struct {
		sync.Mutex
		handlers map[string]mailHandler // by kind
		couriers map[string]bool        // keys whose holders are being told; true: once more
		last     int64                  // the millisecond of the last id
		seq      uint16                 // ids in it
	}
}

// mint makes the id of a mail: a UUIDv7 of fleet time, in order for what this node sends.
func (p *postOffice) mint(n *node.Node, to string) string {
	now, random, more := n.Now().UnixMilli(), n.Random("mail id", to), n.Random("mail id", to)
	p.mu.Lock()
	defer p.mu.Unlock()
	if now > p.mu.last {
		p.mu.last, p.mu.seq = now, 0
	} else if p.mu.seq++; p.mu.seq > 0xfff { // the next millisecond's
		p.mu.last, p.mu.seq = p.mu.last+1, 0
	}
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[:8], uint64(p.mu.last)<<16|0x7000|uint64(p.mu.seq))
	binary.BigEndian.PutUint64(u[8:], random>>2|1<<63)
	binary.BigEndian.PutUint32(u[12:], uint32(more>>32))
	return u.String()
}

// announce has the holder of a profile told that there is mail, in the background. For each
// key one is at it at most; it goes again for what came meanwhile.
func (s *Set) announce(key string) {
	p := &s.post.mu
	p.Lock()
	defer p.Unlock()
	if _, running := p.couriers[key]; running {
		p.couriers[key] = true
		return
	}
	if p.couriers == nil {
		p.couriers = make(map[string]bool)
	}
	p.couriers[key] = false
	s.tasks.start(func() {
		for again := true; again; {
			s.carry(key)
			p.Lock()
			if again = p.couriers[key]; again {
				p.couriers[key] = false
			} else {
				delete(p.couriers, key)
			}
			p.Unlock()
		}
	})
}

// carry tells whoever holds the profile now. The record is read after the mail was stored, so
// that whoever takes it later finds the mail in the box. What cannot be told is found there
// too: at the next load, or when the holder's fast store is back.
func (s *Set) carry(key string) {
	ctx := s.life()
	for try := 1; try <= maxTries && !s.isClosing(); try++ {
		if s.carryOnce(ctx, key) {
			return
		}
		if clock.Sleep(ctx, s.clk, backoff(try, s.node.Random("courier retry", key))) != nil {
			return
		}
	}
	s.log.DebugContext(ctx, "mail not told", "key", key)
}

func (s *Set) carryOnce(ctx context.Context, key string) (told bool) {
	r, err := s.readAs(ctx, node.ClassLoad, key)
	if err != nil {
		return false
	}
	t := r.record.session
	if r.missing() || r.problem != nil || t == nil {
		return true
	}
	if t.node == s.node.ID() {
		if _, sess := s.find(t.token); sess != nil {
			sess.lookForMail()
		}
		return true
	}
	n := node.Note{Kind: node.NoteMail, Set: s.name, Key: key, Node: s.node.ID(), For: t.token}
	ctx, cancel := s.within(ctx)
	defer cancel()
	var said sync.WaitGroup
	said.Go(func() { s.whisper(ctx, t.node, n) })
	_, err = s.leaveNote(ctx, t.node, n)
	said.Wait()
	return err == nil
}

// whisper tells a note on the bus: nobody relies on it.
func (s *Set) whisper(ctx context.Context, to string, n node.Note) {
	if err := s.node.Tell(ctx, to, n); err != nil {
		s.log.DebugContext(ctx, "message not sent", "key", n.Key, "kind", string(n.Kind), "to", to, "err", err)
	}
}
