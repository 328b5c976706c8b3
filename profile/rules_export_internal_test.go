package profile

import (
	"errors"
	"strings"
	"testing"
)

// What is skimmed is accepted exactly when it can be decoded.
func TestSkimmedIsDecoded(t *testing.T) {
	texts := []string{fullRecord, `{"format":7}`, `[]`, ``, string(record{epoch: 3, erased: ruleTime}.encode())}
	for _, data := range []string{
		`{}`, `{"a":123456789012345678}`, `{"a":9223372036854775807}`, `{"a":9223372036854775808}`, `{"a":-99999999999999999999}`,
		`{"a":1e5}`, `{"a":1E999}`, `{"a":1.5e-400}`, `{"a":"12e999"}`, `{"a":"99999999999999999999"}`, `{"a":0.12345678901234567890123}`,
		`[1e999]`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{"a":`, `{"a":"\ud800"}`, strings.Repeat("[", 200) + strings.Repeat("]", 200),
	} {
		texts = append(texts, strings.Replace(fullRecord, `{"big":9223372036854775807,"coins":7,"half":0.5,"name":"Zoë","one":1.0,"small":-9223372036854775808}`, data, 1))
	}
	for _, text := range texts {
		want, err := decodeRecord([]byte(text))
		got := skimmed([]byte(text))
		switch {
		case err == nil && !want.erased.IsZero():
			if !errors.Is(got, ErrNoProfile) {
				t.Errorf("%s: %v, want ErrNoProfile", text, got)
			}
		case (err == nil) != (got == nil):
			t.Errorf("%s: %v, but decoded: %v", text, got, err)
		}
	}
}
