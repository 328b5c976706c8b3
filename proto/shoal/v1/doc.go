// Package shoalv1 is the daemon's API, version 1: the messages of its services, generated from
// the .proto files beside it, where every field and every error is explained. docs/api.md shows
// each call as JSON.
//
// A number of 64 bits is a number in JSON up to 2^53−1 and a string beyond; both are read.
// Documents are exact JSON.
package shoalv1
