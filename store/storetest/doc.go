// Package storetest is the specification of a store driver: three conformance suites, each
// promise of the contracts in package store one case.
//
// A driver's test calls [Records], [Boards] and [Bus] with a function that makes a fresh,
// empty store, and passes when every case does. What a driver says it cannot do (its
// store.Abilities, the fields of [Harness]) is respected: then the suite checks that it
// answers store.ErrUnsupported, or leaves the case out where nothing can be asked.
//
// # Beyond the text of the contract
//
// The suites settle what the contract's comments leave open:
//
//   - A missing board answers store.ErrNoBoard to everything but Create, List and Drop; one
//     that was made anew answers store.ErrCursor to the walks of its former life.
//   - The entries of one batch get their sequences in the order of the batch.
//   - Remove raises the board's sequence when it removed something, and forgets the entry's
//     stamp; the numbers of sum batches stay until Drop.
//   - Hide raises the sequence also for keys without an entry. A Merge into a hidden entry
//     raises it, too, as if the entry were shown.
//   - Under store.Last a newer stamp is kept even when the score is the same. Best and Sum
//     neither read nor change stamps.
//   - A new score without metadata clears the metadata.
//   - An error is exactly one of the vocabulary. A context that has ended before the call
//     answers store.ErrUnavailable (or store.ErrClosed).
//
// # For other tests
//
// [ModelBoard] is a naive board to compare with. [Troubles] is for drivers of engines that can be
// killed and cut off: what they say about single keys must have an order then, too. [Hear] and [Arrives] are for their
// buses. [FillBoard], [Improvements], [Measure] and [MeasureRanks] are the frame of benchmarks of
// boards, the same on every engine.
//
// # Concurrency
//
// The suites start goroutines of their own and end them within the case. Cases run one
// after the other; no case sleeps or judges by time, and a wait that should be short is
// given [Patience].
package storetest
