package profile

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

// ErrNoMail tells that no mail with this id waits in the box, and none was dealt with of late.
var ErrNoMail = errors.New("no such mail")

// Answered is what has become of mail.
type Answered struct {
	// Revision of the profile, with what the mail did in it.
	Revision uint64
	// Refused is why the mail was refused for good; empty if it was not.
	Refused string
	// Repeated tells that the mail was dealt with before, so that nothing was done now.
	Repeated bool
}

// AnswerMail deals with mail in the box of this profile from outside, where no function can
// be registered with Set.HandleMail: as a game in another language does, which finds it with
// Set.Mails. It applies ops, or, if refuse is not empty (at most 1024 bytes are kept), removes
// the mail for good without effect. Effect, the memory of the mail's id, and the removal from
// the box are stored in one write, and AnswerMail returns when that is done. The first answer
// counts, a handler's included; whoever asks again within MailMemory gets it, as Repeated; the
// words of a refusal are kept for the last 64 refusals only.
// Mail with operations of its own (Mail.Ops) can only be refused.
//
// The errors are those of Transact, ErrNoMail, and ErrUnavailable: the mail is as it was. An
// ErrUnknown, as when ctx ends first, means that it may have been dealt with, or may be yet:
// ask again to find out.
func (s *Session) AnswerMail(ctx context.Context, id string, ops []doc.Op, refuse string) (Answered, error) {
	err := name.CheckKey("id", id)
	if err == nil && refuse != "" && len(ops) > 0 {
		err = errors.New("refuse: either operations or a refusal expected, got both")
	}
	if err != nil {
		return Answered{}, fmt.Errorf("profile: answer mail: %w: %w", store.ErrInvalid, err)
	}
	out, err := s.answerMail(ctx, id, ops, refuse)
	if err != nil {
		return Answered{}, fmt.Errorf("profile: answer mail %s of %s: %w", id, s.key, err)
	}
	return out, nil
}

func (s *Session) answerMail(ctx context.Context, id string, ops []doc.Op, refuse string) (Answered, error) {
	leave, err := s.set.post.turns.enter(ctx, mailKey(s.set.name, s.key, id))
	if err != nil { // the one under way may deal with it
		return Answered{}, fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	defer leave()
	if out, known, err := s.answeredMail(ctx, id); known {
		return out, err
	}
	row, err := s.mailToAnswer(ctx, id, refuse)
	if err != nil {
		return Answered{}, err
	}
	src, digest, err := row.letter.source(ops)
	if err != nil {
		return Answered{}, err
	}
	if refuse != "" {
		refuse, ops = reason(errors.New(refuse)), nil
	}
	c := mailClaim(s.set.name, s.key, row, refuse)
	commit, err := s.carryOut(proposal{src: src, digest: digest, claim: c}, ops)
	if errors.Is(err, errHandled) { // by a handler of this node, since it was looked up
		if out, known, err := s.answeredMail(ctx, id); known {
			return out, err
		}
	}
	if err != nil {
		return Answered{}, err
	}
	s.set.stats.mailHandled.Add(1)
	if refuse != "" {
		s.set.stats.mailRefused.Add(1)
	}
	return Answered{Revision: commit.Revision, Refused: refuse}, s.mailSettled(ctx, c.stored)
}

// answeredMail is what this session, or an earlier one, has made of mail; known is false if
// that is nothing. What is not stored yet is awaited.
func (s *Session) answeredMail(ctx context.Context, id string) (out Answered, known bool, err error) {
	s.mu.Lock()
	h, known := handledMail(s.mu.handled, id)
	s.mu.Unlock()
	if !known {
		return Answered{}, false, nil
	}
	if _, t := s.pending("mail/" + id); t != nil {
		err = s.mailSettled(ctx, t)
	}
	return Answered{Revision: h.revision, Refused: h.refused, Repeated: true}, true, err
}

// mailToAnswer is the mail in the box, if it can be answered like this.
func (s *Session) mailToAnswer(ctx context.Context, id, refuse string) (mailReading, error) {
	recs, err := s.set.readRows(ctx, mailKey(s.set.name, s.key, id))
	if err != nil {
		return mailReading{}, err
	}
	row := mailReadingOf(id, recs[0])
	switch {
	case row.version == 0:
		return row, ErrNoMail
	case row.problem != nil:
		return row, unreadable(row.problem)
	case row.letter.mail.Kind == editKind:
		return row, fmt.Errorf("%w: it is an edit, which is applied without being asked", store.ErrInvalid)
	case len(row.letter.mail.Ops) > 0 && refuse == "":
		return row, fmt.Errorf("%w: its own operations are applied without being asked", store.ErrInvalid)
	}
	return row, nil
}

// mailSettled waits until mail is dealt with in the store, or certainly is not.
func (s *Session) mailSettled(ctx context.Context, t *ticket) error {
	err := s.settled(ctx, t)
	if errors.Is(err, errVoid) {
		return fmt.Errorf("%w: %w", &EndedError{Key: s.key, Reason: Lost}, err)
	}
	return err
}
