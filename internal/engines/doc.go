// Package engines runs the database servers that Shoal is tested against: private ones, on
// loopback, in a temporary folder, out of the binaries that the system's packages install.
//
// [StartPostgres], [StartPgBouncer], [StartRedis], [StartSentinel] and [StartCluster] start a
// server and answer once it serves; [StartProxy] puts a TCP proxy before it that cuts, delays,
// resets and swallows. A server that is not installed is [ErrAbsent].
// With [TLS] in their options servers speak it, with certificates of an [Authority] that is made
// for the test.
//
// Nothing is left over: every process is ended by its own id, its folder is removed, and a
// process that starts engines and dies takes them with it (on Linux the kernel sees to that;
// the folders of the dead are swept by the next start).
//
// # What the verbs mean
//
// Stop ends a server in order. Kill ends it as a power failure does, with all its processes at
// once. Start starts it again with its folder and its port. Pause and Continue hold all its
// processes as a machine that sleeps. Close ends it for good.
//
// # Concurrency
//
// The verbs of one server are for one goroutine at a time. A [Proxy] and all that asks a
// running server (Exec, Do, Addr, URL) are safe for use from many.
//
// # Testing
//
// Tests use package enginetest, which starts servers lazily and skips where one is absent.
package engines
