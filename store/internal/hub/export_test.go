package hub

// Goroutine names the running goroutine.
func Goroutine() string { return goroutine() }

// Kept is how many messages a subscription has room for without asking for more.
func (s *Subscription) Kept() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cap(s.mu.waiting)
}
