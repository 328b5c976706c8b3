// Package chaos plays a small game on a fleet of real daemons over real servers, breaks
// everything on purpose, and checks from the outside that nothing that was acknowledged is lost.
//
// [Run] starts a private PostgreSQL and Redis (package engines), three processes of `shoal
// serve`, and a proxy before each server for each daemon. Players call the daemons over HTTP as
// a game would: they play, save, sync, move from daemon to daemon, take receipts, send mail and
// submit scores, and tell the [Ledger] what they were promised. Meanwhile the [Plan], which
// follows from a seed, kills, pauses and restarts daemons and servers, cuts and delays networks,
// loses answers, sets clocks wrong and takes Redis' memory or sends it back in time. In the end
// all faults heal, every player is loaded once more and held against the ledger.
//
// The plan is reproducible; the interleaving of real processes is not. A violation therefore
// comes with the daemons' logs.
//
// # What is a violation
//
// An acknowledged save, receipt or mail that is missing; an acknowledged sync that is missing,
// unless the daemon and the fast store's memory were lost together, which is counted; anything
// that was done twice; a session that acknowledges although a later one had begun; an epoch or a
// revision that goes back; a player that cannot be loaded when everything is healthy.
//
// # Concurrency
//
// One goroutine a player and one for each lane of the plan; Run owns them. A [Ledger] is safe
// for use from many.
package chaos
