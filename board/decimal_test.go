package board_test

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/board"
)

func TestParseDecimal(t *testing.T) {
	for _, c := range []struct {
		text     string
		decimals int
		want     int64
	}{
		{"0", 0, 0},
		{"0", 3, 0},
		{"-0", 3, 0},
		{"12.345", 3, 12345},
		{"12.3", 3, 12300},
		{"12", 3, 12000},
		{"-0.001", 3, -1},
		{"12.34500000", 3, 12345},
		{"7.000", 0, 7},
		{"00012", 0, 12},
		{"9223372036854775807", 0, math.MaxInt64},
		{"-9223372036854775808", 0, math.MinInt64},
		{"9223372036854775.807", 3, math.MaxInt64},
		{"-9.223372036854775808", 18, math.MinInt64},
		{strings.Repeat("0", 500) + "1", 0, 1},
	} {
		got, err := board.ParseDecimal(c.text, c.decimals)
		if err != nil || got != c.want {
			t.Errorf("%q with %d decimals: %d, %v, want %d", c.text, c.decimals, got, err, c.want)
		}
	}
}

func TestParseDecimalRefuses(t *testing.T) {
	// case B12, case B13, case B14
	for _, c := range []struct {
		text     string
		decimals int
		want     error
	}{
		{"", 0, board.ErrNotNumber},
		{"-", 0, board.ErrNotNumber},
		{".", 3, board.ErrNotNumber},
		{".5", 3, board.ErrNotNumber},
		{"5.", 3, board.ErrNotNumber},
		{"1.2.3", 3, board.ErrNotNumber},
		{"1,5", 3, board.ErrNotNumber},
		{" 1", 0, board.ErrNotNumber},
		{"+1", 0, board.ErrNotNumber},
		{"--1", 0, board.ErrNotNumber},
		{"NaN", 3, board.ErrNotNumber},
		{"Infinity", 3, board.ErrNotNumber},
		{"1e300", 3, board.ErrNotNumber},
		{"0x10", 0, board.ErrNotNumber},
		{"١٢", 0, board.ErrNotNumber},
		{"12.3456", 3, board.ErrInexact},
		{"0.5", 0, board.ErrInexact},
		{"9223372036854775808", 0, board.ErrOverflow},
		{"-9223372036854775809", 0, board.ErrOverflow},
		{"9223372036854775807", 1, board.ErrOverflow},
		{"1" + strings.Repeat("0", 300), 0, board.ErrOverflow},
	} {
		if got, err := board.ParseDecimal(c.text, c.decimals); !errors.Is(err, c.want) || err.Error() == "" {
			t.Errorf("%q with %d decimals: %d, %v, want %v", c.text, c.decimals, got, err, c.want)
		}
	}
}

func TestFloatScore(t *testing.T) {
	for _, c := range []struct {
		f        float64
		decimals int
		want     int64
	}{
		{12.345, 3, 12345},
		{-12.345, 3, -12345},
		{0.1, 1, 1},
		{math.Copysign(0, -1), 3, 0},
		{1 << 53, 0, 1 << 53},
		{1 << 62, 0, 1 << 62},
		{-(1 << 63), 0, math.MinInt64},
		{1e15, 3, 1e18},
		{999999999999.999, 3, 999999999999999},
		{5e-324, 18, 0},
	} {
		got, err := board.FloatScore(c.f, c.decimals)
		if c.f == 5e-324 {
			if !errors.Is(err, board.ErrInexact) {
				t.Errorf("the smallest float: %d, %v, want ErrInexact", got, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%v with %d decimals: %d, %v, want %d", c.f, c.decimals, got, err, c.want)
		}
	}
}

func TestFloatScoreRefuses(t *testing.T) {
	// case B11, case B12
	for _, c := range []struct {
		f        float64
		decimals int
		want     error
	}{
		{math.NaN(), 3, board.ErrNotNumber},
		{math.Inf(1), 3, board.ErrNotNumber},
		{math.Inf(-1), 0, board.ErrNotNumber},
		{1e300, 0, board.ErrOverflow},
		{-1e300, 3, board.ErrOverflow},
		{1 << 63, 0, board.ErrOverflow},
		{math.Nextafter(-(1 << 63), math.Inf(-1)), 0, board.ErrOverflow},
		{1e16, 3, board.ErrOverflow},
		{0.5, 0, board.ErrInexact},
		{12.3456, 3, board.ErrInexact},
		{0.1 + floatNoise(), 1, board.ErrInexact},
		{1125899906842624.25, 1, board.ErrInexact}, // two decimals, and past what a float tells apart
		{4503599627370495.5, 1, board.ErrInexact},
	} {
		if got, err := board.FloatScore(c.f, c.decimals); !errors.Is(err, c.want) {
			t.Errorf("%v with %d decimals: %d, %v, want %v", c.f, c.decimals, got, err, c.want)
		}
	}
}

// floatNoise is what is left of arithmetic on decimal fractions.
func floatNoise() float64 {
	a, b := 0.1, 0.2
	return (a + b) - 0.3
}

func TestFormatDecimal(t *testing.T) {
	for _, c := range []struct {
		score    int64
		decimals int
		want     string
	}{
		{12345, 3, "12.345"},
		{12300, 3, "12.300"},
		{-1, 3, "-0.001"},
		{0, 2, "0.00"},
		{42, 0, "42"},
		{math.MinInt64, 0, "-9223372036854775808"},
		{math.MinInt64, 3, "-9223372036854775.808"},
		{math.MaxInt64, 18, "9.223372036854775807"},
	} {
		want(t, "the text", board.FormatDecimal(c.score, c.decimals), c.want)
	}
}

// A score is what it says, exactly: read by another arithmetic.
func TestDecimalsEqualRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		decimals := rapid.IntRange(0, 18).Draw(t, "decimals")
		score := rapid.Int64().Draw(t, "score")
		text := board.FormatDecimal(score, decimals)
		scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil))
		number, ok := new(big.Rat).SetString(text)
		if !ok || number.Mul(number, scale).Cmp(new(big.Rat).SetInt64(score)) != 0 {
			t.Fatalf("%d with %d decimals reads %q", score, decimals, text)
		}
		if back, err := board.ParseDecimal(text, decimals); err != nil || back != score {
			t.Fatalf("%q comes back as %d, %v, want %d", text, back, err, score)
		}
	})
}

// Every number of at most 15 digits survives the way through a float64.
func TestFloatsKeepShortDecimals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		decimals := rapid.IntRange(0, 6).Draw(t, "decimals")
		score := rapid.Int64Range(-999_999_999_999_999, 999_999_999_999_999).Draw(t, "score")
		f, err := strconv.ParseFloat(board.FormatDecimal(score, decimals), 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := board.FloatScore(f, decimals); err != nil || got != score {
			t.Fatalf("%v with %d decimals: %d, %v, want %d", f, decimals, got, err, score)
		}
	})
}

func FuzzParseDecimal(f *testing.F) {
	for _, text := range []string{"", "0", "-12.345", "1e300", "9223372036854775808", "NaN", "1.10", ".5"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, decimals int) {
		decimals = int(uint(decimals) % 19)
		got, err := board.ParseDecimal(text, decimals)
		if err != nil {
			if !errors.Is(err, board.ErrNotNumber) && !errors.Is(err, board.ErrInexact) && !errors.Is(err, board.ErrOverflow) {
				t.Fatalf("%q: an error of no kind: %v", text, err)
			}
			return
		}
		exact, ok := new(big.Rat).SetString(text)
		scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil))
		if !ok || exact.Mul(exact, scale).Cmp(new(big.Rat).SetInt64(got)) != 0 {
			t.Fatalf("%q with %d decimals was taken for %d", text, decimals, got)
		}
	})
}

func FuzzFloatScore(f *testing.F) {
	for _, v := range []float64{0, 12.345, -0.1, 1e300, math.NaN(), math.Inf(1), 1 << 53, 4503599627370495.5} {
		f.Add(v, 3)
	}
	f.Fuzz(func(t *testing.T, v float64, decimals int) {
		decimals = int(uint(decimals) % 19)
		got, err := board.FloatScore(v, decimals)
		if err != nil {
			return
		}
		back, err := strconv.ParseFloat(board.FormatDecimal(got, decimals), 64)
		if err != nil || back != v && (back != 0 || v != 0) {
			t.Fatalf("%v with %d decimals was taken for %d, which is %v", v, decimals, got, back)
		}
	})
}
