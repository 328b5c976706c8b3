// Package hub hands the messages of a bus to those who subscribe to them, within one process.
// It is what the drivers of [store.Bus] share: how a message comes into the process is theirs,
// what becomes of it there is decided here.
//
// # Guarantees
//
// A [Subscription] has a goroutine of its own, which calls its receiver, one message at a time,
// in the order in which they were delivered. [Hub.Deliver] never waits for a receiver. A payload
// is the receiver's own: it is copied when it is delivered.
//
// When [Subscription.Close] has answered, no call of the receiver begins any more, and none runs,
// unless it is the receiver itself that calls. Whoever subscribes while the hub is being closed
// is either refused or ended with the others.
//
// # Limits
//
// At most Options.Queue messages wait for a subscription, beside the one that its receiver has.
// When they are so many, the one that comes is lost for that subscription, or, where the driver
// says so (Options.LoseOldest), the one that has waited longest; Deliver answers for how many
// subscriptions it was like that. The number of topics and of subscriptions has no limit here:
// they are as many as the caller keeps.
//
// Receivers that wait for each other wait for ever: two that close each other's subscriptions
// do, and two that close the whole hub and wait, until a context ends.
//
// # Concurrency
//
// Everything is safe for concurrent use, also from within receivers. No lock is held while a
// receiver runs, or Options.Changed.
//
// # Errors
//
// [Hub.Subscribe] answers [store.ErrClosed], [Hub.Wait] answers [store.ErrUnavailable] for what
// still runs. There are no others.
//
// # Testing
//
// The tests run in bubbles of testing/synctest, where "nothing happens any more" can be waited
// for. What a driver adds (its order when it loses, its close) is in the driver's own tests, and
// package storetest has the contract.
package hub
