// Package doc holds the immutable JSON value that every profile, commit and
// journal is made of, and the operations that make a new value from an old one.
//
// # What it is
//
// A [Value] is null, a boolean, a 64-bit integer, a finite float, a string of
// valid UTF-8, a list or an object. It never changes. An operation ([Op]) makes
// another value that shares all untouched parts with the first: objects and
// lists are persistent trees of up to 32 items a node, so changing one member
// of a document of a megabyte copies a few nodes, whatever its size. A snapshot
// is an assignment.
//
// The package offers four ways to speak of a change:
//
//   - [Op], an intention: set, unset, increment within bounds, append, insert,
//     remove, merge, compare and set. [Apply] is total and typed.
//   - [Draft], a place to stage many operations and look at the result.
//   - [Edit], a difference: [Diff] of two values, and [ApplyEdits].
//   - [Effects], absolute assignments for a journal: applying them twice, or to
//     any later state of the same history, gives the same value. [Trail] collects
//     which places a history touched.
//
// # Guarantees
//
//   - Numbers are exact. An integer literal in the range of int64 is an Int, for
//     ever; a literal with a fraction or an exponent is a Float, for ever: 1.0
//     encodes as 1.0, not as 1. An integer outside int64 is refused, not rounded.
//   - Encoding is canonical: members in byte order of their names, no spaces, the
//     shortest float that reads back as the same float. Two values are [Value.Equal]
//     exactly when their encodings are the same bytes.
//   - Parsing is strict: duplicate names, invalid UTF-8, lone surrogates, trailing
//     data, and whatever exceeds its [Limits] are refused.
//   - [Value.Size] and [Value.Depth] cost nothing: every node carries them.
//   - What a value hands out cannot change it: bytes are fresh, nested values are
//     immutable, strings are Go strings.
//   - [Apply] is all or nothing, and each refusal says which operation, which path
//     and why.
//
// # Concurrency
//
// Value, Path, Op, Edit and Effects are immutable and safe for any number of
// goroutines. Draft, Trail and Builder are for one goroutine at a time.
//
// # Errors
//
// Conditions are sentinels ([ErrNoPath], [ErrWrongType], [ErrOverflow] and so on)
// inside typed errors that name the place: [*SyntaxError] with byte offset and
// path, [*OpError] with index, operation and path, [*ValueError] with the path
// inside a Go value. Test them with errors.Is and errors.As.
//
// # Testing
//
// Operations, differences and effects are checked against a naive model built on
// map[string]any by property tests, and every decoder is fuzzed.
package doc
