package doc_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// agrees reports whether both succeeded, or err is what the model says.
func agrees(err, model error) bool {
	if model == nil {
		return err == nil
	}
	return errors.Is(err, model)
}

// Any sequence of operations does what the model does, refuses what the model
// refuses for the same reason, and leaves every earlier state as it was.
func TestOperationsMatchModel(t *testing.T) { rapid.Check(t, operationsMatchModel) }

func operationsMatchModel(t *rapid.T) {
	model := genTree(3).Draw(t, "document")
	now := doc.Must(model)
	draft := doc.NewDraft(now)
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		op := genOp(model).Draw(t, "op")
		before := now.String()
		wantModel, wantErr := modelApply(model, op)
		next, err := doc.Apply(now, op)
		if !agrees(err, wantErr) {
			t.Fatalf("%s on %s: %v, the model says %v", op.Kind, now, err, wantErr)
		}
		if derr := draft.Apply(op); !agrees(derr, wantErr) {
			t.Fatalf("%s on a draft of %s: %v, the model says %v", op.Kind, now, derr, wantErr)
		}
		if now.String() != before {
			t.Fatalf("%s changed the value it was applied to", op.Kind)
		}
		if err != nil {
			continue
		}
		model, now = wantModel, next
		if want := doc.Must(model); !now.Equal(want) || now.String() != want.String() {
			t.Fatalf("%s made %s, the model says %s", op.Kind, now, want)
		}
		if cerr := doc.Check(now); cerr != nil {
			t.Fatal(cerr)
		}
	}
	if staged := draft.Value(); !staged.Equal(now) {
		t.Fatalf("the draft holds %s, want %s", staged, now)
	}
}

// A call with several operations does all or nothing, on values and on drafts.
func TestApplyIsAllOrNothing(t *testing.T) { rapid.Check(t, applyIsAllOrNothing) }

func applyIsAllOrNothing(t *rapid.T) {
	model := genTree(3).Draw(t, "document")
	v := doc.Must(model)
	ops := rapid.SliceOfN(genOp(model), 1, 5).Draw(t, "ops")
	draft := doc.NewDraft(v)
	if err := draft.Apply(doc.SetIfAbsent("/staged", doc.Int(1))); err == nil {
		model, _ = modelApply(model, doc.SetIfAbsent("/staged", doc.Int(1)))
	}
	before := doc.Must(model)
	want, failed := before, -1
	for i, op := range ops {
		next, err := modelApply(model, op)
		if err != nil {
			want, failed = before, i
			break
		}
		model, want = next, doc.Must(next)
	}
	err := draft.Apply(ops...)
	var at *doc.OpError
	if errors.As(err, &at) != (failed >= 0) || at != nil && at.Index != failed {
		t.Fatalf("error %v, the model fails at %d", err, failed)
	}
	if got := draft.Value(); !got.Equal(want) {
		t.Fatalf("the draft holds %s, want %s", got, want)
	}
	if got, _ := doc.Apply(before, ops...); !got.Equal(want) {
		t.Fatalf("Apply returned %s, want %s", got, want)
	}
	if diff := cmp.Diff(v, draft.Base()); diff != "" {
		t.Fatalf("the base changed: %s", diff)
	}
}

// Operations survive the wire.
func TestOperationsRoundTrip(t *testing.T) { rapid.Check(t, operationsRoundTrip) }

func operationsRoundTrip(t *rapid.T) {
	model := genTree(2).Draw(t, "document")
	op := genOp(model).Draw(t, "op")
	text, err := op.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var back doc.Op
	if err := back.UnmarshalJSON(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	again, err := back.MarshalJSON()
	if err != nil || string(again) != string(text) {
		t.Fatalf("%s became %s (%v)", text, again, err)
	}
	a, errA := doc.Apply(doc.Must(model), op)
	b, errB := doc.Apply(doc.Must(model), back)
	if !a.Equal(b) || fmt.Sprint(errA) != fmt.Sprint(errB) {
		t.Fatalf("%s does something else after the wire", text)
	}
}
