package profile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// However much mail is refused, a profile keeps no more than so much of why, the newest.
func TestReasonsAreBounded(t *testing.T) {
	var list []handled
	for i := range 200 {
		list = withHandled(list, handled{id: fmt.Sprint(i), refused: reason(errors.New(strings.Repeat("\x01long ", 1000)))})
	}
	total, whole := 0, 0
	for _, h := range list {
		total += len(h.refused)
		if h.refused == "" {
			t.Fatal("that it was refused is forgotten")
		}
		if len(h.refused) > 100 {
			whole++
		}
	}
	if total > maxReasons+200*len(refusedReason) || whole < maxReasons/maxReason-1 || len(list[199].refused) < 100 || list[0].refused != refusedReason {
		t.Errorf("%d bytes, %d whole ones", total, whole)
	}
	if r := reason(errors.New("a\nb\xffc")); r != "a b c" {
		t.Errorf("%q", r)
	}
}
