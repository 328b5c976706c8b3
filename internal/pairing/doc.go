// Package pairing makes sure that all processes of a fleet use one fast part.
//
// A process that uses another fast part than the rest (a --fast that is missing, another server,
// database or prefix) sees nobody's beats, and takes over sessions that are alive. So the durable
// part holds a mark ("pairing/fleet") that says whether an engine of its own plays the fast part,
// where in that engine, how messages go, and the random id of the fast part's present life; and the
// fast part holds a sign ("pairing/fast") with that id. [Settle] compares both with what a process
// was given, before it does anything else; what differs is an [ErrRefused], and nothing is written.
//
// # A fast part without a sign
//
// has lost its memory, which is normal operation, or it is another, empty one. A process that is
// alive has a [Watcher], which writes the sign again within [Every] where it was before. Who finds none asks all
// others by a record of the durable part ("pairing/doubt/…"), and waits for [Patience]. Somebody
// who sees the sign in their fast part answers in that record, and the newcomer is refused. When the sign comes
// back, it was memory. When nobody answers, nobody is alive who could be harmed: one transaction withdraws the
// doubt, if it is still unanswered, and gives the mark the id of a new life. Whatever still has the sign
// of an earlier life is from then on treated as if it had none. So of all fast parts at most one is
// the fleet's at any time, and which one is decided by writes of the durable part.
//
// # What it does not see
//
// All who are alive may be silent for longer than Patience, because they hang, or do not reach the
// durable part, just while a newcomer comes with a wrong and empty fast part that has the right name. Then the newcomer is taken
// for the fleet; the others find out and say so, and the fences of sessions keep players' data
// whole, as for any wrong verdict. Releases before this one leave no mark, and do not answer.
// Stores that are put together from drivers (store.New) have none of this.
//
// # Concurrency
//
// All functions are safe for use from many processes and goroutines at once. A [Watcher] owns one
// goroutine from Start to Close.
//
// # Errors
//
// Each write has a condition and is read back, so a lost answer, or a process that sleeps, repeats a step and
// harms nothing. Stores that do not answer are tried some times, then their error is returned.
//
// # Testing
//
// The rules (rules_*.go) are pure. The rest is tested with every answer lost in turn, two who
// open at once, and fast parts that forget.
package pairing
