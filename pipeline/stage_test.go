package pipeline_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
)

func TestOperationsAreAppliedInOrder(t *testing.T) {
	p := build(t, pipeline.Config{})
	got := accepted(t, p, `{"coins":1}`, doc.Increment("/coins", 2), doc.Set("/name", doc.MustString("x")), doc.Increment("/coins", 1))
	if got != `{"coins":4,"name":"x"}` {
		t.Error(got)
	}
}

// Every operation that does not fit is a complaint with its place in the call, also those
// behind the first; what fits in between is staged, so that later ones are judged by it.
func TestEveryMisfitIsListed(t *testing.T) {
	p := build(t, pipeline.Config{})
	r := refused(t, p, `{"coins":1,"name":"x"}`,
		doc.Increment("/gems/deep", 1),
		doc.Set("/bag", doc.List()),
		doc.Increment("/name", 1),
		doc.AppendTo("/bag", doc.Int(1)),
		doc.RemoveAt("/bag", 1),
		doc.Increment("/coins", math.MaxInt64),
		doc.Increment("/coins", math.NaN()),
		doc.Set("no slash", doc.Int(1)),
	)
	sameStrings(t, "complaints", complaintsOf(r), "/gems/deep ", "/name ", "/bag ", "/coins ", "/coins ", " ")
	for i, want := range []struct {
		index int
		err   error
	}{{0, doc.ErrNoPath}, {2, doc.ErrWrongType}, {4, doc.ErrIndex}, {5, doc.ErrOverflow}, {6, doc.ErrNotFinite}, {7, doc.ErrBadPath}} {
		var op *doc.OpError
		if v := r.Violations[i]; !errors.As(v.Err, &op) || op.Index != want.index || !errors.Is(v.Err, want.err) || !errors.Is(r, want.err) {
			t.Errorf("complaint %d: %v, want op %d, %v", i, v, want.index, want.err)
		}
	}
	if text := r.Error(); !strings.HasPrefix(text, `refused: 6 complaints: "/gems/deep": op 0, increment: nothing at this path`) {
		t.Error(text)
	}
}

func TestRefusalOfOneIsReadable(t *testing.T) {
	r := refused(t, build(t, pipeline.Config{}), `{"n":"x"}`, doc.Increment("/n", 1))
	if want := `refused: "/n": op 0, increment: wrong kind of value: string`; r.Error() != want {
		t.Errorf("%s, want %s", r, want)
	}
}

// However many complaints, and however long: the list, each text and the message are bounded,
// and the rest is counted.
func TestRefusalsAreBounded(t *testing.T) {
	var ops []doc.Op
	for i := range 10_000 {
		ops = append(ops, doc.Increment(doc.P(strings.Repeat("ä", 5000), fmt.Sprint(i)), 1))
	}
	r := refused(t, build(t, pipeline.Config{}), `{}`, ops...)
	if len(r.Violations) != pipeline.MaxViolations || r.More != 10_000-pipeline.MaxViolations {
		t.Errorf("%d listed, %d more", len(r.Violations), r.More)
	}
	text := r.Error()
	if n := len(text); n > 5<<10 || !strings.HasSuffix(text, " more") || strings.ContainsRune(text, '\uFFFD') {
		t.Errorf("a message of %d bytes: %s", n, text)
	}
	for _, v := range r.Violations {
		if len(v.Problem) > 512 {
			t.Fatalf("a problem of %d bytes", len(v.Problem))
		}
	}
	listed := strings.Count(text, "increment")
	if want := fmt.Sprintf("and %d more", 10_000-listed); !strings.HasSuffix(text, want) {
		t.Errorf("%d listed, but %s", listed, text[len(text)-20:])
	}
}

// One operation on a large document costs what applying it and comparing costs.
func TestWithoutFurtherStagesNothingIsAllocatedForThem(t *testing.T) {
	p := build(t, pipeline.Config{Guards: []pipeline.Guard{{Name: "size", Check: func(c pipeline.Change) []pipeline.Violation {
		if c.After.Size() > 1<<20 {
			return []pipeline.Violation{{}}
		}
		return nil
	}}}, Policies: []pipeline.SourcePolicy{{Path: doc.MustPath("/premium"), Allow: []pipeline.SourceKind{receipt}, Raise: true}}})
	v, ops := parse(t, `{"coins":1,"premium":3}`), []doc.Op{doc.Increment("/coins", 1)}
	bare := testing.AllocsPerRun(100, func() {
		after, err := doc.Apply(v, ops...)
		if err != nil || len(doc.Diff(v, after)) != 1 {
			t.Fatal(err)
		}
	})
	whole := testing.AllocsPerRun(100, func() {
		if res, err := run(p, v, ops...); err != nil || len(res.Edits) != 1 {
			t.Fatal(err)
		}
	})
	if whole > bare {
		t.Errorf("%v allocations, %v without the pipeline", whole, bare)
	}
}
