package standings

// SourcesMost is how many sources of sums a board knows. A board keeps the number of the last
// batch of sums per source, so that a batch that is sent again is counted once. Sources are
// node ids, new at every start, so they are bounded: when a source comes that the board does
// not know and it knows SourcesMost, the one that was counted longest ago is forgotten. No
// clock decides that.
const SourcesMost = 10_000
