// Package storecopy copies a store into another one, while servers use the first.
//
// # What a pass does
//
// A pass goes through the durable records of both stores in the order of their keys, and copies
// what the target lacks. Records keep their versions, so a record that is the same is told from
// one that is not without looking into it. What a session holds is left out: it is copied by a
// later pass, when it is free. Then it copies the boards, each as of one moment, in their order,
// so that equal scores keep theirs; hidden keys stay hidden, sealed boards are sealed at the end,
// and the generation is that of the source. Beats, notes, journals and messages belong to running
// nodes and are never copied.
//
// A pass can be cut off anywhere and begun again. One that finds no node and no session at the
// source, and leaves nothing behind, is complete: the target is the source.
//
// # What is never done
//
// What somebody else has written into the target is not overwritten, and what somebody else has
// removed there is not brought back, unless it is asked for. The target keeps a ledger of what
// was copied ("storecopy/…" among its durable records): a record whose version is in it is the
// copier's own, any other one is not. The ledger is written before what it speaks of.
//
// Nothing is written while nodes run on the target. At most one copier writes into a target: a
// second one finds the ledger taken and ends.
//
// # What cannot be copied
//
// Ages begin anew. Boards do not tell the stamps of "last" and the counts of "sum" batches, so
// those begin anew as well: every server of the source must have ended, with its boards drained,
// before the last pass.
//
// # Errors
//
// [Copy] fails when a store does not answer for good, when nodes run on the target, and when
// another copier is at work. All else is counted, and told by Options.Report.
package storecopy
