// Package form reads and writes the stored forms: JSON objects whose members are in byte order
// of their names, with members of later releases kept as they came.
//
// A [Reader] is strict about what is taken from it, and keeps the first problem, so that a
// form is read without an error check at each member. What nobody took is [Reader.Rest], byte
// by byte; a [Writer] puts it back in its place. Neither is safe for concurrent use.
package form
