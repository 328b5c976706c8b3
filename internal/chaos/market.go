package chaos

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// market is where players find each other to trade: both have to be at the same daemon.
type market struct {
	mu struct {
		sync.Mutex
		at map[string]int // daemons by player
	}
}

func newMarket() *market {
	m := new(market)
	m.mu.at = make(map[string]int)
	return m
}

// come notes that a player has a session at a daemon.
func (m *market) come(key string, daemon int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.at[key] = daemon
}

// leave notes that it may have none any more.
func (m *market) leave(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.at, key)
}

// find is where a player has a session.
func (m *market) find(key string) (daemon int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	daemon, ok = m.mu.at[key]
	return daemon, ok
}

// meet is somebody else at a daemon; empty when nobody is there.
func (m *market) meet(rng *rand.Rand, key string, daemon int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var there []string
	for other, at := range m.mu.at {
		if at == daemon && other != key {
			there = append(there, other)
		}
	}
	if len(there) == 0 {
		return ""
	}
	slices.Sort(there)
	return there[rng.IntN(len(there))]
}
