package doc

import (
	"fmt"
	"math"
)

// checkIncrement reports what is wrong with an increment in itself.
func (op Op) checkIncrement() error {
	if !isNumber(op.Value) {
		return fmt.Errorf("%w: the amount is of kind %s", ErrBadOp, op.Value.kind)
	}
	for _, bound := range []Value{op.Min, op.Max} {
		if !bound.IsNull() && !isNumber(bound) {
			return fmt.Errorf("%w: a bound is of kind %s", ErrBadOp, bound.kind)
		}
	}
	if isNumber(op.Min) && isNumber(op.Max) && less(op.Max, op.Min) {
		return fmt.Errorf("%w: the upper bound %s is below the lower bound %s", ErrBadOp, op.Max, op.Min)
	}
	return nil
}

func isNumber(v Value) bool { return v.kind == KindInt || v.kind == KindFloat }

// less compares two numbers; integers among themselves exactly.
func less(a, b Value) bool {
	if a.kind == KindInt && b.kind == KindInt {
		return int64(a.bits) < int64(b.bits)
	}
	return nearest(a) < nearest(b)
}

// nearest is the float closest to a number.
func nearest(v Value) float64 {
	if v.kind == KindInt {
		return float64(int64(v.bits))
	}
	return math.Float64frombits(v.bits)
}

// sum is what the increment makes of the number it found; found is false for a
// missing member, which counts as zero of the amount's kind.
func (op Op) sum(now Value, found bool) (Value, error) {
	if !found {
		now = Int(0)
		if op.Value.kind == KindFloat {
			now = MustFloat(0)
		}
	}
	switch now.kind {
	case KindInt:
		return op.sumInt(int64(now.bits))
	case KindFloat:
		return op.sumFloat(math.Float64frombits(now.bits))
	case KindNull, KindBool, KindString, KindList, KindObject:
	}
	return Value{}, fmt.Errorf("%w: %s", ErrWrongType, now.kind)
}

func (op Op) sumInt(now int64) (Value, error) {
	for _, v := range []Value{op.Value, op.Min, op.Max} {
		if v.kind == KindFloat {
			return Value{}, fmt.Errorf("%w: an integer is incremented by and bounded by integers", ErrWrongType)
		}
	}
	by := int64(op.Value.bits)
	sum := now + by
	over, under := by > 0 && sum < now, by < 0 && sum > now
	switch {
	case !op.Max.IsNull() && (over || !under && sum > int64(op.Max.bits)):
		return op.stop(op.Max)
	case !op.Min.IsNull() && (under || !over && sum < int64(op.Min.bits)):
		return op.stop(op.Min)
	case over, under:
		return Value{}, fmt.Errorf("%w: %d%+d", ErrOverflow, now, by)
	}
	return Int(sum), nil
}

func (op Op) sumFloat(now float64) (Value, error) {
	for _, v := range []Value{op.Value, op.Min, op.Max} {
		if v.kind != KindInt {
			continue
		}
		if _, exact := v.AsFloat(); !exact {
			return Value{}, fmt.Errorf("%w: %s has more digits than a float", ErrWrongType, v)
		}
	}
	sum := now + nearest(op.Value)
	switch {
	case !op.Max.IsNull() && sum > nearest(op.Max):
		return op.stop(MustFloat(nearest(op.Max)))
	case !op.Min.IsNull() && sum < nearest(op.Min):
		return op.stop(MustFloat(nearest(op.Min)))
	}
	v, err := Float(sum)
	if err != nil {
		return Value{}, fmt.Errorf("%w: %v%+v", ErrOverflow, now, op.Value)
	}
	return v, nil
}

// stop is what happens at a bound.
func (op Op) stop(bound Value) (Value, error) {
	if op.Clamp {
		return bound, nil
	}
	return Value{}, fmt.Errorf("%w: the result would pass %s", ErrBounds, bound)
}
