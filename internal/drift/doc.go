// Package drift holds the tests that keep the documents and the tree in step: the README's
// program is the one in examples/quickstart, its commands exist, links lead somewhere. It
// has no code of its own.
package drift
