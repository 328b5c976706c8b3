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
// A score whose Submit answered nil is written, or taken out by [Service.Remove] or
// [Service.Drop], or reported: to the listeners of [Service.OnRefused] (the board is sealed, a
// sum left the range, the key was banned, MaxWriteAttempts windows failed), or as Remaining in
// the [Report] of [Service.Close]. The queue is memory: a crash
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
// no more, boards in turn. When it has nothing because others wait for it, the window stands in
// line for as many entries as there are others, or for what comes in within seconds, so that
// reads and writes share the budget. A batch of sums that may have been applied waits for as much as it needs. To wait for budget is
// no failed attempt. Reads wait for budget as well, but nobody who could be served an older
// page of Top.
//
// Two equal scores that reach the queue within one window are ordered by their arrival at
// the store, which need not be the order of their submits.
//
// A board is created by its first write. It is created anew, empty, when the store has lost
// it; what it held before is gone then.
//
// # Moderation
//
// [Service.Hide] takes keys off one board, [Service.Ban] off all of them, and has their scores
// refused on every node with [ErrBanned]; [Service.Show] and [Service.Unban] take that back,
// neither the other. The durable records say who is banned (ban/<key>) and what was hidden by
// hand (boardhide/<key>); the boards follow. Each call first leaves an entry in the audit log
// ([Service.Audit], boardaudit/<id>), so that nothing is done without a trace; the log keeps
// the newest [MaxAudit] entries, give or take 64 for each node.
//
// Together with each change of a record a mark is stored (boardmark/<kind>/<key>). Whoever has
// made the change has the boards follow: it reads the records, hides or shows, and reads them
// again, until they stay the same, so that the last change has the last word. When it does not
// come to the end, any service does that sees the mark stand still for a minute; and ten minutes
// after the last change the boards follow once more, whatever has come late, and the mark goes.
// A service looks at the marks once a minute while it has something to write, or knows of
// marks, and at once when it hears of a change. At rest there are no marks and no timer.
//
// A ban reaches every score that is stored after it. Either the writer knew: its service has
// read the bans after the board was made and before it first wrote there, and refuses the key.
// Or the ban came later: then it found the board, and the board itself hides the key, whoever
// writes. What is left is a board that was dropped and made anew by another service while a
// writer had not yet heard of the ban: at most a minute later it has, and at most ten minutes
// later the new board hides the key. A service that could not look for five minutes or more
// (it slept, the store was away) hides, as soon as it can, whom it learned of late, on the
// boards it has written to. A process that sleeps that long and then dies between two calls is
// beyond this; the next change of the key repairs that too.
//
// Sealed boards do not change: who is banned later stays on them, and results are corrected
// elsewhere. A board that is dropped takes what was hidden on it by hand along. A Backend cannot
// hide; it only gets no more scores.
//
// At most [MaxBans] keys are banned, and store.MaxHidden hidden on one board, by whatever way:
// beyond them a ban, or a hide, says so. Every service keeps the banned keys in memory, about
// 100 bytes each.
//
// A player who was hidden, banned or removed leaves the cached pages of this service at once,
// and those of others when they hear of it, at the latest when the page is CacheFor old.
//
// Worth watching are ([Service.Moderation]): Refused and Purged (scores of banned keys), Marks
// (work that is young or not done; over ten minutes it should come back to 0), Failed beside
// Looks (the list of bans grows old), and Bans beside MaxBans.
//
// # Concurrency
//
// A Service is safe for use from many goroutines. It owns one goroutine that writes, and one
// for each read in flight, a look at what was moderated among them; Close ends them. Listeners are called from these goroutines, one
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
