// Package demo plays a small fishing game on a fleet of several nodes in one process, moves
// players between the nodes, crashes a node now and then, and checks from the outside that
// nothing that was promised is broken.
//
// Each node has a store handle of its own on one folder, as processes of one machine would,
// behind a faultstore that can cut it off at once: that is a crash. The game is the one of
// examples/reef (package fishing), with seasons of a minute.
//
// The ledger is the judge: it hears of every load, cast, acknowledged save, title and late
// value, and knows nothing of how the fleet works. In the end the books of all players are held
// against it: what was acknowledged is there, every catch is counted in exactly one season, and
// every prize is paid once. A run that breaks a promise ends with an error.
//
// # Concurrency
//
// One goroutine a player, one for the crashes, one for the display. Run owns them all.
package demo
