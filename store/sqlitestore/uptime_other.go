//go:build !linux

package sqlitestore

// hostUptime: there is no portable clock that counts from the boot and can be compared
// between processes, so ages follow the wall clock.
func hostUptime() uptime { return uptime{} }
