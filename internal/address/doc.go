// Package address reads the addresses of stores: which engine one names, and how it is shown to
// people. Passwords are never shown, not even those of an address that nobody can read.
//
// Everything here is pure.
package address
