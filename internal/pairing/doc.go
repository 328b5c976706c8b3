// Package pairing makes sure that all processes of a fleet use one fast part.
//
// A process that uses another fast part than the rest (a --fast that is missing, another server,
// database or prefix) sees nobody's beats, and takes over sessions that are alive. So the durable
// part holds a mark ("pairing/fleet") that says whether an engine of its own plays the fast part,
// where in that engine, how messages go, and the random id of the fast part's present life. The
// fast part holds a sign ("pairing/fast") with that id. [Settle] compares both with what a process
// was given, before that does anything else. What differs is an [ErrRefused], and nothing is
// written.
//
// # A fast part without a sign
//
// It has lost its memory, which is normal operation, or it is another, empty one. A process that
// is alive has a [Watcher], which writes a sign that is gone again within [Every]. Who finds none
// asks all others by a record of the durable part ("pairing/doubt/…") and waits for [Patience].
//
//   - The sign comes back: it was memory.
//   - Somebody who sees the sign in their fast part answers in that record: the newcomer's is
//     another one, and is refused.
//   - Somebody is alive and does not reach their fast part: nobody can tell. The newcomer asks
//     again for about a minute, then that is its error, a store.ErrUnavailable.
//   - Nobody answers: nobody is alive who could be harmed. One transaction withdraws the doubt,
//     if it is still unanswered, and gives the mark the id of a new life.
//
// What still has the sign of an earlier life is treated from then on as if it had none. So of all
// fast parts at most one is the fleet's at any time, and writes of the durable part decide which.
//
// # What it does not see
//
// All who are alive may be silent for longer than Patience, because they hang, or do not reach
// a durable part that others do, just when a newcomer brings a wrong and empty fast part of the right database
// and prefix. Then the newcomer's is the fleet's; the others find out and say so, and the fences of
// sessions keep players' data whole, as after any wrong verdict. Releases without this package
// leave no mark and do not answer. Stores that are put together from drivers (store.New) have none
// of this. Nor is anything seen of a copy of the durable part that is used beside its original, with
// the same fast part.
//
// # Concurrency
//
// All functions are safe for use from many processes and goroutines at once. A [Watcher] owns one
// goroutine from Start to Close. One look answers at most 1,000 doubts, the
// next one others. A doubt whose writer died is removed by those who are alive when it is a minute old.
//
// # Errors
//
// Each write has a condition and is read back, so that a lost answer, or a process that sleeps,
// repeats a step and harms nothing. A store that does not answer is tried ten times within some six
// seconds, then its error is returned. Patience is counted in looks at the durable part: while that
// hangs or is slow it lasts longer.
//
// # Testing
//
// The rules (rules_*.go) are pure. The rest is tested with every answer lost in turn, processes
// that open at once, verdicts that come late, and fast parts that forget or go back in time.
package pairing
