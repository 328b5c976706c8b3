package profile

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// rung is a migration that writes down that it was taken, and refuses to be undone out of
// order.
func rung(to int) Migration {
	return Migration{
		To: to,
		Up: func(v doc.Value) (doc.Value, error) { return doc.Apply(v, doc.AppendTo("/steps", doc.Int(int64(to)))) },
		Down: func(v doc.Value) (doc.Value, error) {
			steps, _ := v.Member("steps")
			n := steps.Len()
			if n == 0 || !steps.Index(n-1).Equal(doc.Int(int64(to))) {
				return v, fmt.Errorf("%d undone in %v", to, v)
			}
			return doc.Apply(v, doc.RemoveAt("/steps", n-1))
		},
	}
}

// at is data of a version, of a profile that began at the bottom.
func at(bottom, version int) doc.Value {
	steps := []any{}
	for v := bottom + 1; v <= version; v++ {
		steps = append(steps, v)
	}
	return doc.Must(map[string]any{"steps": steps})
}

// Data gets from each version to each other in single steps, in order, as far as there is a
// way.
func TestLadder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bottom := rapid.IntRange(1, 4).Draw(t, "bottom")
		l := ladder{top: bottom + rapid.IntRange(0, 5).Draw(t, "steps")}
		for v := bottom + 1; v <= l.top; v++ {
			l.steps = append(l.steps, rung(v))
		}
		stuck := 0 // the highest version without a Down
		if len(l.steps) > 0 && rapid.Bool().Draw(t, "stuck") {
			stuck = rapid.IntRange(bottom+1, l.top).Draw(t, "at")
			l.steps[stuck-bottom-1].Down = nil
		}
		v := rapid.IntRange(-1, l.top+2).Draw(t, "version")

		up, err := l.up(at(bottom, v), v)
		switch {
		case v > l.top:
			if !errors.Is(err, ErrNewerSchema) {
				t.Fatalf("up from %d to %d: %v", v, l.top, err)
			}
			return
		case max(v, 1) < bottom:
			if !errors.Is(err, ErrMigration) {
				t.Fatalf("up from %d with a bottom at %d: %v", v, bottom, err)
			}
		case err != nil || !up.Equal(at(bottom, l.top)):
			t.Fatalf("up from %d to %d: %v %v", v, l.top, up, err)
		}
		to, missing := max(v, 1), 0
		switch {
		case stuck > to:
			missing = stuck
		case to < bottom:
			missing = bottom
		}
		down, err := l.down(at(bottom, l.top), to)
		switch {
		case l.lacksDown(to) != missing:
			t.Fatalf("down to %d: no way from %d, want %d", to, l.lacksDown(to), missing)
		case missing != 0 && !errors.Is(err, ErrMigration), missing == 0 && (err != nil || !down.Equal(at(bottom, to))):
			t.Fatalf("down from %d to %d: %v %v", l.top, to, down, err)
		}
	})
}
