// Package node makes a process take part in a fleet that has no coordinator.
//
// A [Node] has an id that is new at every start, and it beats: once a Beat it rewrites its
// own record in the fast store. By these records the others tell a living holder of a
// profile from a dead one. The node also reads the notes that others leave for it, carries
// the durable store's clock as fleet time, and ends the services above it in order. Now and
// then it reads the beats of all nodes: from them it knows the dead ones ([Node.Dead]), and its
// share of what the store allows to the whole fleet.
//
// # Guarantees
//
//   - A wrong verdict can end a live session early; it can never let two nodes write, because
//     every write elsewhere is conditional on version and token.
//   - A node judges only in a run of its own landed beats, and only by a look in which its own
//     beat proves that the store's clock is sane (see [Look], [Judge]), and never by an age
//     alone: the beat must have stood still for a beat and a quarter by the judge's own clock.
//     After an outage, a failover or a clock step nobody is declared dead by its consequences.
//   - A beat is a call of its own, conditional on the version of the one before. A node that
//     finds a beat in its place that is not its own stops beating: [Node.Failed].
//   - A node that closes in order leaves nothing in the store. What a dead node has left is
//     removed by the others after ForgetAfter, in small portions, its beat last, and not while
//     something is left to be done for it ([EstatePrefix]).
//   - Fleet time never uses the local wall clock while the durable store answers.
//
// # Concurrency
//
// A Node is safe for use from many goroutines. It owns four: the beat, the notes, the clock,
// and the census, which costs one Scan of all beats every 10 beats.
//
// Bounds: 10,000 nodes in a census; 4,096 notes in one reading; 64 closer looks after a census;
// 4 dead nodes forgotten after one, 512 of their records at a time.
//
// # Errors
//
// Start fails when the store does not answer or an option is invalid. Later failures of the
// store make the node suspect (it judges nobody, [Node.Beating] is false), never stop it.
//
// # Testing
//
// The rules (verdict.go, pulse.go, estimate.go) are pure. The loops run under testing/synctest on
// memstore and faultstore.
package node
