// Package server is the daemon's network side: it lets game servers in any language load and
// change profiles, submit scores, read boards and follow seasons.
//
// # What it is
//
// A [Server] answers the services of proto/shoal/v1 on one port, in the Connect protocol
// (plain JSON over HTTP/1.1, as curl sends it, or binary), gRPC (HTTP/2, also without TLS)
// and gRPC-Web. Reads without side effects are answered to GET as well; boards' reads carry
// cache headers. /livez says that the process answers, /readyz that it can do its work; /metrics
// is for Prometheus.
//
// The files: server.go (life), pipeline.go (what every request passes), access.go (who may
// call), limits.go, profile*.go, mail.go, board.go, season.go and node.go (one a service; of
// profiles profile.go has what a player's session needs, profile_claims.go receipts and trades,
// profile_history.go and profile_care.go what operators need), source.go, reasons.go
// and errors.go (the table from errors to the wire), metrics*.go (the page for Prometheus: a
// scrape reads what the node's parts count from memory, and makes no call to a store).
//
// # Guarantees
//
//   - A call with bad input changes nothing and is answered with a 4xx status, a reason from
//     a closed list, the field at fault and what to do.
//   - Numbers are exact: documents stand in messages as JSON texts, never as doubles.
//   - Sessions are held by the daemon, not by connections: from Load until Release, until the
//     session is handed over or lost, or until the node closes.
//   - Callers cannot make series of metrics: labels are sets, boards (at most 200), seasons,
//     paths, and words of closed lists; never keys of players.
//   - Sizes, times and concurrency are bounded by [Limits]; what does not fit is refused at
//     once with a clear answer. A watch lasts as long as its session, and a reader who does
//     not take a step in time is cut off.
//   - A panic ends one call. Errors that are not meant for callers stay in the log.
//   - Without an API key the daemon listens on loopback only, and does not answer to web
//     pages of other origins.
//
// # Concurrency
//
// A Server serves any number of listeners and calls at once. Close may be called from many
// goroutines; they share one closing.
//
// # Errors
//
// New reports everything that is wrong with a [Config]. Every error of a call carries a
// shoal.v1.ErrorDetail; docs/api.md has the table. An error says what became of the write:
// not done, or unknown.
//
// # Testing
//
// The tests speak to a real socket over memstore, as curl would and as generated clients do.
// The examples of docs/api.md are run by a test, so that the page cannot drift.
package server
