// Package fishing has the rules of Rod and Reef, a small fishing game: what a cast brings, what it
// is worth, what seasons count of it and what the best of a season are given.
//
// Everything here is pure. The program in examples/reef and `shoal demo` play by it.
package fishing
