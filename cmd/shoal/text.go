package main

import (
	"math"
	"strconv"
	"strings"
)

// clip is a text in so many bytes, with a mark when that is not all.
func clip(s string, width int) string {
	if len(s) <= width {
		return s
	}
	return strings.ToValidUTF8(s[:width-1], "") + "…"
}

// percent is a share for people, rounded up so that it never promises too much: in two
// decimals, and in two digits when it is less than that shows.
func percent(x float64) string {
	unit := 100.0
	for x > 0 && x*unit < 10 && unit < 1e12 {
		unit *= 10
	}
	return strconv.FormatFloat(math.Ceil(x*unit-1e-9)/unit, 'f', -1, 64) + "%"
}
