// Package sim is the deterministic simulator: a fleet of servers in one goroutine bubble, on
// one memory store, in virtual time, with every fault that a network, a store and an
// operating system have, and a ledger that checks what was promised. It is test code: no
// other package imports it.
//
// # What it is
//
// A [World] owns time and order. The real library runs in it through its public seams only:
// store.Records, store.Boards and store.Bus (decorated, see [Process.Parts]), clock.Clock
// (see [Process.Clock]) and the random source of a node. Every call to a store parks at the
// turnstile, and goes on in three steps that the world releases one by one: it is sent,
// its effect is applied (each transaction of a Commit, each key of a Get by itself), it is
// answered. Timers, deliveries of messages and the moves of players are steps as well. When
// all goroutines are quiet, exactly one step is released: the next one by its drawn time,
// and among those of one moment the one that the seed prefers.
//
// A [Fleet] runs servers of a [Library] (ours, or a rival written from its published rules),
// players who come, play, move and leave, and the script of a [Scenario]. The [Ledger]
// compares what the library says in public with a model, and every committed write with the
// rules of PROTOCOL.md. A [Score] is what one run has shown.
//
// What survives is taken literally. A step counts as safe when it is in the record, or in a
// journal that every takeover has to replay: one that belongs to the record, and whose first
// append was followed by a save. An acknowledgement of anything else is a violation, and so is
// each later write after which an acknowledged step is no longer safe. Only what the fast store
// had held and has forgotten may be lost with its node, until the next save of the holder; such
// double faults are counted apart, and a session that ends in order is never excused.
//
// Those outside of all servers claim: a platform delivers receipts until it hears that they are
// granted, players send gifts and trade, a studio writes to its players, its support edits
// their profiles. Each of these deeds leaves an entry in the log that is part of the data, and
// moves coins and items that have names. So a deed that is done twice, or by half, shows in the
// data, and the ledger judges each write: every entry is new and comes with what it claims,
// every coin has come from somewhere, every item is in one profile or one mail. What a library
// says of a deed is compared with what is stored.
//
// Those who play seasons catch fish, one unit each. The block before and after a catch says in
// which season it was counted; every write to their records, to the seasons' boards, registers
// and results is followed; and at rest each final value is in its result, or was reported as too
// late. The season that it is, and whether one may be closed, the ledger takes from the store's
// clock. In scenarios without a fault that excuses it nothing may be late at all.
//
// # Guarantees
//
// The same seed gives the same run, to the last step: [World.Hash] is the proof, and the
// tests compare it. What happens to a call depends on the seed and on whose call it is, of
// which kind, on which key, the how-manieth: one call more or less elsewhere changes nothing.
// What a process draws by chance depends on the time and on what the draw is for, which the
// library says: it does not matter which of two goroutines draws first.
//
// Three things are beyond the seams. Twins are two calls that one process makes at one moment
// from one place in the program for one key: they cannot be told apart, so what follows may
// be exchanged between them; [Tally] counts them, they are rare. And what the library does in
// the order of a map comes in another order each time: traces are compared up to the closing
// of the servers, where it does. Very rarely the scheduler decides: when two goroutines have
// something to send at one moment, a third may take both in one call, or one and then the other.
//
// # Concurrency
//
// The state of a World is touched by its loop alone. Goroutines of the library and of players
// only add to its list of arrivals, which is sorted by names, not by who came first.
//
// # Errors
//
// A fault in a run is a violation in the ledger, never a panic. A run that does not end within
// its steps, or in which nothing is left to release, is a violation too.
//
// # Testing
//
// Stores that break the contract and libraries that break the rules must be caught; tests
// see to that.
package sim
