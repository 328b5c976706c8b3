package chaos

import "sync"

// bell tells the players of a daemon what is about to become of it: to hurry, so that many
// acknowledgements are on their way when it breaks, and to leave, so that what they were
// promised is looked for elsewhere at once.
type bell struct {
	mu struct {
		sync.Mutex
		hurry int           // how many faults want hurry
		left  int           // how often everybody was told to leave
		rung  chan struct{} // closed when something of this changes
	}
}

func newBell() *bell {
	b := new(bell)
	b.mu.rung = make(chan struct{})
	return b
}

// hurry has the players hurry until calm is called.
func (b *bell) hurry() (calm func()) {
	b.change(func() { b.mu.hurry++ })
	return sync.OnceFunc(func() { b.change(func() { b.mu.hurry-- }) })
}

// leave has the players leave that came before.
func (b *bell) leave() { b.change(func() { b.mu.left++ }) }

func (b *bell) change(how func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	how()
	close(b.mu.rung)
	b.mu.rung = make(chan struct{})
}

// hear tells whether to hurry, how often everybody was told to leave, and when to ask again.
func (b *bell) hear() (hurry bool, left int, rung <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.hurry > 0, b.mu.left, b.mu.rung
}
