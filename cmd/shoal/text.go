package main

import (
	"math"
	"strconv"
	"strings"

	"github.com/shoalworks/shoal/internal/name"
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
	return strconv.FormatFloat(max(0, math.Ceil(x*unit-1e-9)/unit), 'f', -1, 64) + "%"
}

// keyBefore is the last of all keys that come before a key, in the order of their bytes; empty
// when there is none. What is listed behind it begins with the key, if the key is in the list.
func keyBefore(key string) string {
	if key == "" {
		return ""
	}
	last := len(key) - 1
	for c := int(key[last]) - 1; c > 0; c-- {
		one := key[:last] + string(rune(c))
		if name.CheckKey("key", one) == nil {
			return one + strings.Repeat("~", name.MaxKey-len(one))
		}
	}
	return key[:last]
}
