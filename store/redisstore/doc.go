// Package redisstore is the store driver for Redis and Valkey, version 7 or later: records of
// the fast role, boards and bus, on one server, on a master that Sentinels look after, or on a
// cluster. It keeps nothing that may not be lost: profiles and results belong into a durable
// store beside it.
//
// # Addresses
//
//	redis://[user:password@]host[:port][/database]
//	redis+sentinel://[user:password@]host[:port],…/master[/database]
//	redis+cluster://[user:password@]host[:port],…
//
// and the same with rediss for TLS. Parameters: prefix, which stands before every key and
// channel (default shoal; without a colon, so that no two prefixes have a key in common),
// client_name (default shoal), and for Sentinels that ask for them sentinel_user and
// sentinel_password. [Open] refuses a server that evicts keys.
//
// With TLS a server, and every Sentinel, shows a certificate that is for the host by which it is
// dialled, signed by an authority that this system knows. Parameters change that: cacert names a
// file of other authorities (PEM), sni a name that all certificates have to be for, and
// skip_verify=true takes anybody. Servers that ask for a certificate get that of the files cert
// and key, which are read again for each connection. Options.TLS is what the parameters are laid
// over. When TLS does not come about the error says what was expected and what to change.
//
// # Records
//
// A record is a string: its version, the server's time of the write, and its value. Each write
// is a script that looks at the version and then writes, so a Tx writes one key. Ages, and
// Now, are of the server that has the record.
//
// Four families of records can be scanned: node/, mark/, note/ and journaled/, the folders
// that nodes list. A family is a HASH of values and a ZSET of names, in one slot of a cluster.
// Any other range answers store.ErrUnsupported: no call ever walks the keys of the server. All
// beats and marks are in one slot, so that one clock judges them all; on a cluster the loss of
// that server silences all nodes until it is replaced, and nobody is taken for dead meanwhile.
//
// # What is safe
//
// Reads and writes go to the server that takes writes; every script, those that only read
// included, is refused by a replica, so what is read is never an old copy. A master that was
// cut off from its Sentinels does not know that it is none any more: until it learns, its
// writes are answered and then lost, as are those that a new master has not got. Conditions
// make this harmless: a writer's next write does not find its version. How much a restart
// loses is up to the server's persistence; [store.Inspector] tells how it is set.
//
// # Errors
//
// What the server refuses is not done: OOM, READONLY, LOADING, CLUSTERDOWN, MASTERDOWN, TRYAGAIN,
// NOREPLICAS, MISCONF and the like are store.ErrUnavailable, and so is a connection that could not
// be made. A full server is one of these, not store.ErrTooLarge, since the same write can be
// done when there is room again; it takes no new journals and notes, but beats, reads and
// deletes. A write whose connection broke, or whose context ended, after it was sent is
// store.ErrUnknown. Nothing whose outcome is unknown is ever sent again. Refusals that pass in a
// moment (LOADING, CLUSTERDOWN, MASTERDOWN, TRYAGAIN, no connection) are tried four times within
// 70 ms, as are reads. A script that the server has forgotten is sent whole.
//
// # Connections
//
// An engine has Options.Connections for journals and boards to each server, one for beats and
// marks, and two for the bus. So a pipeline of journals holds up no beat on the way; inside of
// the server scripts run one after the other. A connection that is silent for a second is
// asked whether it lives; one that does not answer within Options.AnswerTimeout (that of the
// beats: 1.5 s) is given up with the calls on it. A server that pauses is not waited for any
// longer than that, nor than the context of the call.
//
// # Bus
//
// A topic is a channel; on a cluster every server passes every message on. When the connection
// that hears is lost it is made again, after 50 ms to 2 s, and subscribes to everything; what
// was sent meanwhile is lost. A subscription queues Options.BusQueue messages and loses those
// that come when it is full.
//
// # Limits
//
// One script reads at most 16 journals, or writes at most 64 or 256 KiB of them, and lists at most
// 256 records or 1 MiB: a server that runs one answers nobody else. A Commit sends at most 256 scripts or 8 MiB
// in one go; a call of more takes several round trips. Up to 1,024 calls wait for each
// connection, further callers wait for room within their contexts. A record costs some 100 bytes of the
// server's memory beside its key and value, one of a family some 200.
//
// An engine remembers where the entries stand that it has written or whose standing it has read, up
// to 2,097,152 of them and 4,096 boards, in up to 50 MB, which grow as they are needed; when
// there is no room the newest takes the place of another one. What is remembered is never an
// answer: it is what the server is asked for, with five plain commands instead of a script. Boards
// with metadata, and clusters, are asked by the script always.
//
// # Concurrency
//
// An Engine and its parts are safe for use from many goroutines. Goroutines are those of the
// connections, one that keeps the bus connected, and one for each subscription; Close ends
// them. (The client of a cluster may keep one that sleeps for five seconds more.)
//
// # Testing
//
// The driver runs the whole of storetest against one server, against Sentinels and against a
// cluster of three, and is then tested with servers that are killed, paused, filled, demoted
// and emptied, and with connections that break between a call and its answer.
package redisstore
