// Package sqlitestore keeps a store in a folder of SQLite files: Shoal's default, with
// nothing else to install and no cgo.
//
// # The folder
//
//   - records.db: profiles, results, receipts; every commit is synced to the disk.
//   - boards.db: leaderboards; synced as well, since a result may depend on it.
//   - live.db: beats, notes, journals; survives every process, but not the loss of power.
//
// They are separate so that a flush of boards does not hold up profiles. Everything is
// private to the user who made it, and each file names its program and schema: a foreign,
// damaged, newer or locked file is refused when the folder is opened.
//
// # Guarantees
//
// Several processes of one machine may use a folder at once. One goroutine a file writes:
// what is queued meanwhile goes into one transaction of the engine, each Tx of it decided by
// itself. What was acknowledged is there after kill -9, and in the durable files after the
// loss of power.
//
// A record's Age comes from the boot clock, so a wall clock that steps does not change it;
// only the age of what was written before the last boot is a difference of wall clocks. A
// machine that is restored from a memory snapshot keeps its boot: ages then leave out the
// time between.
//
// # Several processes
//
// SQLite's lock has no queue, and its back-off starves. A writer that finds the lock taken
// tries again after 50 to 450 µs, at random, and stands in a turnstile meanwhile, which the
// others have to pass before they write again: writers take turns, group by group. Reads
// never wait for writes.
//
// # Boards
//
// The entries of a board are counted in buckets of one to two thousand, bounded by the whole
// order, in the same transaction as the entries. A rank is the sum of the better buckets and
// the place inside its own: its cost does not depend on the depth, nor on how scores are
// spread. Competition ranks cost the same. A dense rank counts the better scores: it jumps
// from score to score, and where that does not pay looks at every better entry
// (BenchmarkDense). A dropped board is gone at once; its rows are removed in the background, or by
// whoever opens the folder next after a crash.
//
// Hidden keys are in a table of their own, which neither ranks nor counts meet, and which
// merges look into only on a board that hides any.
//
// While somebody walks, a board logs what leaves a position that the walk can see, in the
// same transaction: once an entry and walk, however often it changes. Otherwise it logs
// nothing. The board's row says for which versions the log is complete, so whatever clocks
// and crashes do, a walk is right or too old. The first call of a walk writes, and one when
// half of [store.WalkFor] is over; a walk that one call shows whole, or through a sealed board, does
// not.
//
// Check compares one shelf of buckets (some 100,000 entries) at a time with the entries, each
// in a snapshot. A repair forgets all counts and makes them anew, shelf by shelf: meanwhile
// every rank is right, but one that is not counted yet costs a look at each entry better
// than it. A repair that a crash interrupts is ended by whoever opens the folder next.
//
// A folder of an older release is brought forward when it is opened. Processes of that
// release which still have it open write boards no more (store.ErrUnavailable).
//
// A board remembers the last batch of sums of ten thousand sources; beyond that it forgets
// the one that was counted longest ago.
//
// # Bus
//
// Each engine binds a datagram socket in the folder; a message goes from process to process
// in well under a millisecond, and an idle process does nothing. Sockets of dead processes are
// removed by whoever publishes next. On Windows, and on systems other than Linux for folders
// whose path is longer than 72 bytes, messages stay within the engine, and a warning says so.
// Messages over 2 KB need a larger net.local.dgram.maxdgram on macOS.
//
// # Limits
//
// What waits for a writer is bounded (Options.QueueBytes); when it is full callers wait.
// A context that ends before the writer has begun with a call answers
// store.ErrUnavailable; one that ends after it, store.ErrUnknown. A read that waits for the
// disk does not look at its context. Messages that wait for a subscriber or another process
// are bounded (Options.BusQueue); further ones are lost.
//
// A process must not open the database files by itself while it has the folder open (not even
// to copy them): closing a file releases the locks that SQLite holds on it.
//
// # Errors
//
// Bucket counts that cannot be right answer store.ErrUnavailable with a text that names the
// board and says how to repair it.
//
// Whatever fails before the engine's COMMIT was not done, and is store.ErrUnavailable; an I/O
// error during COMMIT is store.ErrUnknown. A full disk is store.ErrUnavailable whenever it is
// found, since room comes back: nothing is half done, and the next call is served as soon as
// there is room. A folder that is opened on a full disk, or used for the first time since,
// cannot be read either until there is: the index of its log has to be made.
// Errors of [Open] are this package's own sentinels.
//
// # Concurrency
//
// Everything is safe for use from many goroutines.
//
// # Testing
//
// The conformance suites of storetest run on every part, with several engines on one folder;
// further tests kill processes under load and check what they acknowledged.
package sqlitestore
