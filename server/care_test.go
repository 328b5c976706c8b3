package server_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store/memstore"
)

func TestVersionsAreReadAndRestored(t *testing.T) {
	opts := rich()
	opts.VersionEvery = time.Nanosecond
	engine := memstore.New(nil)
	d := startDaemon(t, setup{engine: engine, set: opts})
	d.open("ann")
	for _, coins := range []string{"20", "30"} {
		d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/coins","value":`+coins+`}]}`).is(t)
		d.call("ProfileService/Save", ann).is(t)
	}
	d.call("ProfileService/Grant", `{"set":"players","key":"ann","receipt":"r1","ops":[{"op":"set","path":"/gems","value":1}]}`).is(t)
	list := d.read("ProfileService/Versions", ann)
	list.is(t, "/versions/0/revision", "1", "/versions/0/schema", "1", "/versions/0/data", "null", "/versions/1/revision", "2")
	if n := mustInt(t, list.field(t, "/versions/0/bytes")); n < 10 {
		t.Errorf("%s", list.body)
	}
	const one = `{"set":"players","key":"ann","revision":1}`
	d.read("ProfileService/Version", one).is(t, "/version/revision", "1", "/version/data", `{"coins":20}`)
	e := startDaemon(t, setup{engine: engine, set: opts})
	e.call("ProfileService/Restore", one).refused(t, 409, "aborted", "held", `"outcome":"not_done"`)
	const restore = `{"set":"players","key":"ann","revision":1,"id":"back","actor":"support"}`
	d.refuseAll(t, []bad{
		{"ProfileService/Version", ann, 400, "invalid_argument", "bad_field", []string{`"field":"revision"`}},
		{"ProfileService/Version", strings.Replace(one, "1", "9", 1), 404, "not_found", "no_version", nil},
		{"ProfileService/Versions", `{"set":"players"}`, 400, "invalid_argument", "bad_field", []string{`"field":"key"`}},
		{"ProfileService/Restore", ann, 400, "invalid_argument", "bad_field", []string{`"field":"revision"`}},
		{"ProfileService/Restore", strings.Replace(one, "1", "9", 1), 404, "not_found", "no_version", nil},
		{"ProfileService/Restore", strings.Replace(restore, `"support"`, `"support","kind":"mail"`, 1), 400, "invalid_argument", "bad_field", []string{`"field":"kind"`}},
		{"ProfileService/Restore", `{"set":"players","key":"zoe","revision":1}`, 404, "not_found", "no_profile", nil},
	}, "ann")
	d.call("ProfileService/Restore", restore).is(t, "/revision", "4", "/commit", `"back"`, "/kept", "3", "/repeated", "false", "/complete", "true", "/claimed/0/claim", `"receipt/players/r1"`)
	d.call("ProfileService/Get", ann).is(t, "/profile/data", `{"coins":20}`)
	d.call("ProfileService/Restore", restore).is(t, "/revision", "4", "/repeated", "true", "/kept", "null")
	d.call("ProfileService/Version", strings.Replace(one, "1", "3", 1)).is(t, "/version/data", `{"coins":30,"gems":1}`)
	d.call("ProfileService/Release", ann).is(t)
	e.call("ProfileService/Restore", `{"set":"players","key":"ann","revision":3,"kind":"receipt"}`).is(t, "/kept", "4")
	e.call("ProfileService/Get", ann).is(t, "/profile/data", `{"coins":30,"gems":1}`, "/openHere", "false")
}

func TestSessionsElsewhereAreEnded(t *testing.T) {
	engine := memstore.New(nil)
	d, e := startDaemon(t, setup{engine: engine, set: rich()}), startDaemon(t, setup{engine: engine, set: rich()})
	d.open("ann")
	d.call("ProfileService/Save", ann).is(t)
	sess, _ := d.set.Session("ann")
	const end = `{"set":"players","key":"ann","confirm":"ann","actor":"ops","note":"stuck"}`
	for _, c := range []bad{
		{"ProfileService/ReleaseHeld", strings.Replace(end, `"confirm":"ann"`, `"confirm":"bob"`, 1), 400, "invalid_argument", "bad_field", []string{`"field":"confirm"`}},
		{"ProfileService/ReleaseHeld", ann, 400, "invalid_argument", "bad_field", []string{`"field":"confirm"`}},
		{"ProfileService/ReleaseHeld", strings.Replace(end, `"note":"stuck"`, `"kind":"season"`, 1), 400, "invalid_argument", "bad_field", []string{`"field":"kind"`}},
		{"ProfileService/ReleaseHeld", strings.ReplaceAll(end, "ann", "zoe"), 404, "not_found", "no_profile", nil},
	} {
		e.call(c.method, c.body).refused(t, c.status, c.code, c.reason, c.words...)
	}
	d.call("ProfileService/ReleaseHeld", end).refused(t, 409, "already_exists", "already_open")
	e.call("ProfileService/ReleaseHeld", end).is(t, "/holder", `"`+d.node.ID()+`"`, "/epoch", "1", "/recovered", "false")
	<-sess.Done()
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"unset","path":"/a"}]}`).refused(t, 400, "failed_precondition", "not_open")
	e.call("ProfileService/ReleaseHeld", end).is(t, "/holder", "null", "/epoch", "0")
	e.read("ProfileService/Audit", ann).is(t, "/entries/0/id", `""`, "/entries/0/actor", `"ops"`, "/entries/0/kind", `"operator"`)
}

func TestAPersonIsErased(t *testing.T) {
	d := startDaemon(t, setup{set: rich()})
	d.open("ann")
	d.call("MailService/Send", plea).is(t)
	d.call("ProfileService/Edit", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/name","value":"Ann"}]}`).is(t)
	const erase = `{"set":"players","key":"ann","confirm":"ann","actor":"privacy"}`
	for _, c := range []bad{
		{"ProfileService/Erase", ann, 400, "invalid_argument", "bad_field", []string{`"field":"confirm"`}},
		{"ProfileService/Erase", `{"set":"players","key":"","confirm":""}`, 400, "invalid_argument", "bad_field", []string{`"field":"key"`}},
		{"ProfileService/Erase", strings.Replace(erase, `"privacy"`, `"`+strings.Repeat("p", 129)+`"`, 1), 400, "invalid_argument", "bad_field", []string{`"field":"actor"`}},
	} {
		d.call(c.method, c.body).refused(t, c.status, c.code, c.reason, append(c.words, `"outcome":"not_done"`)...)
	}
	fail := errors.New("the other store is down")
	d.set.OnErase(func(_ context.Context, key string) error { return fail })
	d.call("ProfileService/Erase", erase).refused(t, 500, "internal", "internal", `"outcome":"unknown"`)
	fail = nil
	d.call("ProfileService/Erase", erase).is(t, "/found", "true")
	d.call("ProfileService/Get", ann).refused(t, 404, "not_found", "no_profile")
	d.call("MailService/List", ann).want(t, `{"mails":[]}`)
	d.call("ProfileService/Erase", erase).is(t, "/mail", "0")
	d.call("ProfileService/Load", ann).is(t, "/profile/data", `{"coins":10}`)
}
