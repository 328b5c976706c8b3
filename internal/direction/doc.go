// Package direction holds the test that keeps the dependencies of the tree pointing inwards:
// cmd → server → shoal → season, profile, board → node → store → doc, and drivers → store.
// It has no code of its own.
package direction
