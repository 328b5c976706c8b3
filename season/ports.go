package season

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// Session is a node's hold on a player's profile, as far as seasons need it.
type Session interface {
	// Key is the player's key; it is the entry's key on the boards.
	Key() string
	// Created is when the profile was made, in fleet time.
	Created() time.Time
	// Data is the profile now.
	Data() doc.Value
	// Change applies the operations that fn derives from the present data as one transaction,
	// with a note for the history. fn is pure, and is called under the session's lock. When fn
	// fails nothing changes, and Change returns an error that wraps fn's.
	Change(note string, fn func(doc.Value) ([]doc.Op, error)) error
	// Sync returns when everything changed so far survives the loss of this node.
	Sync(ctx context.Context) error
	// Save returns when everything changed so far is in the durable store.
	Save(ctx context.Context) error
	// Synced is the profile as Sync or Save last acknowledged it, with its (epoch, revision).
	Synced() (doc.Value, store.Stamp)
	// OnChange has fn called after every change of the data from now on, whoever made it. fn is
	// quick and blocks on nothing. stop ends it; the session's end does too.
	OnChange(fn func()) (stop func())
	// Done is closed when the session has ended, for whatever reason.
	Done() <-chan struct{}
}

// Profile is a stored profile, as a scan finds it.
type Profile struct {
	Key   string
	Data  doc.Value
	Stamp store.Stamp // (epoch, revision) of the record
}

// Profiles reads all stored profiles of the set, to rebuild a board that lost its memory.
type Profiles interface {
	// Scan calls fn for each stored profile, in any order, and ends with fn's error.
	Scan(ctx context.Context, fn func(Profile) error) error
}

// Shape is how a season's board is defined.
type Shape struct {
	Order    store.Order
	CacheFor time.Duration // how long a cached page is shown
	Entries  int           // how many entries the cached page should have
}

// Boards is where the seasons' boards are. Everything but Top is the contract of store.Boards:
// a call of the store, at once. For Top, Standing and Scores a missing board may also be an
// empty one: a page without a generation, no standing, no scores.
type Boards interface {
	// Define tells of a board before it is read or written; it may be repeated with the same
	// shape. Define and Forget call no store.
	Define(board string, shape Shape) error
	// Forget ends what Define began, when the board's season has not been used for a while.
	// What is stored stays. It is a hint.
	Forget(board string)
	// Top is the best entries, from a page that is read again after Shape.CacheFor.
	Top(ctx context.Context, board string, count int) (store.Page, error)

	Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error)
	Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error)
	Page(ctx context.Context, board string, offset int64, limit int) (store.Page, error)
	Standing(ctx context.Context, board, key string) (store.Standing, bool, error)
	Scores(ctx context.Context, board string, keys ...string) (map[string]store.Entry, error)
	Seal(ctx context.Context, board string) (store.BoardInfo, error)
	Info(ctx context.Context, board string) (store.BoardInfo, error)
	Drop(ctx context.Context, board string) error
}

// StoreBoards uses a board store as it is, without a cache.
func StoreBoards(b store.Boards) Boards { return plainBoards{b} }

type plainBoards struct{ store.Boards }

func (plainBoards) Define(string, Shape) error { return nil }

func (plainBoards) Forget(string) {}

func (p plainBoards) Top(ctx context.Context, board string, count int) (store.Page, error) {
	return p.Page(ctx, board, 0, count)
}

func (p plainBoards) Page(ctx context.Context, board string, offset int64, limit int) (store.Page, error) {
	return p.Boards.Page(ctx, board, offset, limit, store.Ordinal)
}

func (p plainBoards) Standing(ctx context.Context, board, key string) (store.Standing, bool, error) {
	return p.Boards.Standing(ctx, board, key, store.Ordinal)
}

// Refused is a value that could not be counted any more: its season is over.
type Refused struct {
	Key     string
	Season  string
	Board   string // empty when the whole season's values had to leave the block
	Score   int64
	Counted int64 // what the board holds instead
	Has     bool  // whether the board holds anything
	Err     error // why: store.ErrSealed, ErrNoSeason
}

// Closed is a season that got its result.
type Closed struct {
	K    int64
	ID   string
	Here bool // this node's result was the one stored
}

// Deps are what a Service works with. The callbacks are called from the service's goroutines,
// or from Joined; they must not block for long. A panic of theirs is caught, counted and logged
// (Status.Panics); one of Reward or Revoke refuses the title. All may be nil.
type Deps struct {
	// Boards is where the boards are. Default: the node's board store, without a cache.
	Boards Boards
	// Profiles serves rebuilds. Without it a board that lost its memory keeps its season from
	// closing.
	Profiles Profiles
	// Reward derives operations on the profile from a new title. They are part of the
	// transaction that stores the title: exactly once. It must be pure. If the operations are
	// refused, so is the title, until they are not.
	Reward func(Title) []doc.Op
	// Revoke derives operations on the profile that take the reward of a title back, because a
	// correction has taken the title away or changed its rank; the title has the rank that was
	// rewarded. It takes back all of the reward, that of Board.Rewards included: with the new rank
	// both are given anew. The operations are part of the transaction that corrects the title; if
	// they are refused (the player has spent it), the title stays as it is until they are not, so
	// they should take what is there. Without Revoke rewards that were given are kept, and never
	// given again. It must be pure.
	Revoke func(Title) []doc.Op
	// OnTitle hears of new titles when they are durable. It is called at most once a title: a
	// crash may swallow it, so it is for showing, not for paying.
	OnTitle func(ctx context.Context, session Session, titles []Title)
	// OnCorrected hears of titles that corrections changed, when that is durable, after OnTitle
	// has heard of those among them that the player never had before. It is called like OnTitle.
	OnCorrected func(ctx context.Context, session Session, changes []TitleChange)
	// OnRefused hears of values that came too late.
	OnRefused func(Refused)
	// OnClosed hears of seasons that got a result, by this node or another, once each.
	OnClosed func(Closed, *Result)
}

// TitleChange is what a correction did to a title of a player.
type TitleChange struct {
	Before Title // zero: the player moved up into a title, or was reinstated
	After  Title // zero: the title is withdrawn
}
