// Package season runs competitive seasons that nobody has to start, and that anybody may close.
//
// # What it is
//
// Which season it is follows from the clock alone ([Calendar]). A player's counters live in a
// block inside the profile and are reset the first time they are touched in a new season; the
// final values wait in the block (owed) until the season has its result. Each season has
// boards of its own, and after its end any node closes it: seal, read, and one conditional
// create of the result. Whoever stands in the result gets a title that lasts.
//
// The result never changes. What an operator rules afterwards ([Service.Disqualify]) is stored
// beside it as a correction, and [Standings] are computed from the two: the disqualified leave,
// those below move up, the reserve fills in. Titles follow the standings.
//
// The pure rules have files of their own: calendar, stat, block, processed, title, result,
// register, correct, retitle. [Service] is the one type around them that owns goroutines: one loop writes to
// the boards, the other closes seasons and hands out titles to those who are online.
//
// # Guarantees
//
//   - Season time is the durable store's clock (node.Node.Now). A season is closed only with a
//     fresh estimate, and only when the store's own clock, read in the same close, is past the
//     end by Grace.
//   - A block never goes back to an earlier season. Old values move to owed in the same
//     transaction that resets the block, and leave it only when their board has answered and
//     the season has its result, so that a board that loses its memory before the close can be
//     rebuilt from the profiles.
//   - Boards show only what survives its node: a session is synced before its values are sent.
//     Counters are absolute values of the profile, written under store.Last with the profile's
//     (epoch, revision): sending them again is harmless, an older node's values lose, and a
//     profile that is set back by an operator sets its entry back too.
//   - A result is made only from boards of the generation that the durable register of the
//     season names. A board that lost its memory is rebuilt from the profiles after the end,
//     or the close waits and says why ([Status]).
//   - A result never changes, but for a player who is erased ([Service.EraseKey]: the place
//     stays): it is created once, and closers that lose the race read it. Who closed
//     the season is stored in the same transaction. Boards that cannot be had are left
//     out only on an operator's word ([Service.CloseWithout]), never if they are fine.
//   - A title and its processed mark are one transaction, which is durable before the
//     listener hears of it: the listener fires at most once. Rewards that must happen exactly
//     once belong into [Deps].Reward, whose operations are part of that transaction. A season
//     whose reward the profile refuses waits, and holds up no other.
//   - A title is corrected in one transaction with what that means for its reward: with
//     [Deps].Revoke the old one is taken back and the new one given, without it what was given is
//     kept and nothing is ever given again, also when a title that was withdrawn comes back. A
//     node that knows of fewer corrections than a profile takes nothing back.
//   - Corrections reach titles with the next load, and players who are online: at once on the
//     node of the ruling; elsewhere a load may miss what was ruled in the last 30 s, and the loop
//     brings it to whoever is online within CloseEvery (one whose write was slow, within two).
//
// What is not guaranteed: a node that dies in the last seconds of a season contributes its last
// unsent values only if the player is loaded anywhere within Grace, or if a board has to be
// rebuilt. A rebuilt board ranks equal scores by key, because who reached one first was only
// in the memory that it lost; and it has what the profiles' records hold, so autosave has to
// come more often than Grace.
//
// # What players see
//
// [Service.Top], [Service.Leaders], [Service.Standing] and [Service.Card] share a page of each
// board that the service reads at most once per CacheFor, whatever is written meanwhile, and
// standings behind that page are read once while it is shown: a page and a card never
// contradict each other, and lag behind the counters by up to FlushEvery and CacheFor. What a
// moderator takes off a board leaves the page within CacheFor. Display names are written with
// the scores; a name that was changed shows when the score changes next. [Service.Watch]
// streams a player's block.
//
// # Limits
//
// A block keeps at most [MaxOwed] owed seasons, the outbox [MaxOutbox] values, the cache
// [MaxResults] results, a season [MaxCorrections] corrections, a session [MaxWatches] watches; each
// says what happens beyond.
//
// # Request budget
//
// On a node with limits (node.Limits) every call of the store goes in a class. Look-ups for
// somebody who joins are loads, one at a time for all, and wait at most 10 s: titles can come
// later. Flushes, also at a boundary and at leaving, are boards' work and wait at most 70 s: what
// the budget has no room for stays in the outbox, is sent in parts as it comes in, earlier
// seasons and those who have waited longest first ([Status].Short counts that). Closing,
// rebuilds, inspection, sweeps and corrections are background work, which takes what nobody else
// wants, gives up after node.Limits.BackgroundWait, and comes again: a season that waits so is in
// [Status].Waiting.
//
// # Concurrency
//
// A Service is safe for use from many goroutines. No lock is held across a store call.
// Calendar, Config, Block and Result are values; what a Service hands out is shared and must
// not be changed.
//
// # Errors
//
// Conditions are sentinels ([ErrOverflow], [ErrUnknownEvent], [ErrNoResult] and so on) to be
// tested with errors.Is; errors of the store pass through wrapped.
//
// # Testing
//
// The rules are checked against plain models by property tests; closing and titles run on
// memstore with every write cut, lost and repeated in turn, in virtual time.
package season
