// Package wirejson is the JSON form of the daemon's messages: what curl sends and sees.
//
// # What it is
//
// A [Codec] for Connect under the name "json". It follows the JSON mapping of Protocol
// Buffers where that serves the people who write JSON by hand, and leaves it in five places:
//
//   - A string field marked raw_json stands in the message as the JSON value it holds. Every
//     digit of it is kept: no double lies in between.
//   - 64-bit integers are written as numbers while JavaScript holds them exactly (up to
//     2^53−1 either way) and as strings beyond, so that no reader rounds one without a sign.
//     Both forms are read, as every reader of the standard mapping does.
//   - Bytes are base64 in its standard form, with padding, and nothing else is read for them.
//     A double is the shortest number that reads back as the same; one that is not finite is
//     refused.
//   - Fields with a zero value are written, so that a score of 0 is visible. Optional fields
//     and messages are written when they are present.
//   - Reading is strict: unknown fields, duplicate names, wrong kinds of value, fractions
//     and exponents in integers, invalid UTF-8 and trailing data are refused.
//
// Names are lowerCamelCase; those of the .proto files are read too. null leaves a field
// unset.
//
// # Guarantees
//
// Writing is deterministic: fields in the order of their numbers, maps in byte order of
// their keys, no spaces. So the codec serves cacheable GET requests as well. A raw_json
// field is written as it is: whoever fills it answers for its being one JSON value.
//
// # Concurrency
//
// A Codec is safe for any number of goroutines. It remembers the plan of each message type.
//
// # Errors
//
// A text that is refused gives an [*Error], which names the field as people write it
// (entries[2].score) and says what was expected.
//
// # Testing
//
// Tables of good and bad texts, a check that every field of every message has a form, and a
// fuzz target that reads, writes and reads again.
package wirejson
