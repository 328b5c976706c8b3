package server

import (
	"net/http"

	"connectrpc.com/connect/v2"
)

// reason is why a call was refused: a word of the wire.
type reason string

const (
	malformed       reason = "malformed"
	badField        reason = "bad_field"
	tooLarge        reason = "too_large"
	badOperation    reason = "bad_operation"
	refusedOp       reason = "refused_operation"
	mismatch        reason = "mismatch"
	unknownSet      reason = "unknown_set"
	unknownBoard    reason = "unknown_board"
	unknownSeason   reason = "unknown_season"
	unknownPath     reason = "unknown_path"
	badMethod       reason = "bad_method"
	badContentType  reason = "bad_content_type"
	storeDown       reason = "store_unavailable"
	outcomeUnknown  reason = "outcome_unknown"
	unsupported     reason = "unsupported"
	sealed          reason = "sealed"
	overloaded      reason = "overloaded"
	closing         reason = "closing"
	unauthenticated reason = "unauthenticated"
	foreignOrigin   reason = "foreign_origin"
	slowBody        reason = "slow_body"
	canceled        reason = "canceled"
	deadline        reason = "deadline"
	protocol        reason = "protocol"
	internal        reason = "internal"
)

// What became of a write.
const (
	notDone = "not_done"
	unknown = "unknown"
)

// ruling is how a reason is answered.
type ruling struct {
	reason  reason
	code    connect.Code
	status  int // HTTP; 0: the one that Connect gives the code
	outcome string
	advice  string
}

// rulings lists every reason with its answer. Together with [classes] it is the whole table
// from errors to the wire; docs/api.md shows it.
func rulings() []ruling {
	return []ruling{
		{malformed, connect.CodeInvalidArgument, 0, notDone, "docs/api.md shows every call"},
		{badField, connect.CodeInvalidArgument, 0, notDone, "correct the field"},
		{badOperation, connect.CodeInvalidArgument, 0, notDone, "docs/api.md lists the operations"},
		{tooLarge, connect.CodeResourceExhausted, http.StatusRequestEntityTooLarge, notDone, "send less at once"},
		{badMethod, connect.CodeUnimplemented, http.StatusMethodNotAllowed, notDone, "send a POST with a JSON body, or see docs/api.md for the reads"},
		{badContentType, connect.CodeUnimplemented, http.StatusUnsupportedMediaType, notDone, "send Content-Type: application/json"},
		{unknownPath, connect.CodeUnimplemented, http.StatusNotFound, notDone, "docs/api.md lists every call"},
		{slowBody, connect.CodeDeadlineExceeded, http.StatusRequestTimeout, notDone, "send the request again, faster"},
		{unauthenticated, connect.CodeUnauthenticated, 0, notDone, "send the header Authorization: Bearer <key>"},
		{foreignOrigin, connect.CodePermissionDenied, 0, notDone, "call 127.0.0.1, from a program on this machine, or configure an API key"},
		{overloaded, connect.CodeUnavailable, 0, notDone, "try again in a moment"},
		{closing, connect.CodeUnavailable, 0, notDone, "call another daemon"},

		{refusedOp, connect.CodeFailedPrecondition, 0, notDone, "look at the document: the operation does not fit it"},
		{mismatch, connect.CodeAborted, 0, notDone, "read the document and decide anew"},
		{unknownSet, connect.CodeNotFound, 0, notDone, "use a set of the daemon's configuration"},
		{unknownBoard, connect.CodeNotFound, 0, notDone, "use a board of the daemon's configuration"},
		{unknownSeason, connect.CodeNotFound, 0, notDone, "use a season of the daemon's configuration"},
		{sealed, connect.CodeFailedPrecondition, 0, notDone, "the board takes no more scores"},
		{unsupported, connect.CodeUnimplemented, 0, notDone, "the store cannot do this"},
		{storeDown, connect.CodeUnavailable, 0, notDone, "try again in a moment"},
		{outcomeUnknown, connect.CodeUnknown, 0, unknown, "read before you repeat it"},
		{canceled, connect.CodeCanceled, 0, unknown, "the caller went away"},
		{deadline, connect.CodeDeadlineExceeded, 0, unknown, "read before you repeat it, or allow more time"},
		{protocol, connect.CodeUnknown, 0, notDone, "correct the client"},
		{internal, connect.CodeInternal, 0, unknown, "the daemon's log says more"},
	}
}
