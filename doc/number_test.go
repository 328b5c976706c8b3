package doc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// case P15: every float there is reads back as the same float, stays a float, and
// is written as other libraries write it, but for .0 at whole numbers.
func TestEveryFloatRoundTrips(t *testing.T) { rapid.Check(t, everyFloatRoundTrips) }

func everyFloatRoundTrips(t *rapid.T) {
	f := rapid.OneOf(
		rapid.Map(rapid.Uint64(), math.Float64frombits),
		rapid.Float64(),
		rapid.Map(rapid.IntRange(-400, 400), func(e int) float64 { return math.Pow(10, float64(e)) }),
		rapid.Map(rapid.Int64(), func(i int64) float64 { return float64(i) }),
	).Draw(t, "float")
	v, err := doc.Float(f)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		if !errors.Is(err, doc.ErrNotFinite) {
			t.Fatalf("%v: %v", f, err)
		}
		return
	}
	text := v.Encode()
	back, err := doc.Parse(text, nil)
	got, ok := back.AsFloat()
	if err != nil || !ok || math.Float64bits(got) != math.Float64bits(f) || back.Kind() != doc.KindFloat {
		t.Fatalf("%v was written %s and read %v (%v)", f, text, back, err)
	}
	if v.Size() != len(text) || !back.Equal(v) {
		t.Fatalf("%s: size %d", text, v.Size())
	}
	theirs, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.ContainsAny(theirs, ".e") {
		theirs = append(theirs, ".0"...)
	}
	if !bytes.Equal(text, theirs) {
		t.Fatalf("%v is %s here and %s elsewhere", f, text, theirs)
	}
}

// Every integer round-trips, and is refused one beyond the range.
func TestEveryIntegerRoundTrips(t *testing.T) { rapid.Check(t, everyIntegerRoundTrips) }

func everyIntegerRoundTrips(t *rapid.T) {
	i := rapid.Int64().Draw(t, "integer")
	v := doc.Int(i)
	text := v.String()
	if text != strconv.FormatInt(i, 10) || v.Size() != len(text) {
		t.Fatalf("%d was written %s with size %d", i, text, v.Size())
	}
	back, err := doc.Parse([]byte(text), nil)
	if got, ok := back.AsInt(); err != nil || !ok || got != i {
		t.Fatalf("%d was read %v (%v)", i, back, err)
	}
	f, exact := v.AsFloat()
	if wide, _ := new(big.Float).SetFloat64(float64(i)).Int(nil); exact != (wide.Cmp(big.NewInt(i)) == 0) || exact && f != float64(i) {
		t.Fatalf("%d as a float: %v %v", i, f, exact)
	}
	digits := rapid.StringMatching(`[1-9][0-9]{17,22}`).Draw(t, "digits")
	n, _ := new(big.Int).SetString(digits, 10)
	for _, text := range []string{digits, "-" + digits} {
		_, err := doc.Parse([]byte(text), nil)
		if fits := n.IsInt64(); (err == nil) != fits {
			t.Fatalf("%s: %v", text, err)
		}
		n.Neg(n)
	}
}

// An increment never leaves its bounds, its range or its kind, whatever the numbers.
func TestIncrementStaysInside(t *testing.T) { rapid.Check(t, incrementStaysInside) }

func incrementStaysInside(t *rapid.T) {
	whole := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-5, 5), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64}))
	now, by := whole.Draw(t, "now"), whole.Draw(t, "by")
	least, most := whole.Draw(t, "least"), whole.Draw(t, "most")
	op := doc.Increment("/n", by)
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if rapid.Bool().Draw(t, "min") {
		op, low = op.AtLeast(doc.Int(least)), least
	}
	if rapid.Bool().Draw(t, "max") {
		op, high = op.AtMost(doc.Int(most)), most
	}
	clamp := rapid.Bool().Draw(t, "clamp")
	if clamp {
		op = op.Clamped()
	}
	v, err := doc.Apply(doc.MustObject(map[string]doc.Value{"n": doc.Int(now)}), op)
	n, _ := v.Member("n")
	got, ok := n.AsInt()
	if !ok {
		t.Fatalf("an integer became %s", n)
	}
	sum := new(big.Int).Add(big.NewInt(now), big.NewInt(by))
	inside := sum.Cmp(big.NewInt(low)) >= 0 && sum.Cmp(big.NewInt(high)) <= 0
	switch {
	case low > high:
		if !errors.Is(err, doc.ErrBadOp) || got != now {
			t.Fatalf("bounds the wrong way round: %d (%v)", got, err)
		}
	case err == nil && inside:
		if sum.Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("%d%+d is %d", now, by, got)
		}
	case err == nil:
		if !clamp || got != low && got != high {
			t.Fatalf("%d%+d between %d and %d is %d", now, by, low, high, got)
		}
	case inside || got != now:
		t.Fatalf("%d%+d between %d and %d was refused: %v, leaving %d", now, by, low, high, err, got)
	}
}

// The same of floats.
func TestFloatIncrementStaysInside(t *testing.T) { rapid.Check(t, floatIncrementStaysInside) }

func floatIncrementStaysInside(t *rapid.T) {
	finite := rapid.OneOf(rapid.Float64Range(-10, 10), rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64))
	now, by := finite.Draw(t, "now"), finite.Draw(t, "by")
	low, high := finite.Draw(t, "low"), finite.Draw(t, "high")
	if low > high {
		low, high = high, low
	}
	op := doc.Increment("/n", by).AtLeast(doc.MustFloat(low)).AtMost(doc.MustFloat(high))
	op.Clamp = rapid.Bool().Draw(t, "clamp")
	v, err := doc.Apply(doc.MustObject(map[string]doc.Value{"n": doc.MustFloat(now)}), op)
	n, _ := v.Member("n")
	got, _ := n.AsFloat()
	want := min(max(now+by, low), high)
	switch {
	case n.Kind() != doc.KindFloat:
		t.Fatalf("a float became %s", n)
	case err == nil && got != want:
		t.Fatalf("%v%+v between %v and %v is %v", now, by, low, high, got)
	case err == nil && !op.Clamp && got != now+by:
		t.Fatalf("%v%+v was clamped to %v unasked", now, by, got)
	case err != nil && (op.Clamp || !errors.Is(err, doc.ErrBounds) || want == now+by):
		t.Fatalf("%v%+v between %v and %v: %v", now, by, low, high, err)
	}
}
