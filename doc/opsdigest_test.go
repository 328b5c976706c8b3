package doc_test

import (
	"testing"

	"github.com/shoalworks/shoal/doc"
)

// Profiles and shared documents remember requests by this digest, so it may never change.
func TestOpsDigestStaysWhatItIs(t *testing.T) {
	got, err := doc.OpsDigest([]doc.Op{doc.Increment("/coins", 3), doc.Unset("/hat")})
	if want := "62516b1d7ddba8a0935072d83ab36675"; err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	swapped, err := doc.OpsDigest([]doc.Op{doc.Unset("/hat"), doc.Increment("/coins", 3)})
	if err != nil || swapped == got {
		t.Errorf("the order does not count: %s, %v", swapped, err)
	}
	if _, err := doc.OpsDigest([]doc.Op{{}}); err == nil {
		t.Error("an operation that is none has a digest")
	}
}
