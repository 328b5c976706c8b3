// Package board keeps leaderboards in front of a store: scores are submitted into memory and
// written in windows, pages are read once and shared by everybody who looks.
//
// A [Service] belongs to a node. It serves the boards that were defined (in [Options] or by
// [Service.Define]), each with an order, a rule and limits:
//
//   - [Service.Submit] puts a score into the board's queue, where it is combined with what
//     waits for the same key. It never waits for the store. [Service.SubmitEntry] takes
//     metadata with it; [Service.SubmitDurable] waits until the store has acknowledged it.
//   - The first score that waits arms one timer. When it fires, a window takes what waits,
//     up to a cap, and writes it with one Merge for each board. An idle service has no timer.
//   - A board with a [Source] mirrors the profiles of a set: [Service.Mirror] is told what
//     their durable states are, and nobody submits.
//   - [Service.Top] serves the best entries from a cached page: one read of the store a
//     cache window, however many callers.
//   - [Service.Standing], [Service.Around], [Service.Scores], [Service.Percentile] and
//     [Service.Page] are exact reads of the store; identical calls that overlap share one
//     (but those of Page). [Service.By] has the reads in other ranks among equals.
//   - [Service.Card] is "your rank" beside a page: it never contradicts the page.
//   - [Service.Walk] and [Service.All] show a whole board as it was when they began.
//   - [Service.Names] and [Service.Named] say how the owners of keys are called.
//   - [Service.Merge], [Service.Create], [Service.Seal], [Service.Remove], [Service.Drop] and
//     [Service.Info] go to the store at once; cached pages that they make wrong are dropped.
//
// Where the boards are kept by something else than the node's store, [Options].Backend takes
// any ranked store that can submit or set, and sort: see [Backend].
//
// # Guarantees
//
// A score whose Submit answered nil is written, or reported: to the listeners of
// [Service.OnRefused] (the board is sealed, a sum left the range, MaxWriteAttempts windows
// failed), or as Remaining in the [Report] of [Service.Close]. The queue is memory: a crash
// loses what was not yet written. Keep the truth in the profile, and take the board for a
// published copy of it.
//
// A write whose outcome is unknown is repeated. Under [store.Best] and [store.Last] that is
// harmless. Under [store.Sum] a batch that failed is sent again verbatim, alone, under the
// number it had, before anything newer of that board, so that it counts once. A board
// remembers the last number of some thousands of services (ten thousand on SQLite): a batch
// that is sent again after so many others have added to the board since would count twice.
// When the answer to a sum was lost and there is no room for it beside what is stored, whether
// it was added is not known, and reported so.
//
// A process that sleeps in the middle of a write does no harm when it wakes: the write is as
// good as, older than, or a repetition of what is there. With a [Backend] this is so under
// [store.Best] only.
//
// Where the node has a request budget (node.Limits), a window takes what the budget has now and
// no more, boards in turn, and a batch of sums that may have been applied waits for as much as
// it needs. To wait for budget is no failed attempt. Reads wait for budget as well, but nobody
// who could be served an older page of Top.
//
// Two equal scores that reach the queue within one window are ordered by their arrival at
// the store, which need not be the order of their submits.
//
// A board is created by its first write. It is created anew, empty, when the store has lost
// it; what it held before is gone then.
//
// # Concurrency
//
// A Service is safe for use from many goroutines. It owns one goroutine that writes, and one
// for each read in flight; Close ends them. Listeners are called from these goroutines, one
// at a time for each board, without a lock held; they must be quick and must not call
// FlushNow, SubmitDurable, Remove, Drop or Close. Entries of a page are shared between callers: they are
// read-only.
//
// # Limits
//
// A board's queue holds Options.MaxQueued keys; a new key beyond them is refused with
// [ErrFull], waiting keys still combine. Exact reads run at most Options.ReadsAtOnce at a
// time; further callers wait within their contexts. Names remembers Cache names and as many
// keys without one, and queues no more keys than its budget lets it ask for.
//
// # Errors
//
// A refused call answers a [RefusedError], which names the field and wraps one of the
// sentinels of this package, or [store.ErrSealed]. A failed call of the store answers the
// store's own error, wrapped. A call that is shared and panics answers a [PanicError] to all
// who wait.
//
// # Testing
//
// The rules (combining, windows, settling, decimals, ranks, cursors) are pure and have files of their own.
// The tests of the service run in virtual time against a store with scripted faults. Where the
// rules that the boards' seed states are tested (each with a Backend, one key a call, and most
// with a store that batches):
//
//	coalescing both ways, newest, sum     TestCoalesce TestBestIsKeptBothWays TestLastKeepsTheNewest TestSumsAddUp
//	refused scores, fractions once a log  TestSubmitRefuses TestDecimals TestEveryWayInIsReadBackExactly
//	one flush per pending window, idle    TestFirstSubmitArmsOneWindow TestIdleServiceOnABackendWakesForNothing
//	submits during a waiting write        TestSubmitDuringAWriteWaitsForALaterWindow TestBackendTriesEachKeyOncePerWindow
//	failures merge back                   TestFailedWriteMergesWithWhatIsNewer TestBackendFailureMergesWithWhatIsNewer
//	counts of failures, drop              TestDropCountsWindowsInARow TestBackendDropsAfterMaxWriteAttempts
//	budgets, rotation across windows      TestBackendBudgetCapsAWindow TestBackendWindowsRotate TestBoardsTakeTurns
//	the ordered request budget            TestSmallServerWritesAtItsRate
//	the contract is checked, and its rule TestBackendIsChecked TestBackendRules TestSubmitIsPreferredToSet
//	shared reads and their failures       TestAHundredReadersOnAnExpiredPageAreOneRead TestBackendReadFails TestPanicOfARead
//	deep pages, scores in chunks          TestBackendPages TestBackendScoresInChunks
//	names, cache and budget               TestNamesAreRemembered TestNamesHaveABudget
//	shutdown: drain, back-off, deadline,  TestBackendCloseDrains TestBackendCloseBacksOff TestBackendCloseAtTheDeadline
//	no progress, from inside, readers,    TestBackendCloseWithoutProgress TestBackendClosesFromInsideItsWrite TestBackendCloseReleasesReaders
//	one drain, nothing drained            TestCallersOfCloseShareOneDrain TestNegativeCloseTimeoutDrainsNothing
package board
