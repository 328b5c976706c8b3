package sqlitestore

// A turnstile gives the processes that write to one file their turns. SQLite's own lock has
// no queue: a process that commits group after group leaves it free for microseconds, and
// another one that tries every half millisecond may miss it for seconds.
//
// Who finds the file busy stands in the turnstile, if nobody else does, until it has
// written. Who has just written has to go through the turnstile before it writes again, and
// so leaves the file free until the one who stands there has had its turn, for at most
// [passPatience]: a process that was stopped while it stood there does not stop the others.
//
// The turnstile is an advisory lock on a file of its own, which the kernel takes from a
// process that dies. Where there is no such lock it does nothing, and waiting is a matter
// of luck.
type turnstile struct {
	lock  tryLock
	stand bool // this process stands in it
}

// tryLock is a lock between processes, or between the engines of one.
type tryLock interface {
	// try takes the lock if nobody has it.
	try() bool
	// release gives it back.
	release()
	// close frees what it is made of.
	close() error
}

// enter stands in the turnstile if it is empty.
func (t *turnstile) enter() {
	if !t.stand {
		t.stand = t.lock.try()
	}
}

// leave steps out of it.
func (t *turnstile) leave() {
	if t.stand {
		t.lock.release()
		t.stand = false
	}
}

// open tells that nobody stands in it, so that this process may write again.
func (t *turnstile) open() bool {
	if t.stand || t.lock.try() {
		if !t.stand {
			t.lock.release()
		}
		return true
	}
	return false
}
