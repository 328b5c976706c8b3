// Package pgstore keeps a store in a schema of a PostgreSQL database: many machines, one truth.
//
// # Addresses
//
// An address is what pgx takes, a URL or "host=… dbname=…", several hosts included, and these
// parameters. One that nobody knows is refused by its name.
//
//   - schema: where everything is, default "shoal"; 1 to 40 of a-z, 0-9 and _.
//   - pooler=transaction: a pooler such as PgBouncer stands before the server and hands each
//     transaction to another session. Nothing is prepared then, and the bus polls.
//   - live=logged: the fast records are written ahead like the durable ones, instead of being
//     lost as a whole when the server crashes. It counts when the schema is made.
//   - pool_max_conns, and what else pgxpool knows: connections at most.
//
// TLS is as with libpq: sslmode=verify-full with sslrootcert for a server that has to prove who it
// is, sslcert and sslkey for one that asks who we are. Without sslmode nobody looks at the server's
// certificate, and TLS is used only if the server offers it. When TLS does not come about the
// error says what to change.
//
// Whatever target_session_attrs says, only servers that take writes are used: reads go to the
// primary, too.
//
// # The schema
//
// Tables records and live (the fast records, UNLOGGED) hold keys, versions, values, and when
// they were written by the server's clock; messages belong to the bus, the rest to boards. The
// view profiles is for plain queries. Open makes and migrates the schema, any number of
// processes at once; [Scripts] are the same for operators. A newer release's schema is refused.
//
// # Guarantees
//
// Transactions of one key that come at the same time go together: while a writer is at work
// what comes meanwhile waits, and becomes one statement, each write of it decided by itself. A
// transaction of several keys is one of the engine. Every writer locks rows in the order of
// their keys, so that none wait in a circle, and looks at a version when it has the row: READ
// COMMITTED is enough. What a Check asserts is held by FOR SHARE until the transaction is
// decided. The sort order is that of bytes whatever the database's is.
//
// A record's Age is a difference of the server's clock, clock_timestamp(), and so is Now the
// server's. Keys under "node/" of the fast records, by which nodes judge each other, are read and written on
// connections of their own, that no other traffic holds up.
//
// # Errors
//
// A write whose statement was sent, and whose answer did not come, is store.ErrUnknown: the
// connection broke, the server was shut down, the caller gave up, or CallDeadline passed. What
// PostgreSQL reports as an ERROR was rolled back. Serialization failures and deadlocks (40001,
// 40P01) are repeated, a few times, and then store.ErrUnavailable, as is whatever was not sent,
// a server that takes no writes (25006: the connection is given up, the next one finds the new
// primary), a full disk, since room comes back, or a pool without a free connection when the
// caller gives up. Errors of [Open] are this package's own sentinels.
//
// # Bus
//
// A topic is a channel of LISTEN and NOTIFY, so that a process gets only what it subscribes to;
// what is over 7,900 bytes goes through the table messages and is fetched. Messages are sent by
// a goroutine of their own, grouped, never within a transaction of records: NOTIFY makes commits wait
// for each other. One connection listens, from the first subscription on. When it breaks, the next one listens to whatever is
// subscribed to then; messages meanwhile are lost to other processes, not within this one.
//
// Behind a pooler, and on engines without LISTEN, messages go through the table and are polled for
// every PollEvery. Processes that poll and such that listen do not hear each other: a fleet
// connects in one way.
//
// # Other engines
//
// CockroachDB and YugabyteDB speak the same protocol. Nothing here relies on advisory locks, on
// sequences without gaps, or on READ COMMITTED being what they call so: their serialization
// failures are repeated, CockroachDB's "ambiguous result" (40003) is store.ErrUnknown, and what
// they do not know (lz4, LISTEN, UNLOGGED where it means nothing) is left out. They are not
// tested here.
//
// # Limits
//
// What waits for the writers is bounded (Options.QueueBytes); when it is full callers wait. A
// context that ends before a writer has begun with a call answers store.ErrUnavailable.
// Messages that wait to be sent, fetched or received are bounded (Options.BusQueue); further
// ones are lost.
//
// # Concurrency
//
// Everything is safe for use from many goroutines, and from many processes on one schema.
//
// # Testing
//
// The conformance suites of storetest run against a private server, directly and through
// PgBouncer; further tests kill, restart and hold the server, lose answers, end sessions, and
// check histories of single keys for an order that explains them.
package pgstore
