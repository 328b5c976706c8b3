//go:build race

package profile

// searchLimit bounds a search by its states. The search has one goroutine, so the race
// detector would find nothing in it, and would take ten times as long: `make test` runs it
// whole, without the detector.
const searchLimit = 3000
