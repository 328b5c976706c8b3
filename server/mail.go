package server

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/profile"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/store"
)

// Limits of the calls about mail.
const (
	defaultMails = 100
	// mailBytes is about how much mail one answer has.
	mailBytes = 4 << 20

	maxFrom      = 128
	reservedMail = "shoal."
)

// mailService answers for shoal.v1.MailService.
type mailService struct{ s *Server }

// Send leaves mail for a profile.
func (v mailService) Send(ctx context.Context, req *shoalv1.MailSendRequest) (*shoalv1.MailSendResponse, error) {
	set, err := profileService(v).set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	m, err := mailOf(req.GetMail())
	if err != nil {
		return nil, err
	}
	m.AllowMissing = req.GetAllowMissing()
	sent, err := set.Send(ctx, req.GetKey(), m)
	if err != nil {
		return nil, mailError(err)
	}
	return &shoalv1.MailSendResponse{Id: sent.ID, Repeated: sent.Repeated}, nil
}

// Gift applies operations to one profile and sends mail to another, both or neither.
func (v mailService) Gift(ctx context.Context, req *shoalv1.MailGiftRequest) (*shoalv1.MailGiftResponse, error) {
	sess, err := profileService(v).session(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if err := name.CheckKey("to", req.GetTo()); err != nil {
		return nil, err
	}
	src, err := sourceOf(profile.SourceGame, words{kind: req.GetKind(), actor: req.GetActor(), note: req.GetNote()})
	if err != nil {
		return nil, err
	}
	ops, err := parseOps(req.GetOps())
	if err != nil {
		return nil, err
	}
	m, err := mailOf(req.GetMail())
	if err != nil {
		return nil, err
	}
	m.AllowMissing = req.GetAllowMissing()
	sent, err := sess.SendMail(ctx, src, req.GetTo(), m, ops...)
	if err != nil {
		return nil, mailError(err)
	}
	return &shoalv1.MailGiftResponse{Id: sent.ID, Repeated: sent.Repeated, Revision: sent.Revision}, nil
}

// mailError tells mail that is too large from a document that is.
func mailError(err error) error {
	size := (*profile.SizeError)(nil)
	if errors.Is(err, profile.ErrTooLarge) && !errors.As(err, &size) && !errors.Is(err, store.ErrUnknown) {
		return &failure{reason: tooLarge, field: "mail", problem: err.Error(), cause: err}
	}
	return err
}

// mailOf is the mail of a request.
func mailOf(m *shoalv1.Mail) (profile.Mail, error) {
	if m == nil {
		return profile.Mail{}, refuse(badField, "mail", "is missing")
	}
	out := profile.Mail{ID: m.GetId(), Kind: m.GetKind(), From: m.GetFrom(), Note: m.GetNote()}
	var err error
	if m.GetOps() != "" {
		if out.Ops, err = parseSomeOps(m.GetOps()); err != nil {
			return out, within("mail", err)
		}
	}
	switch {
	case out.ID != "" && name.CheckKey("id", out.ID) != nil:
		err = name.CheckKey("id", out.ID)
	case (out.Kind != "" || len(out.Ops) == 0) && name.CheckName("kind", out.Kind) != nil:
		err = name.CheckName("kind", out.Kind)
	case strings.HasPrefix(out.Kind, reservedMail):
		err = refuse(badField, "kind", "%q begins the library's own", reservedMail)
	case checkText("from", out.From, maxFrom) != nil:
		err = checkText("from", out.From, maxFrom)
	case checkText("note", out.Note, maxNote) != nil:
		err = checkText("note", out.Note, maxNote)
	case m.GetTime() != nil:
		err = refuse(badField, "time", "is not part of a request; sending sets it")
	case m.GetBody() != "":
		if out.Body, err = doc.Parse([]byte(m.GetBody()), nil); err != nil {
			err = &failure{reason: badField, field: "body", problem: err.Error(), cause: err}
		}
	}
	if err != nil {
		return out, within("mail", err)
	}
	return out, nil
}

// List shows the mail that waits for a profile.
func (v mailService) List(ctx context.Context, req *shoalv1.MailListRequest) (*shoalv1.MailListResponse, error) {
	set, err := profileService(v).set(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if req.GetAfter() != "" {
		if err := name.CheckKey("after", req.GetAfter()); err != nil {
			return nil, err
		}
	}
	limit, err := limitOf("limit", req.Limit, defaultMails, profile.MaxBox)
	if err != nil {
		return nil, err
	}
	mails, err := set.Mails(ctx, req.GetKey(), req.GetAfter(), limit)
	if mails == nil && err != nil {
		return nil, err
	}
	out, size := &shoalv1.MailListResponse{}, 0
	if err != nil {
		out.Problem = proto.String(err.Error())
	}
	for i, m := range mails {
		if !req.GetWaiting() || len(m.Ops) == 0 {
			one := mailForm(m)
			size += len(one.GetBody()) + len(one.GetOps())
			out.Mails = append(out.Mails, one)
		}
		last := i == len(mails)-1
		if full := last && len(mails)+unreadable(err) >= limit; full || !last && size >= mailBytes {
			out.Next = proto.String(m.ID)
			break
		}
	}
	return out, nil
}

// unreadable counts the mails that a list tells of beside the others.
func unreadable(err error) int {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return len(many.Unwrap())
	}
	return 0
}

func mailForm(m profile.Mail) *shoalv1.Mail {
	out := &shoalv1.Mail{Id: m.ID, Kind: m.Kind, From: m.From, Note: m.Note, Time: timestamppb.New(m.At)}
	if !m.Body.IsNull() {
		out.Body = proto.String(m.Body.String())
	}
	if len(m.Ops) > 0 {
		out.Ops = proto.String(opsText(m.Ops))
	}
	return out
}

// Handle deals with mail of a profile that is open here.
func (v mailService) Handle(ctx context.Context, req *shoalv1.MailHandleRequest) (*shoalv1.MailHandleResponse, error) {
	sess, err := profileService(v).session(req.GetSet(), req.GetKey())
	if err != nil {
		return nil, err
	}
	if err := name.CheckKey("id", req.GetId()); err != nil {
		return nil, err
	}
	ops, err := verdictOf(req)
	if err != nil {
		return nil, err
	}
	done, err := sess.AnswerMail(ctx, req.GetId(), ops, req.GetRefuse())
	switch {
	case errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrUnknown):
		return nil, &failure{reason: badField, field: "id", problem: err.Error(), cause: err}
	case err != nil:
		return nil, err
	}
	out := &shoalv1.MailHandleResponse{Revision: done.Revision, Repeated: done.Repeated}
	if done.Refused != "" {
		out.Refused = proto.String(done.Refused)
	}
	return out, nil
}

// verdictOf is what a request makes of mail: operations, or none when it refuses.
func verdictOf(req *shoalv1.MailHandleRequest) ([]doc.Op, error) {
	switch {
	case (req.Ops == nil) == (req.Refuse == nil):
		return nil, refuse(badField, "ops", "either ops or refuse is expected")
	case req.Ops != nil:
		return parseSomeOps(req.GetOps())
	case req.GetRefuse() == "":
		return nil, refuse(badField, "refuse", "is empty; why the mail is refused is expected")
	}
	return nil, checkText("refuse", req.GetRefuse(), maxRefuse)
}
