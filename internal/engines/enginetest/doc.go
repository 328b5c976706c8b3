// Package enginetest gives tests the servers of package engines.
//
// [Postgres], [Redis] and [Cluster] are one private server for all tests of a process, started
// when the first one asks; each test works in a [Schema] or under a [Prefix] of its own. A
// test that stops, kills or configures a server starts its own: [OwnPostgres], [OwnRedis],
// [OwnCluster], [Sentinel], [PgBouncer], [Proxy].
//
//	func TestMain(m *testing.M) { enginetest.Main(m) }
//
// A server that is not installed skips the test and names make engines; with
// TEST_ENGINES=require in the environment, as continuous integration has it, the test fails.
//
// # Concurrency
//
// All functions are safe for use from parallel tests. They may not be called inside of a
// testing/synctest bubble.
package enginetest
