// Package exchange knows the forms in which profiles travel: Shoal's own export, and the records
// of the Roblox libraries ProfileStore and KeepBlox, in both directions. It is pure: it reads
// and writes streams and texts, and knows neither store nor profile.
//
// # Shoal's export
//
// JSON, one object a line, each ended by a newline:
//
//	{"shoal":"export","version":1,"set":"players","at":"2026-08-11T12:00:00.000Z"}
//	{"format":1,"set":"players","key":"u_42","profile":{…the stored record, byte by byte…}}
//	…
//	{"shoal":"end","profiles":1,"digest":"…"}
//
// The last line counts the profiles, and its digest is the SHA-256 of all bytes before it: an
// export without it, or with another one, was cut or changed. [Writer] and [Reader] take
// memory for a few lines, whatever the length. [Resume] finds out how far an export came that
// was broken off, and goes on behind its last whole line.
//
// A line may have a member roblox in place of profile, with a record of a Roblox library: it is
// read as [FromRoblox] reads it. So an export from there is brought in by wrapping each of its
// records into such a line.
//
// # Records of Roblox libraries
//
// ProfileStore and KeepBlox share a form: Data, MetaData, GlobalUpdates, RobloxMetaData,
// UserIds, WasOverwritten; KeepBlox keeps its own state in MetaData.KeepBlox. [FromRoblox]
// makes a stored record of it, [ToRoblox] the other way round:
//
//	Data                        data; an empty table is an object, and goes back as it came
//	MetaData.MetaTags           tags
//	MetaData.SessionLoadCount   epoch; at least 1 when written
//	MetaData.ProfileCreateTime  created; seconds when written
//	MetaData.LastUpdate         updated; seconds when written
//	MetaData.ActiveSession      not kept, and never written: a session does not travel
//	MetaData.ForceLoadSession   the same
//	everything else             the record's member robloxRecord, byte by byte
//
// What Shoal does not know thus survives every save, and a record that was only read and
// written back has the value it had. Updates that wait in GlobalUpdates are kept where they
// are, for the library that understands them, and are listed ([Imported].Pending): they are
// messages of that game's own making, which Shoal cannot apply and does not take for mail.
//
// Numbers of Lua are doubles. Integers stay integers; one that a double cannot hold is refused
// when it is written, and so is a null in a list, which would be a hole in a table.
//
// # Errors
//
// A [*FormatError] names the place in a record, a [*LineError] the line of a stream.
package exchange
