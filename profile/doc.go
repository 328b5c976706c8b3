// Package profile keeps what players own: documents that one node at a time may write,
// handed over in milliseconds, taken over when a node dies.
//
// # What it is
//
// A [Set] is a kind of profile on one node, and a [Session] is the node's exclusive hold on
// one profile. Load opens it; Transact and Change alter it in memory, all or nothing; Save
// and the autosave store it; Release ends the session.
//
//	players, err := profile.New(n, "players", &profile.Options{Template: template})
//	session, err := players.Load(ctx, "u_42", nil)
//	_, err = session.Transact(profile.Source{Note: "sold a cod"}, doc.Increment("/coins", 12))
//	err = session.Release(ctx)
//
// [Players] does this for a game whose players connect and disconnect as they like.
//
// A profile is one record of the durable store, profile/<set>/<key>: JSON with the data and
// its bookkeeping. Every write to it is conditional on the version that its writer last saw,
// and names the session by a random token: that, and nothing else, decides who may write.
// Clocks, beats, notes and messages only decide how soon somebody tries.
//
// The package is built in two layers. The rules_*.go files hold the rules of the protocol as
// pure functions from a record, a claimant and facts to a decision: no I/O, no clock, no
// chance. The other files carry decisions out.
//
// # Guarantees
//
//   - One writer for each epoch, whatever is lost, late, paused or wrongly declared dead.
//   - What Save has acknowledged is in every later load. What Sync has acknowledged too,
//     unless the node and the fast store's memory are lost within one JournalEvery.
//   - A failed load takes nothing and changes nothing; a failed read is never a new player.
//   - A transaction is applied wholly or not at all, and never waits for a store.
//   - A save never ends a session, and a session never ends without its record saying so,
//     except when it is left at the deadline of Close, which the report says.
//   - What is not understood is left as it is, and copied to quarantine/<set>/<key>; fields
//     of later releases survive every save byte by byte.
//
// What a crash may lose is what neither save nor journal holds: about JournalEvery of play.
// Stats tell how many sessions have such commits, and for how long (Exposed, ExposedFor).
//
// # The write pipeline
//
// A transaction is decided by package pipeline, in memory: operations, then derived fields
// (Options.Derived), then reactions (Options.Reactions) until nothing changes that they watch,
// then guards: the JSON Schema, Validate, the size budgets, policies by source
// (Options.SourcePolicies) and the game's own (Options.Guards). A refusal is a RefusedError
// with every complaint and its path; DryRun tells it without asking in earnest. A load computes
// derived fields anew and holds data against JSONSchema and Validate; it asks no reaction and
// no other guard.
//
// # The journal
//
// What a session has changed since its last acknowledged save stands in the fast store under
// journal/<set>/<key>, written every JournalEvery for all sessions that changed, in few calls,
// and at once by Sync. Whoever takes the session over seals it, so that nothing can be added,
// and replays it. When it cannot be written twice in a row, the session saves instead, every
// FallbackSave. A reaper in each set saves the journaled sessions of dead nodes (ReapEvery).
//
// # Versions of the form
//
// A profile is stored with the version of its data's form. An older form is brought up by
// Options.Migrations when the profile is loaded, in memory, as a commit; with
// Options.WriteVersion data is stored in an older form than it is played with, so that a
// release can be rolled back. See docs/migrations.md.
//
// # The past
//
// A session remembers its last commits: Undo takes one back, Rollback all from one on. What
// outlives it is stored beside the record, in the Tx of the save: who changed what, in rows of
// the audit log under audit/<set>/<key>, and now and then the state that a save replaces, under
// version/<set>/<key>, which Restore brings back. Both are there exactly if the save is, and
// can be no reason why one is refused. Erase removes them, and all else that is known of a
// person, and leaves a tombstone, so that no epoch and no revision comes twice.
//
// # Concurrency
//
// Everything is safe for use from many goroutines. Transactions of one session come one
// after the other; listeners are called in order, one at a time. A set runs one goroutine
// while it is open, and short-lived ones while there is something to do: an idle session
// costs no goroutine, no timer and no call to a store. On a node with limits (node.Limits) a
// goroutine waits for each session whose write has to wait for the request budget. Players
// keeps one goroutine for each player who is in.
//
// Bounds: MaxWrites saves at once (more wait, each session once); 1,024 commits that wait
// for a listener (then transactions are refused with ErrBusy); 64 remembered commit ids a
// profile; 4,096 tokens to get rid of; 4,096 notes and 16,384 journals to remove (more are left
// behind, which harms nothing); 4 calls of the journal at once, of 256 sessions or 4 MiB each;
// 4 sessions reaped at once, 4,096 of one dead node in a round; 256 watches a session, each
// with at most 1,024 commits (then its reader gets a new snapshot); History and HistoryBytes of
// a session's commits; 1 MiB a session that waits for the audit log (then commits are put
// together); 1,024 profiles whose old rows wait to be removed (more at the next occasion).
//
// # Errors
//
// Sentinels say what a game should do: see their comments. They come wrapped with the
// operation and the key. Failures of the store keep their own sentinels inside, so that
// store.OutcomeOf tells whether a write was done.
//
// # Testing
//
// The rules are tested as tables and by a search through interleavings with lost and late
// answers; the rest under testing/synctest with several nodes on one memstore and every
// fault that faultstore knows. Decoders are fuzzed.
package profile
