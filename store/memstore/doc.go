// Package memstore is the store driver that keeps everything in this process: records,
// boards and bus, for tests, for simulation and for `--store memory:`.
//
// An [Engine] is the memory. Its methods Records, Fast, Boards and Bus open handles on it,
// each as another process would see it: closing one handle ends that handle only, and the
// memory stays for the others. [Engine.Store] opens one of each behind the contract's checks.
//
// # Guarantees
//
// Every call is atomic and linearizable; a transaction may span any keys of one record map;
// a Scan reads in pages and holds no lock while its caller works. Values, metadata and
// payloads are copied on the way in and on the way out. The outcome of a write is always
// known: done or not done, never store.ErrUnknown. (Package faultstore adds the third.)
//
// Nothing survives the process, so Abilities say neither Durable nor Shared.
//
// For simulations the engine can lose its memory ([Engine.Forget]), fail over to an older
// state ([Engine.Snapshot], [Engine.Restore]) and step its clock ([Engine.StepClock]); with
// [Options].Apart the durable and the fast records are two maps with two clocks.
//
// # Limits
//
// Ranks and positions cost the number of blocks of a board, about one for 380 entries:
// microseconds at a million entries (see BenchmarkStanding). A rank under store.Competition
// costs the same; one under store.Dense looks at every entry before it, unless a block of
// them has one score.
//
// A board keeps up to store.MaxWalks versions for walks, each until store.WalkFor has passed
// since the last call of its walks (by Options.Clock) or store.MaxWalkLog entries have
// changed; of one more version, the one that was called longest ago is forgotten. A version
// shares blocks with the board; each block is copied when it first changes, 8 bytes an entry,
// so that a version costs at most a list of the entries and what has been replaced since. A
// forgotten version is dropped by the next write or Walk of the board.
//
// Hidden sorts all hidden keys of the board. A subscription queues Options.Queue messages;
// when it is full the oldest is lost. There is no limit to records and boards but memory.
//
// # Concurrency
//
// An Engine and its handles are safe for use from many goroutines. The only goroutines are
// one for each subscription; they end with the subscription or with its bus.
//
// # Errors
//
// A context that has ended before the call answers store.ErrUnavailable, which wraps the
// context's cause as well; a closed handle answers store.ErrClosed.
//
// # Testing
//
// The driver runs the whole of storetest. With an Options.Clock, or inside testing/synctest,
// Ages are exact.
package memstore
