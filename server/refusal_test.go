package server_test

import (
	"errors"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/server"
)

// A refused transaction tells all its complaints, with the place of the first.
func TestRefusedTransactionsTellEveryComplaint(t *testing.T) {
	d := startDaemon(t, setup{set: profile.Options{
		HardBytes: 500,
		Derived: []profile.Derived{{Path: doc.MustPath("/level"), Inputs: []doc.Path{doc.MustPath("/xp")}, Compute: func(in []doc.Value) (doc.Value, error) {
			xp, _ := in[0].AsInt()
			return doc.Int(xp / 100), nil
		}}},
		SourcePolicies: []profile.SourcePolicy{{Path: doc.MustPath("/gems"), Allow: []profile.SourceKind{"receipt"}}},
		Guards: []profile.Guard{{Name: "fair", Check: func(c profile.Change) []profile.Violation {
			if xp, _, _ := c.After.Lookup("/xp"); xp.Equal(doc.Int(7)) {
				return []profile.Violation{{Path: doc.MustPath("/xp"), Problem: "seven is not fair"}}
			}
			return nil
		}}},
	}})
	d.call("ProfileService/Load", ann).is(t, "/profile/data", `{"level":0}`)
	transact := func(ops string) answer {
		return d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[`+ops+`]}`)
	}
	transact(`{"op":"increment","path":"/a/b","by":1},{"op":"set","path":"/level","value":9},{"op":"remove","path":"/list","index":0}`).
		refused(t, 400, "failed_precondition", "refused_operation", `3 complaints: \"/a/b\": op 0`, `\"/level\": op 1, set: a derived field`, `\"/list\": op 2, remove`, "ops[0]")
	transact(`{"op":"increment","path":"/a/b","by":1}`).refused(t, 400, "failed_precondition", "refused_operation", "ops[0]", "/a/b")
	transact(`{"op":"set","path":"/gems","value":1},{"op":"set","path":"/xp","value":7}`).
		refused(t, 403, "permission_denied", "closed_to_source", `\"/gems\": policy: a source of kind \"game\" may not change it; allowed: receipt`, `\"/xp\": fair: seven is not fair`)
	transact(`{"op":"set","path":"/xp","value":7}`).refused(t, 400, "failed_precondition", "invalid_data", "seven is not fair")
	d.call("ProfileService/Get", ann).is(t, "/profile/data", `{"level":0}`)
	transact(`{"op":"set","path":"/xp","value":250}`).is(t)
	d.call("ProfileService/Get", ann).is(t, "/profile/data", `{"level":2,"xp":250}`)
}

// The complaint decides the reason, not that it is one of a refusal.
func TestReasonsOfRefusals(t *testing.T) {
	op := &doc.OpError{Index: 3, Err: doc.ErrMismatch}
	for want, v := range map[string]profile.Violation{
		"mismatch":         {Err: op},
		"invalid_data":     {Guard: "reaction", Err: errors.Join(profile.ErrReaction, op)},
		"data_too_large":   {Guard: "size", Err: &profile.SizeError{}},
		"closed_to_source": {Guard: "policy", Err: profile.ErrPolicy},
	} {
		for _, more := range []int{0, 1} {
			err := error(&profile.RefusedError{Violations: append([]profile.Violation{v}, make([]profile.Violation, more)...)})
			if got := server.Reason(err); got != want {
				t.Errorf("%v and %d more: %s, want %s", v, more, got, want)
			}
		}
	}
}
