// Package chaos plays a small game on a fleet of real daemons over real servers, breaks
// everything on purpose, and checks from the outside that nothing that was acknowledged is lost.
//
// [Run] starts a private PostgreSQL and a fast store (package engines), three processes of
// `shoal serve`, and a proxy before each server for each daemon. Players call the daemons over
// HTTP as a game would: they play, save, sync, move from daemon to daemon, take receipts, send
// mail, trade and submit scores, and tell the [Ledger] what they were promised. Meanwhile the
// [Plan], which follows from a seed, kills, pauses and restarts daemons and servers, cuts and
// delays networks, loses answers, sets clocks, of daemons that start and of daemons that run,
// and takes the fast store's memory or sends it back in time. In the end all faults heal, every
// trade whose answer is missing is asked for again, and every player is loaded once more and
// held against the ledger.
//
// The plan is reproducible; the interleaving of real processes is not. A violation therefore
// ends the run and comes with the daemons' logs.
//
// # What makes it sharp
//
// A broken promise can only be seen when a session that was promised something dies before it
// has repaired the damage. So the most frequent fault is a strike: the daemon's players hurry
// to save and sync, its network fails for a moment, so that some writes never come and nobody
// knows of others, and right after the last acknowledgements it is killed; its players go
// elsewhere at once and look. Daemons beat twice a second, so that this happens often. For the
// first 45 s, and in turn from then on, the fast store's memory is kept, so that nothing at all
// is excused.
//
// That it is sharp enough is seen with a daemon that is broken on purpose, built with
// `go build -tags chaos -overlay` and given to the command as -binary. A driver that takes a write
// of unknown outcome for done, a takeover that leaves the journal out, and a transaction of two
// records that is none, are each found in the first minute.
//
// # What is a violation
//
// An acknowledged save, receipt, trade or mail that is missing; an acknowledged sync that is
// missing, unless the daemon and the fast store's memory were lost together, which is counted;
// anything that was done twice, or although it was refused; a trade that one side has and the
// other has not; a session that acknowledges although a later one had begun; an epoch or a
// revision that goes back; a player that cannot be loaded, or a trade that does not settle, when
// everything is healthy.
//
// # What is not covered
//
// A sentinel's servers have no proxies. Those of a cluster are shared by all daemons, so that no
// daemon alone is cut from it, and the masters have no replicas: nothing fails over there. Only
// the local clocks of daemons are set, not those of the servers. All is on one machine.
//
// # Concurrency
//
// One goroutine a player, one for each lane of the plan, and one for each answer that a player
// does not wait for; Run owns them. A [Ledger] is safe for use from many.
package chaos
