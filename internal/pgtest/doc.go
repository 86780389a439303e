// Package pgtest runs a real PostgreSQL for tests: the system's own binaries, a
// data directory of its own, durable as in production. A test binary has one
// shared server, started by the first test that asks and stopped by Main; a test
// that restarts or kills its server takes one of its own with New.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
//	func TestStore(t *testing.T) {
//		server := pgtest.Shared(t)
//		url := server.URL(server.Schema(t))
//		…
//	}
//
// Where PostgreSQL is not installed the test fails and says what to install; it is
// never skipped. The package must not know what the database is used for.
package pgtest
