// Package clock is the seam through which Shoal reads local time and arms timers.
//
// Nothing in Shoal calls the time package's clock directly: rules take now as an
// argument, and components hold a [Clock]. A test or a simulation supplies its own
// clock, so that it can offset, pause and replay a node.
//
// A local clock is used for two things only: measuring how long something took
// (monotonic), and waking up. What time it is for the fleet comes from the store
// (see node.Node.Now), and how old a record is from the store's Age.
//
// # Concurrency
//
// A Clock and its timers are safe for use from many goroutines.
//
// # Testing
//
// The system clock is virtual inside testing/synctest, so most tests need no other.
package clock
