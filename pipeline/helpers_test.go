package pipeline_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
)

const (
	game     pipeline.SourceKind = "game"
	operator pipeline.SourceKind = "operator"
	receipt  pipeline.SourceKind = "receipt"
)

func parse(tb testing.TB, text string) doc.Value {
	tb.Helper()
	v, err := doc.Parse([]byte(text), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func build(tb testing.TB, c pipeline.Config) *pipeline.Pipeline {
	tb.Helper()
	p, err := pipeline.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// run is a transaction of the game.
func run(p *pipeline.Pipeline, before doc.Value, ops ...doc.Op) (pipeline.Result, error) {
	return p.Run(pipeline.Proposal{Before: before, Source: pipeline.Source{Kind: game}, Ops: ops})
}

// accepted is what a transaction makes, as text.
func accepted(tb testing.TB, p *pipeline.Pipeline, before string, ops ...doc.Op) string {
	tb.Helper()
	res, err := run(p, parse(tb, before), ops...)
	if err != nil {
		tb.Fatal(err)
	}
	return res.After.String()
}

// refused is the refusal of a transaction.
func refused(tb testing.TB, p *pipeline.Pipeline, before string, ops ...doc.Op) *pipeline.RefusedError {
	tb.Helper()
	res, err := run(p, parse(tb, before), ops...)
	var r *pipeline.RefusedError
	if !errors.As(err, &r) || !errors.Is(err, pipeline.ErrRefused) {
		tb.Fatalf("accepted, or refused by another error: %s, %v", res.After, err)
	}
	return r
}

// sum adds the integers among values.
func sum(values []doc.Value) int64 {
	var total int64
	for _, v := range values {
		n, _ := v.AsInt()
		total += n
	}
	return total
}

// total is a derived field that adds others.
func total(at string, inputs ...string) pipeline.Derived {
	return pipeline.Derived{Path: doc.MustPath(at), Inputs: paths(inputs...), Compute: func(in []doc.Value) (doc.Value, error) {
		return doc.Int(sum(in)), nil
	}}
}

func paths(pointers ...string) []doc.Path {
	var out []doc.Path
	for _, p := range pointers {
		out = append(out, doc.MustPath(p))
	}
	return out
}

// complaints are the paths and guards of a refusal.
func complaintsOf(r *pipeline.RefusedError) []string {
	var out []string
	for _, v := range r.Violations {
		out = append(out, v.Path.String()+" "+v.Guard)
	}
	return out
}

func number(v doc.Value, at string) int64 {
	there, _ := v.Get(doc.MustPath(at))
	n, _ := there.AsInt()
	return n
}

func sameStrings(tb testing.TB, what string, got []string, want ...string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: %q, want %q", what, got, want)
	}
}
