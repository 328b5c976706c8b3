package profile

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// Why a load did not open a profile. Every error of a load wraps exactly one of these, or
// the error of the context that the caller ended.
var (
	// ErrClosing: this node is shutting down. Send the player to another server.
	ErrClosing = errors.New("the node is closing")
	// ErrTimeout: the deadline has passed, because the store did not answer or the holder
	// did not let go. Nothing was taken; let the player try again, and never play on the
	// template. The error wraps the last thing that went wrong.
	ErrTimeout = errors.New("timed out")
	// ErrHeld: under the policy Fail, the holder lives and has not let go within StealAfter.
	// Tell the player that another server still has the profile, and try again later.
	ErrHeld = errors.New("held by another node")
	// ErrOutbid: a newer load, of another node, asked after this one and goes before it. The
	// player is joining there: let them go from here.
	ErrOutbid = errors.New("outbid by a newer load")
	// ErrInUse: a quiet load found a living holder. Leave the profile alone, or send the
	// change to its holder.
	ErrInUse = errors.New("in use")
	// ErrOpen: this node has the profile open, or is loading it. Use the session that is
	// there (see Set.Session).
	ErrOpen = errors.New("already open on this node")
	// ErrForeign: what is stored is no profile. It was left as it is and copied to
	// quarantine; an operator has to look at it. Do not let the player in.
	ErrForeign = errors.New("not a profile")
	// ErrNewerSchema: a later release has written the profile in a form unknown here. It was
	// left as it is. Send the player to a server of that release.
	ErrNewerSchema = errors.New("written by a newer release")
	// ErrMigration: the data could not be brought to this release's form. The profile is
	// free again, unchanged. Do not let the player in; the release needs a fix.
	ErrMigration = errors.New("migration failed")
	// ErrSchema: the data does not pass Options.JSONSchema or Options.Validate, or, at a load, its
	// derived fields cannot be computed. At a load the profile is free again, unchanged; of a
	// transaction nothing was applied. The error says why.
	ErrSchema = errors.New("data is not valid")
)

// Why a session refused something.
var (
	// ErrEnded: the session has ended: see [EndedError] for the reason. Nothing was applied.
	// Drop the session; load again if the player is still here.
	ErrEnded = errors.New("session has ended")
	// ErrLost: the session has ended because another node took it over. What was not
	// acknowledged by Save or Sync is lost. Stop the player's game here at once.
	ErrLost = errors.New("session lost")
	// ErrBusy: the session is frozen for a moment, because its final save or a trade is
	// under way, or because a listener does not return. Nothing was applied. Try again in a
	// moment, or wait for Done.
	ErrBusy = errors.New("session is busy")
	// ErrTooLarge: the data would be over HardBytes: see [SizeError] for the place that
	// grew. Nothing was applied, and what is stored stays.
	ErrTooLarge = errors.New("data too large")
	// ErrRepeated: the commit id was used for another request before. Nothing was applied.
	// Give each request an id of its own.
	ErrRepeated = errors.New("commit id used for another request")
	// ErrNoProfile: there is no profile under the key.
	ErrNoProfile = errors.New("no such profile")
)

// EndedError is the refusal of a session that has ended. It is an [ErrEnded], and an
// [ErrLost] when the reason is Lost.
type EndedError struct {
	Key    string
	Reason Reason
}

// Error names the profile and the reason.
func (e *EndedError) Error() string {
	return fmt.Sprintf("profile: %s: session has ended: %v", e.Key, e.Reason)
}

// Is makes errors.Is(err, ErrEnded) and errors.Is(err, ErrLost) hold.
func (e *EndedError) Is(target error) bool {
	return target == ErrEnded || target == ErrLost && e.Reason == Lost
}

// SizeError is the refusal of data over the hard budget. It is an [ErrTooLarge].
type SizeError struct {
	Path  doc.Path // the place that grew most
	Size  int      // bytes that the data would have
	Limit int      // HardBytes
}

// Error names the size, the limit and the place that grew.
func (e *SizeError) Error() string {
	return fmt.Sprintf("data of %d bytes is over the budget of %d; %q grew", e.Size, e.Limit, e.Path)
}

// Is makes errors.Is(err, ErrTooLarge) hold.
func (e *SizeError) Is(target error) bool { return target == ErrTooLarge }

func isConflict(err error) bool { return errors.Is(err, store.ErrConflict) }

// hopeless tells that a call to the store will fail again however often it is made.
func hopeless(err error) bool {
	return errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrUnsupported)
}

// unstorable tells that a write was refused for what is in it.
func unstorable(err error) bool {
	return errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrUnsupported) || errors.Is(err, store.ErrTooLarge)
}
