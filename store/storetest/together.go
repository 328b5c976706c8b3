package storetest

import (
	"sync"
	"testing"
)

// together calls f(0) … f(n-1) at the same time, waits for all, and fails the test at once
// when any answers an error.
func together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var (
		begin = make(chan struct{})
		errs  = make([]error, n)
		all   sync.WaitGroup
	)
	for i := range n {
		all.Go(func() {
			<-begin
			errs[i] = f(i)
		})
	}
	close(begin)
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}
