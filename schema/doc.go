// Package schema checks values of the package doc against JSON Schema, again and again as they
// change: [Schema.CheckChange] looks at what a change has touched, not at the whole document.
//
// # What it is
//
// A [Schema] is parsed from a text ([Parse], JSON Schema 2020-12) or derived from a Go type
// ([For]). The library jsonschema reads and resolves it; the rules it finds are compiled into
// a form that works on values directly, with exact integers. Only what depends on the keywords
// around it (unevaluatedProperties and unevaluatedItems beside other subschemas, dynamic
// references) is handed to the library, with the smallest subtree that decides it; a schema
// with a dynamic reference anywhere is handed over as a whole.
//
// # Guarantees
//
//   - A value has no violation exactly when the library finds it valid.
//   - If a value has none, CheckChange of a change to it reports something exactly when Check
//     of the result does.
//   - Nothing is ever loaded from elsewhere.
//   - A check reports all violations with their places, up to [MaxViolations].
//
// # Concurrency
//
// A Schema is immutable and safe for any number of goroutines.
//
// # Errors
//
// A schema that is wrong is refused when it is made, with one [*Error] for each fault, joined.
//
// # Testing
//
// Random schemas and values are checked against the library's own validation; the parser is
// fuzzed.
package schema
