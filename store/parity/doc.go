// Package parity holds one test: that a random history has the same answers on every engine.
//
// The conformance suite (store/storetest) holds each driver against the contract. Where the
// contract leaves room, a game that moves to another engine would still notice a difference; so
// the same calls are made on all engines at once, in lockstep, and every answer is compared with
// that of the first. Ages, numbers of sequences and the texts of errors are the engines' own;
// everything else must be the same.
//
// The tests need PostgreSQL and Redis (make engines).
package parity
