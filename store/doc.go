// Package store holds the contracts of what a fleet shares, and nothing else that can fail.
//
// Three small contracts, because a fleet may keep them on different engines:
//
//   - [Records], a transactional key-value map whose writers choose the versions,
//   - [Boards], ordered entries with exact ranks,
//   - [Bus], best-effort messages.
//
// A driver (memstore, sqlitestore, …) implements them; package storetest is their
// specification, case by case. Everybody else holds a [Store], which checks every call
// before a driver sees it: drivers can rely on well-formed arguments, and callers get the
// same errors whatever the engine.
//
// # Guarantees
//
// Every write ends in one of three ways, and the error says which: done (nil), not done
// ([ErrConflict], [ErrUnavailable], [ErrTooLarge], [ErrInvalid], [ErrUnsupported],
// [ErrClosed], [ErrSealed], [ErrNoBoard]), or unknown ([ErrUnknown]: it was applied, was
// not, or still will be). [Outcome] sorts an error into the three. Any other error, a bare
// context error included, counts as unknown. Drivers retry nothing whose outcome is unknown.
//
// # Concurrency
//
// Everything here is safe for use from many goroutines.
//
// # Testing
//
// A driver runs storetest.Records, storetest.Boards and storetest.Bus; faultstore decorates
// any driver with delays, failures of both kinds, hangs and crashes.
package store
