package redisstore

import "testing"

// The bus is closed when nothing has ever been asked to hear: who waits to be heard is told so,
// and not left until their context ends.
func TestWaitersOfAClosedHub(t *testing.T) {
	h := newHub(1)
	s, heard, ok := h.subscribe("topic", func([]byte) {})
	if !ok || heard == nil {
		t.Fatalf("subscribe answers %v, %v", heard, ok)
	}
	for _, s := range h.close() {
		s.end()
	}
	select {
	case err := <-heard:
		if err == nil {
			t.Error("a topic of a closed hub is taken for heard")
		}
	default:
		t.Error("who waits is not told")
	}
	s.Close()
}
