package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/server"
)

// Whatever comes as a list of operations is refused with a reason for callers, or can be
// written as it was understood.
func FuzzParseOps(f *testing.F) {
	for _, seed := range []string{
		`[{"op":"set","path":"/a","value":9007199254740993}]`,
		`[{"op":"increment","path":"/a/b","by":1.5,"min":0,"max":10,"clamp":true},{"op":"unset","path":""}]`,
		`[{"op":"append","path":"/l","items":[1]},{"op":"insert","path":"/l","index":0,"value":null},{"op":"remove","path":"/l","index":0}]`,
		`[{"op":"compareAndSet","path":"/a","value":1},{"op":"compareAndUnset","path":"/a","old":{}},{"op":"merge","path":"","value":{}}]`,
		`[`, `{}`, `[] []`, `[5]`, ` `, "[\"\xff\"]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ops, err := server.ParseOps(text)
		if err != nil {
			if r := server.Reason(err); r != "bad_field" && r != "bad_operation" {
				t.Fatalf("%q: %s: %v", text, r, err)
			}
			return
		}
		again, err := json.Marshal(ops)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if _, err := server.ParseOps(string(again)); err != nil {
			t.Fatalf("%q was written as %s: %v", text, again, err)
		}
		if strings.TrimSpace(text) == "" || len(ops) == 0 {
			t.Fatalf("%q is no list of operations", text)
		}
	})
}
