// Package demo plays a small fishing game on a fleet of several nodes in one process, moves
// players between the nodes, crashes a node now and then, and checks from the outside that
// nothing that was promised is broken.
//
// Each node has a store handle of its own on one folder, as processes of one machine would,
// behind a faultstore that can cut it off at once: that is a crash. The game's rules are
// those of the seed (fish, coins, experience, streaks), with seasons of a minute.
//
// The ledger is the judge: it hears of every load, event, acknowledged save and title, and
// knows nothing of how the fleet works. A run that breaks a promise ends with an error.
//
// # Concurrency
//
// One goroutine a player, one for the crashes, one for the display. Run owns them all.
package demo
