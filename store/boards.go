package store

import (
	"context"
	"time"
)

// Limits of the board contract, the same for every driver.
const (
	MaxBoardName  = 256       // bytes of a board's name
	MaxEntryKey   = 128       // bytes of an entry's key
	MaxMeta       = 256       // bytes of an entry's metadata
	MaxMerge      = 10_000    // entries of one Merge
	MaxPage       = 1_000     // entries of one Page, Around or Scores
	MaxGeneration = 64        // bytes of a generation
	MaxSource     = 128       // bytes of a batch's source
	MaxHidden     = 10_000    // hidden keys of one board
	MaxWalkLog    = 1_000_000 // changes of one board that are remembered for walks
	MaxWalks      = 64        // versions of one board that are walked at once
)

// WalkFor is how long a board remembers its changes after the last call of a walk.
const WalkFor = 15 * time.Minute

// Boards keeps leaderboards: entries (key, score) in a total order that is the same on every
// engine: score, then sequence, then key in byte order. The sequence is a counter of the
// board, taken under the board's lock and raised when an entry is created or its score
// changes: who reached a score first stays above, and no clock is involved.
//
// Ranks are exact at any depth and start at 1; equal scores share them as the [RankMode] says.
//
// A hidden entry keeps its score and takes new ones as any other (Merge answers the same
// changes, and the sequence grows), but has no rank: it is on no page, in no count and in no
// answer but that of Hidden. Standing, Around and Scores take its key for one without an entry.
type Boards interface {
	// Create makes the board, or does nothing when it exists, and returns the board as it is
	// (its own generation, not the caller's, when it existed). A board that exists with the
	// other order answers ErrInvalid.
	Create(ctx context.Context, board string, spec BoardSpec) (BoardInfo, error)

	// Merge applies the batch, atomically per batch, and returns one Change per entry, in
	// order. A sealed board answers ErrSealed, a missing one ErrNoBoard; nothing is applied.
	Merge(ctx context.Context, board string, batch Batch) ([]Change, error)

	// Page returns the standings from offset (0 is the best) on, at most limit of them, all
	// of one state of the board.
	Page(ctx context.Context, board string, offset int64, limit int, mode RankMode) (Page, error)

	// Standing returns the exact standing of key; ok is false when it has no entry.
	Standing(ctx context.Context, board, key string, mode RankMode) (s Standing, ok bool, err error)

	// Around returns the standings around key: n above, itself, n below, clamped at both
	// ends. Without an entry the page has no entries (Total is still right).
	Around(ctx context.Context, board, key string, n int, mode RankMode) (Page, error)

	// Scores returns the stored entries of the keys that have one.
	Scores(ctx context.Context, board string, keys ...string) (map[string]Entry, error)

	// Walk returns the next standings of a walk, limit (≥ 1) of them, fewer only at the end,
	// with their ordinal ranks, and the cursor behind them. The zero Cursor begins one. However
	// the board changes meanwhile, a walk shows every entry once, as it was when the walk
	// began: the board remembers what it replaces while somebody walks. The same cursor again
	// is answered the same. Page.Total and Page.Info are those of the beginning; the Info is
	// order, generation, count and sequence only.
	//
	// The board may forget a version WalkFor after the last call of its walks, when more than
	// MaxWalkLog entries have changed since (a driver may count from the oldest version that is
	// walked without such a pause), or when MaxWalks later versions are walked. Then, or when
	// the board was made anew, or repaired, or its engine has gone back to a time before the
	// walk, or the cursor is another board's, the answer is ErrCursor. A board that has not
	// changed since the beginning needs no memory: every handle goes on with the walk, at any
	// time.
	Walk(ctx context.Context, board string, from Cursor, limit int) (Page, Cursor, error)

	// Remove deletes entries, hidden ones too, and returns how many there were. A key that was
	// hidden stays hidden. A sealed board answers ErrSealed.
	Remove(ctx context.Context, board string, keys ...string) (int, error)

	// Erase forgets keys: their entries, their stamps, and that they are hidden; it returns how
	// many keys the board knew. It is for persons who must be forgotten, and the only change of
	// a sealed board: the ranks below move up, and a page of it read before is no longer what
	// the board says. When it changed anything the sequence grows. A walk that began before may
	// still show the entries, or, of a sealed board, may answer ErrCursor. A later Merge of the key is one of a new key.
	Erase(ctx context.Context, board string, keys ...string) (int, error)

	// Hide hides keys, or shows them again, and returns how many changed; when any did, the
	// sequence grows. A key without an entry is hidden when one comes. An entry that is shown
	// again stands where its score and its old sequence put it. A sealed board answers
	// ErrSealed, whatever is asked; more than MaxHidden hidden keys answer ErrTooLarge, and
	// none of the call is hidden.
	Hide(ctx context.Context, board string, hidden bool, keys ...string) (int, error)

	// Hidden returns the hidden keys, in byte order, after the key after, at most limit
	// (≤ MaxPage).
	Hidden(ctx context.Context, board, after string, limit int) ([]HiddenEntry, error)

	// Seal ends all writes to the board, for ever (but for Erase), and returns its final state. When Seal has
	// answered, no Merge that was in flight can still change the board. Again is the same.
	Seal(ctx context.Context, board string) (BoardInfo, error)

	// Info returns the board as it is, or ErrNoBoard.
	Info(ctx context.Context, board string) (BoardInfo, error)

	// List returns the names of boards with the prefix, in byte order, after the name after,
	// at most limit (≤ MaxPage).
	List(ctx context.Context, prefix, after string, limit int) ([]string, error)

	// Drop deletes the board with all its entries. A missing board is done.
	Drop(ctx context.Context, board string) error

	// Check compares what the engine keeps beside the entries (counts, an index) with the
	// entries, while others write, and puts right what is wrong if repair says so. An engine
	// that keeps nothing beside them finds nothing. A missing board answers ErrNoBoard.
	Check(ctx context.Context, board string, repair bool) (BoardCheck, error)

	// Close waits for the calls in flight and frees the engine.
	Close(ctx context.Context) error
}

// RankMode is how equal scores share ranks.
type RankMode uint8

// The rank modes. The ranks below are those of the scores 30, 20, 20, 10.
const (
	Ordinal     RankMode = iota // 1, 2, 3, 4: everybody has their own, in the board's total order
	Competition                 // 1, 2, 2, 4: equal scores share the best of their ranks
	Dense                       // 1, 2, 2, 3: ranks count scores, not entries; the cost grows with the rank
)

// String is "ordinal", "competition" or "dense".
func (m RankMode) String() string {
	switch m {
	case Ordinal:
		return "ordinal"
	case Competition:
		return "competition"
	case Dense:
		return "dense"
	}
	return "no rank mode"
}

// Order is which end of the scores is the best. It is fixed when a board is created.
type Order uint8

// The two orders.
const (
	Descending Order = iota + 1 // larger scores rank first
	Ascending                   // smaller scores rank first (times)
)

// String is "descending" or "ascending".
func (o Order) String() string {
	switch o {
	case Descending:
		return "descending"
	case Ascending:
		return "ascending"
	}
	return "no order"
}

// Better tells whether score a ranks before score b.
func (o Order) Better(a, b int64) bool {
	if o == Ascending {
		return a < b
	}
	return a > b
}

// BoardSpec is what a board is created with.
type BoardSpec struct {
	Order Order
	// Generation is a random word of the creator. It names this life of the board: a board
	// that lost its memory and was made anew has another.
	Generation string
}

// BoardInfo is a board as it is.
type BoardInfo struct {
	Order      Order
	Generation string
	Count      int64  // entries, without the hidden ones
	Hidden     int64  // hidden keys
	Sequence   uint64 // the last sequence given; it grows with every change and never goes back
	Sealed     bool
}

// Rule is how Merge combines a new score with the stored one.
type Rule uint8

// The three rules.
const (
	Best Rule = iota + 1 // keep the better one; repeating is harmless
	Last                 // keep the one with the higher Stamp; repeating is harmless
	Sum                  // add; counted once per (Source, N)
)

// String is "best", "last" or "sum".
func (r Rule) String() string {
	switch r {
	case Best:
		return "best"
	case Last:
		return "last"
	case Sum:
		return "sum"
	}
	return "no rule"
}

// Batch is what one Merge applies. A key appears in it once.
type Batch struct {
	Rule    Rule
	Entries []Submission
	// Source and N (Sum only) name the batch: a board keeps the last N per Source and skips a
	// batch whose N it has, answering as if nothing changed. A batch whose outcome is unknown
	// is sent again verbatim before any newer one. N starts at 1.
	Source string
	N      uint64
}

// Stamp orders the writes of one key under [Last]: (epoch, revision) of the profile.
type Stamp struct {
	Epoch, Revision uint64
}

// After tells whether s is newer than t.
func (s Stamp) After(t Stamp) bool {
	return s.Epoch > t.Epoch || s.Epoch == t.Epoch && s.Revision > t.Revision
}

// Effect is what Merge did with one entry.
type Effect uint8

// The effects.
const (
	Kept     Effect = iota + 1 // nothing changed: the stored score is as good, newer, or already counted
	Created                    // the key had no entry
	Changed                    // the score changed, and with it the sequence
	Overflow                   // Sum left the range of int64; nothing changed
)

// Change is what Merge did with one entry.
type Change struct {
	Effect Effect
	Old    int64 // the score before; 0 when Created
	New    int64 // the score now
}

// Entry is a stored entry.
type Entry struct {
	Key      string
	Score    int64
	Sequence uint64 // when the score was reached, in the board's own count
	Meta     []byte // nil when none; replaced only together with the score
}

// Standing is an entry with its rank, 1 for the best.
type Standing struct {
	Entry
	Rank int64
}

// Page is a slice of a board in its order, all of one state of the board.
type Page struct {
	Entries []Standing
	Offset  int64 // how many entries are before the first one of the page, in any rank mode; 0 when it has none
	Total   int64
	Info    BoardInfo
}

// HiddenEntry is a hidden key.
type HiddenEntry struct {
	Entry       // the Key only when it is not Scored
	Scored bool // it has an entry; else the key is hidden in advance
}

// Cursor is where a walk stands. The zero value is the beginning.
type Cursor struct {
	Generation string // of the board, when the walk began
	Version    uint64 // the board's Sequence then
	Total      int64  // its Count then
	Seen       int64  // entries that were walked
	Score      int64  // with Sequence, the last of them as it was then; both 0 when none was
	Sequence   uint64
	// Tag is a random number that an engine which may go back in time (a failover that loses
	// the last writes) gave the version: the same version of another history has another, and
	// the walk is over (ErrCursor). 0 of other engines, and of a walk that one call has shown.
	Tag uint64
}

// Done tells that the walk has shown everything: Walk answers no more entries, whatever
// happened to the board. A walk that has not begun is not done.
func (c Cursor) Done() bool { return c != Cursor{} && c.Seen >= c.Total }

// BoardCheck is what Check found.
type BoardCheck struct {
	Entries  int64    // entries that were counted, hidden ones too
	Problems []string // what is, or was, wrong, in words; at most 100
	Repaired bool     // it was put right
}

// Submission is one entry of a [Batch].
type Submission struct {
	Key   string
	Score int64
	Stamp Stamp  // Last only
	Meta  []byte // at most MaxMeta bytes; stored when the score is
}
