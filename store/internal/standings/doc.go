// Package standings holds the rules of leaderboards that the SQL drivers share: where an entry
// stands, how the counts that make ranks fast are kept, what a submission does to an entry,
// what a board remembers for walks, and what is wrong with counts. It does no I/O, reads no
// clock and starts no goroutine; a driver reads, asks the rules, and writes what they say.
//
// # Ranks
//
// The entries of a board, in their order, are cut into buckets of one to two thousand. A
// bucket is known by the [Position] from which it counts, and its number of entries; because
// positions are the whole order (score and sequence), a board where everybody has the same
// score is cut as well as any other. Buckets stand on shelves, one row of a table each, so
// that a batch that touches every bucket of a million entries writes a few rows only.
//
// The rank of a position is the sum of the better shelves, the better buckets of its own
// shelf, and the better entries of its own bucket.
//
// # Walks
//
// A walk shows the board as it was at a version: the board's sequence when the walk began.
// An entry stands at a position in the versions from since to before at. Positions are given
// once, so what stands at one now has stood there from its own sequence on, unless it was
// hidden and shown again meanwhile.
//
// While somebody walks the board logs what leaves a position, with its versions, and what is
// shown again, with the version from which it stands there; that row is closed when the entry
// leaves. The board at version V is then: the entries whose sequence is at most V, without
// those whose row says that they stand there only since a version after V, and the logged
// ones with since ≤ V < at.
//
// Whether a log is complete is in the board's row, which every change of the board reads in
// its own transaction: a log never has a gap, whatever clocks say and whoever is killed.
package standings
