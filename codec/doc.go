// Package codec turns Go values into values of the package doc and back, without a detour
// through text, and puts a changed Go value back onto the document that it came from.
//
// # What it is
//
// A [Codec] is compiled once for a Go type ([For]), by the rules of encoding/json/v2: json
// tags, embedded structs, omitzero and omitempty, types with methods for JSON or text of their
// own. [Codec.Decode] makes a Go value of a document, [Codec.Encode] a document of a Go value.
// [Codec.Graft] is for everything in between: it lays a Go value over the document that it was
// decoded from, and changes only what has changed.
//
// # Guarantees
//
//   - Encode gives what [doc.From] gives.
//   - Decoding what Encode gave makes the same Go value again, but for what JSON does not keep:
//     nil slices and maps become empty ones.
//   - Graft of what Decode gave is the document itself, whatever else is in it.
//   - Decoding what Graft gave makes the same Go value as decoding what Encode gave.
//   - An integer field holds the very number that is stored, or Decode fails; a float field holds
//     the nearest float of its type, and what is stored stays until the field changes.
//
// # Concurrency
//
// A Codec is immutable and safe for any number of goroutines.
//
// # Errors
//
// All places that do not fit are reported at once, each as an [*Error] with its path, joined.
//
// # Testing
//
// Encode and Decode are checked against doc.From and encoding/json/v2 with random values, and
// Graft by its laws with random documents.
package codec
