package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/proto"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/profile"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/wirejson"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// ErrOpenListener is an address that others can reach, given to a server without an API key.
var ErrOpenListener = errors.New("a daemon without an API key listens on loopback only")

// errClosing ends what waits when the server begins to close.
var errClosing = errors.New("the daemon is shutting down")

// class sorts an error of the domain.
type class struct {
	err    error
	reason reason
}

// classes sorts the domain's errors; the first that matches decides.
func classes() []class {
	return slices.Concat(
		// Before what a write was refused for: it may be that of a second try, of which the first
		// may be applied.
		[]class{{errClosing, closing}, {store.ErrUnknown, outcomeUnknown}},
		profileClasses(),
		seasonClasses(),
		documentClasses(),
		boardClasses(),
		storeClasses(),
		// Behind what its complaints are.
		[]class{{profile.ErrRefused, badData}},
	)
}

func profileClasses() []class {
	return []class{
		{profile.ErrOpen, alreadyOpen},
		{profile.ErrClosing, closing},
		{profile.ErrHeld, held},
		{profile.ErrOutbid, outbid},
		{profile.ErrInUse, held},
		{profile.ErrForeign, foreign},
		{profile.ErrNewerSchema, newer},
		{profile.ErrMigration, migration},
		{profile.ErrTimeout, loadTimeout},
		{profile.ErrLost, lost},
		{profile.ErrEnded, notOpen},
		{profile.ErrBusy, busy},
		{profile.ErrTooLarge, dataTooLarge},
		{profile.ErrRepeated, repeatedID},
		{profile.ErrNoProfile, noProfile},
		{profile.ErrSchema, badData},
		{profile.ErrDerived, refusedOp},
		{profile.ErrCompute, badData},
		{profile.ErrReaction, badData},
		{profile.ErrUnsettled, badData},
		{profile.ErrPolicy, closedToSource},
		{profile.ErrGuard, badData},
		{profile.ErrForgotten, forgotten},
		{profile.ErrChanged, changedSince},
		{profile.ErrClaimed, claimed},
		{profile.ErrBoxFull, boxFull},
		{profile.ErrReceiptTaken, receiptTaken},
		{profile.ErrNoReceipt, noReceipt},
		{profile.ErrNoMail, noMail},
		{profile.ErrNoVersion, noVersion},
	}
}

func seasonClasses() []class {
	return []class{
		{season.ErrClosed, closing},
		{season.ErrUnknownEvent, unknownEvent},
		{season.ErrOverflow, refusedOp},
		{season.ErrBlock, refusedOp},
		{season.ErrNoSeason, noSeason},
		{season.ErrNoBoard, unknownBoard},
		{season.ErrNoResult, noResult},
		{season.ErrNewerFormat, newer},
		{season.ErrMemory, rebuilding},
		{season.ErrClock, storeDown},
		{season.ErrEnded, notOpen},
		{season.ErrBusy, overloaded},
		{season.ErrRuling, badField},
		{season.ErrNoPlace, noPlace},
		{season.ErrCorrections, ruledOut},
		{season.ErrNotDue, notDue},
		{season.ErrBoardFine, boardFine},
		{season.ErrCalendar, misconfigured},
		{season.ErrErasing, busy},
	}
}

func documentClasses() []class {
	return []class{
		{doc.ErrBadOp, badOperation},
		{doc.ErrBadPath, badOperation},
		{doc.ErrDuplicate, badOperation},
		{doc.ErrUTF8, badOperation},
		{doc.ErrTooDeep, badOperation},
		{doc.ErrTooLarge, tooLarge},
		{doc.ErrMismatch, mismatch},
		{doc.ErrNoPath, refusedOp},
		{doc.ErrWrongType, refusedOp},
		{doc.ErrOverflow, refusedOp},
		{doc.ErrBounds, refusedOp},
		{doc.ErrIndex, refusedOp},
		{doc.ErrNotFinite, refusedOp},
	}
}

func boardClasses() []class {
	return []class{
		{board.ErrUnknownBoard, unknownBoard},
		{board.ErrClosed, closing},
		{board.ErrFull, queueFull},
		{board.ErrBanned, banned},
		{board.ErrRemoved, removed},
		{board.ErrOrder, misconfigured},
		{board.ErrAttempts, storeDown},
		{board.ErrName, badField},
		{board.ErrLimit, badField},
		{board.ErrOverflow, badField},
		{board.ErrNotNumber, badField},
		{board.ErrInexact, badField},
		{board.ErrRule, badField},
		{board.ErrCount, badField},
		{board.ErrCursor, badField},
	}
}

func storeClasses() []class {
	return []class{
		{store.ErrSealed, sealed},
		{store.ErrCursor, oldCursor},
		{store.ErrNoBoard, unknownBoard},
		{store.ErrTooLarge, tooLarge},
		{store.ErrInvalid, badField},
		{store.ErrUnsupported, unsupported},
		{store.ErrClosed, closing},
		{store.ErrUnavailable, storeDown},
		{board.ErrNoPage, storeDown},
		{context.Canceled, canceled},
		{context.DeadlineExceeded, deadline},
	}
}

// table is rulings and classes, made for looking up.
type table struct {
	byReason map[reason]ruling
	classes  []class
}

func newTable() table {
	t := table{byReason: make(map[reason]ruling), classes: classes()}
	for _, r := range rulings() {
		t.byReason[r.reason] = r
	}
	return t
}

// wire is err as the caller sees it, and notes on c what the HTTP layer and the log need.
// Errors that nothing here knows are internal: their text stays in the log.
func (t table) wire(err error, c *call) *connect.Error {
	f := t.sort(err)
	r := t.byReason[f.reason]
	if own := (*connect.Error)(nil); f.reason == protocol && errors.As(err, &own) {
		r.code = own.Code() // Connect's own refusal
	}
	if c != nil {
		c.status, c.reason, c.code, c.err = r.status, f.reason, r.code, err
	}
	d := &shoalv1.ErrorDetail{Reason: string(f.reason), Outcome: proto.String(cmp.Or(f.outcome, r.outcome)), Advice: proto.String(r.advice)}
	if f.field != "" {
		d.Field = proto.String(f.field)
	}
	if f.path != "" {
		d.Path = proto.String(f.path)
	}
	out := connect.NewError(r.code, f.Error()+": "+r.advice)
	detail, detailErr := connectproto.NewErrorDetail(d)
	if detailErr != nil {
		return out.WithCause(err)
	}
	var codec wirejson.Codec
	if debug, err := codec.Append(nil, d); err == nil {
		detail.Debug = debug
	}
	return out.WithDetail(detail).WithCause(err)
}

// sort finds the reason of err, and the field and path at fault.
func (t table) sort(err error) *failure {
	var (
		own   *failure
		text  *wirejson.Error
		word  *name.Error
		arg   *store.InvalidError
		op    *doc.OpError
		all   *profile.RefusedError
		score *board.RefusedError
		size  *profile.SizeError
		party *profile.PartyError
		held  *profile.EditRefusedError
		undo  *profile.ConflictError
		rpc   *connect.Error
	)
	switch {
	case errors.As(err, &text):
		return &failure{reason: malformed, field: text.Field, problem: text.Problem}
	case errors.As(err, &own) && own.reason != "":
		return own
	case errors.As(err, &own):
		placed := *own
		placed.reason = t.sort(own.cause).reason
		return &placed
	case errors.As(err, &word):
		return &failure{reason: badField, field: word.Field, problem: word.Problem}
	case errors.Is(err, store.ErrUnknown):
		return &failure{reason: outcomeUnknown, problem: err.Error()}
	case errors.As(err, &party):
		return t.partyFailure(party)
	case errors.As(err, &held):
		return &failure{reason: editRefused, problem: err.Error()}
	case errors.As(err, &undo):
		return &failure{reason: changedSince, path: pathOf(undo.Paths), problem: err.Error()}
	case errors.As(err, &score):
		return &failure{reason: t.classify(err), field: score.Field, problem: score.Problem}
	case errors.As(err, &all) && len(all.Violations) > 0 && (len(all.Violations) > 1 || all.Violations[0].Guard != ""):
		return t.refusal(all)
	case errors.As(err, &size):
		return &failure{reason: dataTooLarge, path: size.Path.String(), problem: err.Error()}
	case errors.As(err, &op):
		return &failure{reason: t.classify(op.Err), field: indexed("ops", op.Index), path: op.Path.String(), problem: fmt.Sprintf("%s %q: %v", op.Op, op.Path, op.Err)}
	}
	r := t.classify(err)
	switch {
	case r == badField && errors.As(err, &arg):
		return &failure{reason: r, field: arg.Field, problem: arg.Problem}
	case r == internal && errors.As(err, &rpc):
		return &failure{reason: protocol, problem: rpc.Message()}
	case r == internal:
		return &failure{reason: internal, problem: "the daemon failed"}
	}
	return &failure{reason: r, problem: err.Error()}
}

// refusal is that of a transaction: its reason, field and path are the first complaint's, and
// it tells all of them. That of a single operation that does not fit is the operation's own.
func (t table) refusal(all *profile.RefusedError) *failure {
	first := all.Violations[0]
	f := &failure{path: first.Path.String(), problem: all.Error()}
	op := (*doc.OpError)(nil)
	if first.Guard == "" && errors.As(first.Err, &op) {
		f.field = indexed("ops", op.Index)
		f.reason = t.classify(op.Err)
		return f
	}
	f.reason = t.classify(first.Err)
	return f
}

// partyFailure is that of one party of a trade: field and path are that party's.
func (t table) partyFailure(p *profile.PartyError) *failure {
	f := *t.sort(p.Err)
	item := indexed("parties", p.Party)
	if f.field != "" {
		item += "." + f.field
	}
	f.field = item
	return &f
}

// pathOf is the first place of a list.
func pathOf(paths []doc.Path) string {
	if len(paths) == 0 {
		return ""
	}
	return paths[0].String()
}

// loadFailure is the error of a load, which has taken nothing, whatever it met.
func (t table) loadFailure(err error) error {
	for _, c := range profileClasses() {
		if errors.Is(err, c.err) {
			return &failure{reason: c.reason, problem: err.Error(), cause: err}
		}
	}
	return err
}

func (t table) classify(err error) reason {
	for _, c := range t.classes {
		if errors.Is(err, c.err) {
			return c.reason
		}
	}
	return internal
}
