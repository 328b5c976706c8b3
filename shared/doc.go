// Package shared keeps documents that belong to nobody: guilds, counters, global state. A
// document has no session; every node reads and changes it at any time.
//
// A change is a loop of read, apply and one conditional write, so that of two nodes that change
// a document at once neither overwrites the other. Changes of one document on one node go one
// after the other, and need no read while nobody else changes it.
//
// # Guarantees
//
// A change that is acknowledged is stored, and each change has seen all before it. A change
// with a [Source].ID is applied once, however often it is sent, from whatever node, as long as
// fewer than 64 changes with ids come between. A write whose answer was lost is decided by
// reading: by its version, or by its id among the last changes; one that is still on its way
// is fenced by the next write, which asks for the same version. Where even that does not tell
// (more than 32 changes since, a store that was restored), the answer is [ErrUnknown].
//
// A deleted document leaves a tombstone of some hundred bytes: it keeps the revision and the
// ids, so that no late write brings it back and no known id is applied to its successor.
//
// A [Watch] gets a snapshot and then every newer state at least eventually: at once where the
// bus carries the message, within [Options].PollEvery where it does not. A reader that is slow
// gets the newest state only.
//
// # Concurrency
//
// A Documents and a Watch are safe for use from many goroutines. Two goroutines belong to a
// Documents; they end with Close, or with the node.
//
// # Limits
//
// A document is bounded by HardBytes, watches by MaxWatches (then [ErrFull]). Up to 1,024 keys
// wait to be announced on the bus; beyond that an announcement is dropped, and polling does.
//
// # Testing
//
// Time comes from the node's clock: the tests run under testing/synctest, on faultstore.
package shared
