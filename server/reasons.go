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
	alreadyOpen     reason = "already_open"
	notOpen         reason = "not_open"
	held            reason = "held"
	outbid          reason = "outbid"
	loadTimeout     reason = "load_timeout"
	lost            reason = "lost"
	busy            reason = "busy"
	noProfile       reason = "no_profile"
	foreign         reason = "foreign_data"
	newer           reason = "newer_data"
	migration       reason = "migration_failed"
	badData         reason = "invalid_data"
	closedToSource  reason = "closed_to_source"
	dataTooLarge    reason = "data_too_large"
	repeatedID      reason = "id_reused"
	forgotten       reason = "not_in_history"
	changedSince    reason = "changed_since"
	claimed         reason = "claimed"
	boxFull         reason = "box_full"
	editRefused     reason = "edit_refused"
	receiptTaken    reason = "receipt_taken"
	noReceipt       reason = "no_receipt"
	noMail          reason = "no_mail"
	noVersion       reason = "no_version"
	unknownEvent    reason = "unknown_event"
	noSeason        reason = "no_season"
	noResult        reason = "no_result"
	noPlace         reason = "no_place"
	ruledOut        reason = "too_many_corrections"
	notDue          reason = "not_due"
	boardFine       reason = "board_fine"
	rebuilding      reason = "rebuilding"
	misconfigured   reason = "misconfigured"
	sealed          reason = "sealed"
	banned          reason = "banned"
	removed         reason = "removed"
	tooMany         reason = "too_many"
	oldCursor       reason = "cursor_too_old"
	queueFull       reason = "queue_full"
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
	notDone    = "not_done"
	unknown    = "unknown"
	partlyDone = "partly"
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
		{badContentType, connect.CodeUnimplemented, http.StatusUnsupportedMediaType, notDone, "send Content-Type: application/json, or application/connect+json to Watch"},
		{unknownPath, connect.CodeUnimplemented, http.StatusNotFound, notDone, "docs/api.md lists every call"},
		{slowBody, connect.CodeDeadlineExceeded, http.StatusRequestTimeout, notDone, "send the request again, faster"},
		{unauthenticated, connect.CodeUnauthenticated, 0, notDone, "send the header Authorization: Bearer <key>"},
		{foreignOrigin, connect.CodePermissionDenied, 0, notDone, "call 127.0.0.1, from a program on this machine, or configure an API key"},
		{overloaded, connect.CodeUnavailable, 0, notDone, "try again in a moment"},
		{closing, connect.CodeUnavailable, 0, notDone, "call another daemon"},

		{refusedOp, connect.CodeFailedPrecondition, 0, notDone, "look at the document: the operation does not fit it"},
		{mismatch, connect.CodeAborted, 0, notDone, "read the document and decide anew"},
		{badData, connect.CodeFailedPrecondition, 0, notDone, "the game's own rules refuse the document that would result"},
		{closedToSource, connect.CodePermissionDenied, 0, notDone, "only other kinds of sources may change this place; the message names them"},
		{dataTooLarge, connect.CodeFailedPrecondition, 0, notDone, "make the document smaller; what is stored stays as it is"},
		{repeatedID, connect.CodeAlreadyExists, 0, notDone, "give each request an id of its own"},
		{forgotten, connect.CodeNotFound, 0, notDone, "History lists what the session remembers; Versions reach further back"},
		{changedSince, connect.CodeAborted, 0, notDone, "what the commit touched has changed since; change it by operations of your own"},
		{claimed, connect.CodeFailedPrecondition, 0, notDone, "a receipt, a mail or a trade came with the commit, and stays; force takes the commit back all the same"},
		{boxFull, connect.CodeResourceExhausted, 0, notDone, "nothing was sent; try again when the player has played"},
		{editRefused, connect.CodeFailedPrecondition, 0, notDone, "the node that has the profile open refuses the operations; the message says why"},
		{receiptTaken, connect.CodeAlreadyExists, 0, notDone, "another profile has the receipt: find out whose it is"},
		{noReceipt, connect.CodeNotFound, 0, notDone, "nothing was granted for it, or not yet"},
		{noMail, connect.CodeNotFound, 0, notDone, "no such mail waits; List shows what does"},
		{noVersion, connect.CodeNotFound, 0, notDone, "Versions lists what is kept"},
		{alreadyOpen, connect.CodeAlreadyExists, 0, notDone, "go on with Get and Transact, or Release it first"},
		{notOpen, connect.CodeFailedPrecondition, 0, notDone, "Load it first; Get says who has it open"},
		{held, connect.CodeAborted, 0, notDone, "another node has it open; try again later"},
		{outbid, connect.CodeAborted, 0, notDone, "the player is joining elsewhere; let them go"},
		{loadTimeout, connect.CodeDeadlineExceeded, 0, notDone, "nothing was taken; try again"},
		{lost, connect.CodeAborted, 0, notDone, "another node has the profile; stop the player's game here"},
		{busy, connect.CodeUnavailable, 0, notDone, "try again in a moment"},
		{noProfile, connect.CodeNotFound, 0, notDone, "Load creates it"},
		{foreign, connect.CodeDataLoss, 0, notDone, "do not let the player in; an operator has to look at the quarantined value"},
		{newer, connect.CodeFailedPrecondition, 0, notDone, "use a daemon of the newer release"},
		{migration, connect.CodeFailedPrecondition, 0, notDone, "do not let the player in; the release needs a fix"},

		{unknownEvent, connect.CodeInvalidArgument, 0, notDone, "use an event of the season's configuration"},
		{noSeason, connect.CodeInvalidArgument, 0, notDone, "use an id such as C1S2; Calendar lists them"},
		{noResult, connect.CodeNotFound, 0, notDone, "ask again after the season has been closed"},
		{noPlace, connect.CodeNotFound, 0, notDone, "Results lists those who have a place, the reserve included"},
		{ruledOut, connect.CodeResourceExhausted, 0, notDone, "the season takes no more corrections; Corrections lists those that it has"},
		{notDue, connect.CodeFailedPrecondition, 0, notDone, "ask again when the season's grace is over; Status says which seasons wait"},
		{boardFine, connect.CodeFailedPrecondition, 0, notDone, "the board can be read: close the season with it"},
		{rebuilding, connect.CodeUnavailable, 0, notDone, "the board lost its memory and is being rebuilt; try again"},
		{misconfigured, connect.CodeFailedPrecondition, 0, notDone, "an operator has to give this daemon the configuration of the fleet"},
		{unknownSet, connect.CodeNotFound, 0, notDone, "use a set of the daemon's configuration"},
		{unknownBoard, connect.CodeNotFound, 0, notDone, "use a board of the daemon's configuration"},
		{unknownSeason, connect.CodeNotFound, 0, notDone, "use a season of the daemon's configuration"},
		{sealed, connect.CodeFailedPrecondition, 0, notDone, "the board takes no more scores"},
		{banned, connect.CodePermissionDenied, 0, notDone, "the key takes part on no board; Bans says why, Unban takes it back"},
		{removed, connect.CodeAborted, 0, notDone, "the score was removed while it waited; submit it again if it is to be there"},
		{tooMany, connect.CodeResourceExhausted, 0, notDone, "take some of what is hidden or banned back first"},
		{oldCursor, connect.CodeAborted, 0, notDone, "the board does not remember any more how it was; begin the walk again, without a cursor"},
		{queueFull, connect.CodeResourceExhausted, 0, notDone, "the store takes no scores; try again when it does"},
		{unsupported, connect.CodeUnimplemented, 0, notDone, "the store cannot do this"},
		{storeDown, connect.CodeUnavailable, 0, notDone, "try again in a moment"},
		{outcomeUnknown, connect.CodeUnknown, 0, unknown, "read before you repeat it"},
		{canceled, connect.CodeCanceled, 0, unknown, "the caller went away"},
		{deadline, connect.CodeDeadlineExceeded, 0, unknown, "read before you repeat it, or allow more time"},
		{protocol, connect.CodeUnimplemented, 0, notDone, "correct the client"},
		{internal, connect.CodeInternal, 0, unknown, "the daemon's log says more"},
	}
}
