package board

import (
	"fmt"
	"math"
	"strconv"
)

// This file turns decimal numbers into scores and back, exactly or not at all.

// scoreError says why a text or a float is no score. reason is ErrNotNumber, ErrInexact or
// ErrOverflow.
type scoreError struct {
	reason  error
	problem string
}

func (e *scoreError) Error() string { return e.problem }

func (e *scoreError) Unwrap() error { return e.reason }

func notNumber(format string, args ...any) error {
	return &scoreError{ErrNotNumber, fmt.Sprintf(format, args...)}
}

// parseDecimal reads digits, with a minus before and a point and more digits after them if
// need be, as a score with so many decimals. Zeros at the end do not count as decimals.
func parseDecimal(text string, decimals int) (int64, error) {
	digits, negative := text, false
	if digits != "" && digits[0] == '-' {
		digits, negative = digits[1:], true
	}
	whole, fraction, err := cutPoint(text, digits)
	if err != nil {
		return 0, err
	}
	for len(fraction) > decimals {
		if fraction[len(fraction)-1] != '0' {
			return 0, &scoreError{ErrInexact, fmt.Sprintf("at most %d decimals expected, got %q", decimals, clip(text))}
		}
		fraction = fraction[:len(fraction)-1]
	}
	var score int64
	fits := true
	take := func(digit int64) {
		if fits {
			score, fits = shiftIn(score, digit, negative)
		}
	}
	for i := range len(whole) {
		take(int64(whole[i] - '0'))
	}
	for i := range decimals {
		if i < len(fraction) {
			take(int64(fraction[i] - '0'))
		} else {
			take(0)
		}
	}
	if !fits {
		return 0, &scoreError{ErrOverflow, fmt.Sprintf("%q with %d decimals does not fit into 64 bits", clip(text), decimals)}
	}
	return score, nil
}

// cutPoint parts digits (text without its sign) at the point and refuses all else.
func cutPoint(text, digits string) (whole, fraction string, err error) {
	if text == "" {
		return "", "", notNumber("a number expected, got none")
	}
	point := -1
	for i := range len(digits) {
		switch c := digits[i]; {
		case c >= '0' && c <= '9':
		case c == '.' && point < 0:
			point = i
		default:
			return "", "", notNumber("a decimal number such as -12.5 expected, got %q", clip(text))
		}
	}
	whole, fraction = digits, ""
	if point >= 0 {
		whole, fraction = digits[:point], digits[point+1:]
	}
	if whole == "" || point >= 0 && fraction == "" {
		return "", "", notNumber("digits expected on both sides of the point, got %q", clip(text))
	}
	return whole, fraction, nil
}

// shiftIn is 10·score ± digit, and whether it fits.
func shiftIn(score, digit int64, negative bool) (int64, bool) {
	if score > math.MaxInt64/10 || score < math.MinInt64/10 {
		return 0, false
	}
	if negative {
		digit = -digit
	}
	return add(10*score, digit)
}

// mostDigits is how many decimal digits every float64 keeps.
const mostDigits = 1e15

// floatScore takes f for the shortest decimal number that reads back as f, as people and
// encoders write it: 12.345, not the binary fraction next to it. A float that is not whole
// and has more than 15 digits is refused, because it stands for several numbers.
func floatScore(f float64, decimals int) (int64, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, notNumber("a finite number expected, got %v", f)
	}
	if f == math.Trunc(f) {
		return wholeScore(f, decimals)
	}
	if math.Abs(f)*math.Pow10(decimals) >= mostDigits {
		return 0, &scoreError{ErrInexact, fmt.Sprintf("%v does not say which number with %d decimals it is; send it as text", f, decimals)}
	}
	return parseDecimal(strconv.FormatFloat(f, 'f', -1, 64), decimals)
}

// wholeScore is exact: a whole float64 is one number.
func wholeScore(f float64, decimals int) (int64, error) {
	const limit = 1 << 63 // exact as a float64
	if f >= limit || f < -limit {
		return 0, &scoreError{ErrOverflow, fmt.Sprintf("%v does not fit into 64 bits", f)}
	}
	score, fits := int64(f), true
	for i := 0; i < decimals && fits; i++ {
		score, fits = shiftIn(score, 0, false)
	}
	if !fits {
		return 0, &scoreError{ErrOverflow, fmt.Sprintf("%v with %d decimals does not fit into 64 bits", f, decimals)}
	}
	return score, nil
}

// formatDecimal writes a score with all its decimals; parseDecimal reads it back.
func formatDecimal(score int64, decimals int) string {
	if decimals == 0 {
		return strconv.FormatInt(score, 10)
	}
	size, sign := uint64(score), ""
	if score < 0 {
		size, sign = -size, "-"
	}
	digits := fmt.Sprintf("%0*d", decimals+1, size)
	point := len(digits) - decimals
	return sign + digits[:point] + "." + digits[point:]
}
