// Package overlay is a store.Records that keeps what is written in memory and never passes it
// on: for development, where live data may be looked at but not touched.
//
// [Memory] starts empty. [Copy] shows what is under it: a key is read there the first time
// that it is asked for, or about to be written, and from then on only the copy counts.
//
// # Guarantees
//
// Nothing is ever written to the records under a Copy, and they are not closed with it.
// Towards its caller an overlay keeps the contract of store.Records: it passes the conformance
// suite. A copied record keeps its version and its age; once copied, it no longer follows what
// happens under it. A scan shows the records of both, its own in place of those under it; a
// record that was deleted in the overlay is gone.
//
// # Concurrency
//
// It is safe for use from many goroutines. No lock is held while the records under it are read.
//
// # Limits
//
// All that was written, and all that a Copy has read key by key, stays in memory until Close. A
// scan copies nothing; it sorts the overlay's own keys once.
//
// # Errors
//
// A write whose conditions need a record that cannot be read from below is not done, and
// answers store.ErrUnavailable.
package overlay
