package server_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// number is a JSON number.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)

// Whatever comes as a score over the wire is refused as the caller's mistake, or is on the board
// exactly as it was written: no rounding, no double, no zero for what is missing.
func FuzzBoardSubmit(f *testing.F) {
	for _, score := range []string{
		"0", "-0", "7", "9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
		"1e3", "1e300", "1.5", "12.345", "1e-3", "NaN", "Infinity", "null", `"12"`, `""`, "[]", "", "0x10", "1_000", "true", " 5 ",
	} { // cases B11 to B14
		f.Add("ann", score, false)
		f.Add("bob", score, true)
	}
	f.Add("", "1", false)
	f.Add("../x", "1", false)
	f.Add("ann\x00", "1", true)

	d := startDaemon(f, setup{boards: map[string]board.Config{
		"whole": {Rule: store.Last, CacheFor: -1}, "laps": {Rule: store.Last, Decimals: 3, CacheFor: -1},
	}})
	f.Cleanup(func() { d.t = f })
	f.Fuzz(func(t *testing.T, key, score string, decimal bool) {
		d.t = t
		name, member, decimals := "whole", "score", 0
		if decimal {
			name, member, decimals = "laps", "decimal", 3
			if text, err := json.Marshal(score); err == nil && !strings.HasPrefix(score, `"`) {
				score = string(text)
			}
		}
		quoted, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		a := d.call("BoardService/Submit", fmt.Sprintf(`{"board":%q,"entries":[{"key":%s,%q:%s}]}`, name, quoted, member, score))
		if a.status != http.StatusOK {
			if a.status < 400 || a.status >= 500 || !strings.Contains(a.body, `"reason"`) {
				t.Fatalf("%q %s: %d %s", key, score, a.status, a.body)
			}
			return
		}
		want, ok := meant(score, decimals)
		if !ok {
			t.Fatalf("%q was taken for a score", score)
		}
		d.flush()
		got, err := d.boards.Scores(t.Context(), name, key)
		if err != nil || !want.IsInt64() || got[key].Score != want.Int64() {
			t.Fatalf("%q %s: the board has %+v, %v, want %v", key, score, got, err, want)
		}
	})
}

// meant is the score that a text stands for, in the smallest unit.
func meant(text string, decimals int) (*big.Int, bool) {
	text = strings.TrimSpace(text)
	if s := ""; json.Unmarshal([]byte(text), &s) == nil && text != "null" {
		text = s
	}
	if !number.MatchString(text) && !regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`).MatchString(text) {
		return nil, false
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, false
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)))
	return r.Num(), r.IsInt()
}
