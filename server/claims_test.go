package server_test

import (
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/memstore"
)

// open loads profiles of the set players.
func (d *daemon) open(keys ...string) {
	d.t.Helper()
	for _, key := range keys {
		if got := d.call("ProfileService/Load", `{"set":"players","key":"`+key+`"}`); got.status != 200 {
			d.t.Fatalf("%s: %d %s", key, got.status, got.body)
		}
	}
}

// coins are those of a profile, wherever it is.
func (d *daemon) coins(key string) string {
	d.t.Helper()
	return d.call("ProfileService/Get", `{"set":"players","key":"`+key+`"}`).field(d.t, "/profile/data/coins").String()
}

// rich are sessions that begin with ten coins; gems only come by receipts.
func rich() profile.Options {
	return profile.Options{
		Template:       doc.Must(map[string]any{"coins": 10}),
		SourcePolicies: []profile.SourcePolicy{{Path: doc.P("gems"), Allow: []profile.SourceKind{"receipt"}, Raise: true}},
	}
}

// bad is a call that is refused, and changes nothing.
type bad struct {
	method, body string
	status       int
	code, reason string
	words        []string
}

// refuseAll makes the calls and looks whether anything has changed.
func (d *daemon) refuseAll(t *testing.T, calls []bad, keys ...string) {
	t.Helper()
	state := func() (out []string) {
		for _, key := range keys {
			got := d.call("ProfileService/Get", `{"set":"players","key":"`+key+`"}`)
			out = append(out, got.field(t, "/profile/revision").String(), got.field(t, "/profile/data").String())
		}
		return out
	}
	before := strings.Join(state(), " ")
	for _, c := range calls {
		t.Run(c.method+" "+c.body[:min(len(c.body), 90)], func(t *testing.T) {
			d.call(c.method, c.body).refused(t, c.status, c.code, c.reason, append(c.words, `"outcome":"not_done"`)...)
		})
	}
	if after := strings.Join(state(), " "); after != before {
		t.Errorf("changed:\n%s\n%s", before, after)
	}
}

func TestReceiptsAreGrantedOnce(t *testing.T) {
	engine := memstore.New(nil)
	d := startDaemon(t, setup{engine: engine, set: rich()})
	d.open("ann", "bob")
	const grant = `{"set":"players","key":"ann","receipt":"GPA.1","note":"ten gems","actor":"store","ops":[{"op":"increment","path":"/gems","by":10}]}`
	first := d.call("ProfileService/Grant", grant)
	first.is(t, "/repeated", "false", "/revision", "1")
	d.call("ProfileService/Grant", grant).is(t, "/repeated", "true", "/revision", "1", "/commit", first.field(t, "/commit").String(), "/time", first.field(t, "/time").String())
	d.call("ProfileService/Get", ann).is(t, "/profile/data", `{"coins":10,"gems":10}`)
	d.read("ProfileService/Receipt", `{"set":"players","receipt":"GPA.1","key":"ann"}`).is(t, "/revision", "1", "/epoch", "1", "/of", "true", "/commit", first.field(t, "/commit").String())
	d.read("ProfileService/Receipt", `{"set":"players","receipt":"GPA.1","key":"bob"}`).is(t, "/of", "false")
	if got := d.call("ProfileService/Receipt", `{"set":"players","receipt":"GPA.1"}`); got.status != 200 || strings.Contains(got.body, `"of"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	d.refuseAll(t, []bad{
		{"ProfileService/Grant", strings.Replace(grant, `"ann"`, `"bob"`, 1), 409, "already_exists", "receipt_taken", []string{"another profile"}},
		{"ProfileService/Grant", strings.Replace(grant, `"GPA.1"`, `"a/b"`, 1), 400, "invalid_argument", "bad_field", []string{`"field":"receipt"`}},
		{"ProfileService/Grant", strings.Replace(grant, `"GPA.1"`, `""`, 1), 400, "invalid_argument", "bad_field", []string{`"field":"receipt"`, "is empty"}},
		{"ProfileService/Grant", strings.Replace(grant, `"ann"`, `"eve"`, 1), 400, "failed_precondition", "not_open", nil},
		{"ProfileService/Grant", `{"set":"players","key":"ann","receipt":"2"}`, 400, "invalid_argument", "bad_field", []string{`"field":"ops"`}},
		{"ProfileService/Grant", `{"set":"players","key":"ann","receipt":"2","kind":"mail","ops":[]}`, 400, "invalid_argument", "bad_field", []string{`"field":"kind"`, "the library's own"}},
		{"ProfileService/Grant", `{"set":"players","key":"ann","receipt":"2","kind":"a b","ops":[]}`, 400, "invalid_argument", "bad_field", []string{`"field":"kind"`}},
		{"ProfileService/Grant", `{"set":"players","key":"ann","receipt":"2","kind":"game","ops":[{"op":"increment","path":"/gems","by":1}]}`, 403, "permission_denied", "closed_to_source", []string{`"path":"/gems"`}},
		{"ProfileService/Grant", `{"set":"players","key":"ann","receipt":"2","ops":[{"op":"increment","path":"/coins","by":-11,"min":0}]}`, 400, "failed_precondition", "refused_operation", []string{`"field":"ops[0]"`, `"path":"/coins"`}},
		{"ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"increment","path":"/gems","by":1}]}`, 403, "permission_denied", "closed_to_source", nil},
		{"ProfileService/Receipt", `{"set":"players","receipt":"2"}`, 404, "not_found", "no_receipt", nil},
		{"ProfileService/Receipt", `{"set":"player","receipt":"2"}`, 404, "not_found", "unknown_set", nil},
		{"ProfileService/Receipt", `{"set":"players"}`, 400, "invalid_argument", "bad_field", []string{`"field":"receipt"`}},
		{"ProfileService/Receipt", `{"set":"players","receipt":"2","key":"/"}`, 400, "invalid_argument", "bad_field", []string{`"field":"key"`}},
	}, "ann", "bob")
	// Gems can be spent by all, and the kind of a transaction is the caller's word.
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"increment","path":"/gems","by":-1}]}`).is(t)
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","kind":"receipt","ops":[{"op":"increment","path":"/gems","by":1}]}`).is(t)

	// Wherever the player goes next, the receipt is known.
	e := startDaemon(t, setup{engine: engine, set: rich()})
	e.open("ann")
	e.call("ProfileService/Grant", grant).is(t, "/repeated", "true", "/revision", "1")
	e.call("ProfileService/Get", ann).is(t, "/profile/data", `{"coins":10,"gems":10}`)
}

const swap = `{"id":"t1","note":"a rod for coins","parties":[
	{"set":"players","key":"ann","ops":[{"op":"increment","path":"/coins","by":-4,"min":0},{"op":"set","path":"/rod","value":true}]},
	{"set":"players","key":"bob","ops":[{"op":"increment","path":"/coins","by":4}]}]}`

func TestTradesAreAllOrNothing(t *testing.T) {
	d := startDaemon(t, setup{set: rich()})
	d.open("ann", "bob", "eve")
	d.call("ProfileService/Trade", swap).is(t, "/id", `"t1"`, "/repeated", "false",
		"/parties", `[{"key":"ann","revision":1,"set":"players"},{"key":"bob","revision":1,"set":"players"}]`)
	d.call("ProfileService/Trade", swap).is(t, "/repeated", "true", "/parties/1/revision", "1")
	if a, b := d.coins("ann"), d.coins("bob"); a != "6" || b != "14" {
		t.Errorf("%s and %s", a, b)
	}
	// All of it is stored.
	d.call("ProfileService/Save", ann).want(t, `{"revision":1}`)
	party := func(key, ops string) string { return `{"set":"players","key":"` + key + `"` + ops + `}` }
	trade := func(parties ...string) string {
		return `{"id":"t2","parties":[` + strings.Join(parties, ",") + `]}`
	}
	const give, take = `,"ops":[{"op":"increment","path":"/coins","by":-100,"min":0}]`, `,"ops":[{"op":"increment","path":"/coins","by":100}]`
	many := make([]string, 17)
	for i := range many {
		many[i] = party("ann", "")
	}
	d.refuseAll(t, []bad{
		{"ProfileService/Trade", strings.Replace(swap, `-4`, `-3`, 1), 409, "already_exists", "id_reused", nil},
		{"ProfileService/Trade", trade(), 400, "invalid_argument", "bad_field", []string{`"field":"parties"`, "2 to 16"}},
		{"ProfileService/Trade", trade(party("ann", take)), 400, "invalid_argument", "bad_field", []string{`"field":"parties"`}},
		{"ProfileService/Trade", trade(many...), 400, "invalid_argument", "bad_field", []string{`"field":"parties"`, "got 17"}},
		{"ProfileService/Trade", trade(party("ann", take), party("ann", take)), 400, "invalid_argument", "bad_field", []string{`"field":"parties[1]"`}},
		{"ProfileService/Trade", trade(party("ann", take), party("zoe", take)), 400, "failed_precondition", "not_open", []string{`"field":"parties[1].key"`}},
		{"ProfileService/Trade", trade(party("ann", take), `{"set":"x","key":"bob"}`), 404, "not_found", "unknown_set", []string{`"field":"parties[1].set"`}},
		{"ProfileService/Trade", trade(party("ann", take), party("bob", `,"ops":[{"op":"add"}]`)), 400, "invalid_argument", "bad_operation", []string{`"field":"parties[1].ops[0]"`}},
		{"ProfileService/Trade", trade(party("ann", take), party("bob", give)), 400, "failed_precondition", "refused_operation", []string{`"field":"parties[1].ops[0]"`, `"path":"/coins"`}},
		{"ProfileService/Trade", trade(party("ann", take), party("bob", `,"ops":[{"op":"set","path":"/gems","value":1}]`)), 403, "permission_denied", "closed_to_source", []string{`"field":"parties[1]"`, `"path":"/gems"`}},
		{"ProfileService/Trade", `{"note":"` + strings.Repeat("n", 1025) + `","parties":[]}`, 400, "invalid_argument", "bad_field", []string{`"field":"note"`}},
	}, "ann", "bob", "eve")
	d.call("ProfileService/Trade", `{"parties":[`+party("ann", "")+`,`+party("eve", take)+`]}`).is(t, "/repeated", "false", "/parties/1/revision", "1")
}

func TestEditsReachProfilesEverywhere(t *testing.T) {
	engine := memstore.New(nil)
	d, e := startDaemon(t, setup{engine: engine, set: rich()}), startDaemon(t, setup{engine: engine, set: rich()})
	d.open("ann")
	edit := func(id string) string {
		return `{"set":"players","key":"ann","id":"` + id + `","actor":"support","note":"sorry","ops":[{"op":"increment","path":"/coins","by":1}]}`
	}
	d.call("ProfileService/Edit", edit("e1")).is(t, "/id", `"e1"`, "/where", `"here"`, "/revision", "1", "/repeated", "false")
	e.call("ProfileService/Edit", edit("e2")).is(t, "/where", `"elsewhere"`, "/revision", "2")
	if got := e.call("ProfileService/Edit", edit("e1")); got.status != 200 || strings.Contains(got.body, "where") || got.field(t, "/repeated").String() != "true" {
		t.Errorf("%d %s", got.status, got.body)
	}
	const poor = `{"set":"players","key":"ann","id":"e3","ops":[{"op":"increment","path":"/coins","by":-100,"min":0}]}`
	e.call("ProfileService/Edit", poor).refused(t, 400, "failed_precondition", "edit_refused", "outside the bounds")
	d.call("ProfileService/Edit", strings.Replace(poor, "e3", "e4", 1)).refused(t, 400, "failed_precondition", "refused_operation", `"field":"ops[0]"`, `"path":"/coins"`)
	d.call("ProfileService/Release", ann).is(t)
	e.call("ProfileService/Edit", strings.Replace(edit(""), `"id":"",`, "", 1)).is(t, "/where", `"nowhere"`, "/repeated", "false")
	e.call("ProfileService/Edit", edit("e2")).is(t, "/repeated", "true", "/revision", "2")
	if got := d.coins("ann"); got != "13" {
		t.Errorf("%s coins", got)
	}
	e.refuseAll(t, []bad{
		{"ProfileService/Edit", strings.Replace(edit("e9"), `"ann"`, `"zoe"`, 1), 404, "not_found", "no_profile", nil},
		{"ProfileService/Edit", strings.Replace(edit("e2"), `"by":1`, `"by":2`, 1), 409, "already_exists", "id_reused", nil},
		{"ProfileService/Edit", edit("a/b"), 400, "invalid_argument", "bad_field", []string{`"field":"id"`}},
		{"ProfileService/Edit", `{"set":"players","key":"ann"}`, 400, "invalid_argument", "bad_field", []string{`"field":"ops"`}},
		{"ProfileService/Edit", `{"set":"players","key":"ann","kind":"system","ops":[]}`, 400, "invalid_argument", "bad_field", []string{`"field":"kind"`}},
		{"ProfileService/Edit", `{"set":"players","key":"ann","actor":"` + strings.Repeat("a", 129) + `"}`, 400, "invalid_argument", "bad_field", []string{`"field":"actor"`}},
	}, "ann")

	// Support's edits are in the audit log, newest first here; what the game did is not.
	got := d.read("ProfileService/Audit", `{"set":"players","key":"ann","reverse":true}`)
	got.is(t, "/entries/0/kind", `"operator"`, "/entries/0/actor", `"support"`, "/entries/0/note", `"sorry"`, "/entries/0/commits", "1",
		"/entries/1/claim", `"mail/e3"`, "/entries/1/edits", "[]", "/entries/2/claim", `"mail/e2"`, "/entries/2/edits", `[{"edit":"set","path":"/coins","value":12}]`, "/entries/2/paths", "[]")
	if n := got.field(t, "/entries").Len(); n < 3 {
		t.Errorf("%d entries: %s", n, got.body)
	}
	d.call("ProfileService/Audit", `{"set":"players","key":"ann","from":2,"limit":1}`).is(t, "/entries/0/revision", "2", "/entries/1", "null")
	d.call("ProfileService/Audit", `{"set":"players","key":"nobody"}`).want(t, `{"entries":[]}`)
	d.refuseAll(t, []bad{
		{"ProfileService/Audit", `{"set":"players"}`, 400, "invalid_argument", "bad_field", []string{`"field":"key"`}},
		{"ProfileService/Audit", `{"set":"players","key":"ann","limit":1001}`, 400, "invalid_argument", "bad_field", []string{`"field":"limit"`, "1 to 1000"}},
		{"ProfileService/Audit", `{"set":"players","key":"ann","limit":0}`, 400, "invalid_argument", "bad_field", []string{`"field":"limit"`}},
	})
}

func TestDryRunsChangeNothing(t *testing.T) {
	d := startDaemon(t, setup{set: rich()})
	d.open("ann")
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/hat","value":"red"}]}`).is(t)
	try := func(ops string) string {
		return `{"set":"players","key":"ann","returnData":true,"ops":[` + ops + `]}`
	}
	for _, live := range []string{"true", "false"} {
		d.read("ProfileService/DryRun", try(`{"op":"increment","path":"/coins","by":2}`)).is(t, "/accepted", "true", "/openHere", live,
			"/data", `{"coins":12,"hat":"red"}`, "/edits", `[{"edit":"set","path":"/coins","value":12}]`, "/complaints", "[]", "/more", "0")
		d.call("ProfileService/DryRun", try(`{"op":"set","path":"/gems","value":1}`)).is(t, "/accepted", "false", "/edits", "[]", "/data", `{"coins":10,"hat":"red"}`,
			"/complaints/0/path", `"/gems"`, "/complaints/0/guard", `"policy"`)
		d.call("ProfileService/DryRun", `{"set":"players","key":"ann","kind":"receipt","ops":[{"op":"set","path":"/gems","value":1}]}`).is(t, "/accepted", "true", "/data", "null")
		got := d.call("ProfileService/DryRun", try(`{"op":"increment","path":"/hat","by":1}`))
		got.is(t, "/accepted", "false", "/complaints/0/path", `"/hat"`, "/complaints/0/guard", "null")
		if got.field(t, "/complaints/0/problem").String() == `""` {
			t.Error(got.body)
		}
		d.refuseAll(t, []bad{
			{"ProfileService/DryRun", `{"set":"players","key":"zoe","ops":[{"op":"unset","path":"/a"}]}`, 404, "not_found", "no_profile", nil},
			{"ProfileService/DryRun", `{"set":"players","key":"ann"}`, 400, "invalid_argument", "bad_field", []string{`"field":"ops"`}},
			{"ProfileService/DryRun", `{"set":"players","key":"ann","kind":"mail","ops":[]}`, 400, "invalid_argument", "bad_field", []string{`"field":"kind"`}},
			{"ProfileService/DryRun", try(`5`), 400, "invalid_argument", "bad_operation", []string{`"field":"ops[0]"`}},
		}, "ann")
		if live == "true" {
			d.call("ProfileService/Release", ann).is(t, "/revision", "1")
		}
	}
}

func TestCommitsAreTakenBack(t *testing.T) {
	d := startDaemon(t, setup{set: rich()})
	d.open("ann")
	change := func(op string) {
		t.Helper()
		d.call("ProfileService/Transact", `{"set":"players","key":"ann","actor":"shop","ops":[`+op+`]}`).is(t)
	}
	change(`{"op":"set","path":"/hat","value":"red"}`)
	change(`{"op":"increment","path":"/coins","by":5}`)
	d.call("ProfileService/Grant", `{"set":"players","key":"ann","receipt":"r1","ops":[{"op":"increment","path":"/gems","by":10}]}`).is(t)
	list := d.read("ProfileService/History", ann)
	list.is(t, "/commits/0/id", `"1-1"`, "/commits/0/kind", `"game"`, "/commits/0/actor", `"shop"`, "/commits/0/claim", "null",
		"/commits/0/edits", `[{"edit":"set","path":"/hat","value":"red"}]`, "/commits/1/revision", "2", "/commits/2/claim", `"receipt/players/r1"`)
	const undo = `{"set":"players","key":"ann","commit":"1-2","id":"u1","returnData":true}`
	d.call("ProfileService/Undo", undo).is(t, "/revision", "4", "/commit", `"u1"`, "/repeated", "false", "/data", `{"coins":10,"gems":10,"hat":"red"}`)
	d.call("ProfileService/Undo", undo).is(t, "/revision", "4", "/repeated", "true", "/data/coins", "10")
	d.read("ProfileService/History", ann).is(t, "/commits/3/kind", `"operator"`, "/commits/3/note", `"undo of 1-2"`)
	change(`{"op":"set","path":"/hat","value":"blue"}`)
	d.refuseAll(t, []bad{
		{"ProfileService/Undo", `{"set":"players","key":"ann","revision":1}`, 409, "aborted", "changed_since", []string{`"path":"/hat"`}},
		{"ProfileService/Undo", `{"set":"players","key":"ann","commit":"1-9"}`, 404, "not_found", "not_in_history", nil},
		{"ProfileService/Undo", `{"set":"players","key":"ann","revision":3}`, 400, "failed_precondition", "claimed", []string{"receipt/players/r1", "force"}},
		{"ProfileService/Undo", ann, 400, "invalid_argument", "bad_field", []string{`"field":"commit"`}},
		{"ProfileService/Undo", `{"set":"players","key":"ann","commit":"1-1","revision":1}`, 400, "invalid_argument", "bad_field", []string{`"field":"revision"`}},
		{"ProfileService/Undo", `{"set":"players","key":"ann","commit":"1-1","note":"` + strings.Repeat("n", 1025) + `"}`, 400, "invalid_argument", "bad_field", []string{`"field":"note"`}},
		{"ProfileService/Rollback", ann, 400, "invalid_argument", "bad_field", []string{`"field":"revision"`, "is missing"}},
		{"ProfileService/Rollback", `{"set":"players","key":"ann","revision":99}`, 404, "not_found", "not_in_history", nil},
		{"ProfileService/Rollback", `{"set":"players","key":"ann","revision":1,"kind":"season"}`, 400, "invalid_argument", "bad_field", []string{`"field":"kind"`}},
	}, "ann")
	for _, method := range []string{"History", "Undo", "Rollback"} {
		d.call("ProfileService/"+method, `{"set":"players","key":"bob","revision":1}`[:len(`{"set":"players","key":"bob"`)]+"}").refused(t, 400, "failed_precondition", "not_open")
	}
	d.call("ProfileService/Rollback", `{"set":"players","key":"ann","revision":2,"returnData":true}`).is(t, "/revision", "6", "/data", `{"coins":15,"hat":"red"}`,
		"/takenBack/0/claim", `"receipt/players/r1"`, "/takenBack/2/revision", "5", "/takenBack/3", "null")
	d.call("ProfileService/Undo", `{"set":"players","key":"ann","revision":6,"kind":"receipt"}`).is(t)
	d.call("ProfileService/Undo", `{"set":"players","key":"ann","revision":3,"force":true,"returnData":true}`).is(t, "/data/gems", "null")
}
