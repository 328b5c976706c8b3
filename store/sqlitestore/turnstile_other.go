//go:build !unix

package sqlitestore

// nobody is a turnstile that is always empty.
type nobody struct{}

func newTryLock(string) (tryLock, error) { return nobody{}, nil }

func (nobody) try() bool    { return true }
func (nobody) release()     {}
func (nobody) close() error { return nil }
