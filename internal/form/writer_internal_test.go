package form

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

func TestAppendTimeIsTimeLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		if got, want := string(appendTime(nil, at)), Stamp(at).Format(TimeLayout); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

// The quick way for ordinary texts writes what the other one does.
func TestAppendTextIsTheEncodingOfTheString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[ -~]*`), rapid.String()).Draw(t, "text")
		if got, want := string(AppendText([]byte("x"), text)), "x"+doc.MustString(text).String(); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}
