package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
)

const plea = `{"set":"players","key":"ann","mail":{"id":"m1","kind":"plea","from":"bob","note":"poor bob","body":{"n":9007199254740993}}}`

func TestMailIsSentListedAndHandled(t *testing.T) {
	d := startDaemon(t, setup{set: rich()})
	d.open("ann", "bob")
	d.call("MailService/Send", plea).want(t, `{"id":"m1","repeated":false}`)
	d.call("MailService/Send", plea).want(t, `{"id":"m1","repeated":true}`)
	sent := d.call("MailService/Send", `{"set":"players","key":"bob","mail":{"ops":[{"op":"increment","path":"/coins","by":3}]}}`)
	if id, _ := sent.field(t, "/id").AsString(); sent.status != 200 || len(id) != 36 {
		t.Errorf("%d %s", sent.status, sent.body)
	}
	list := d.read("MailService/List", ann)
	list.is(t, "/mails/0/id", `"m1"`, "/mails/0/kind", `"plea"`, "/mails/0/from", `"bob"`, "/mails/0/note", `"poor bob"`,
		"/mails/0/body", `{"n":9007199254740993}`, "/mails/0/ops", "null", "/mails/1", "null", "/next", "null", "/problem", "null")
	if list.field(t, "/mails/0/time").String() == "null" {
		t.Error(list.body)
	}
	const handle = `{"set":"players","key":"ann","id":"m1","ops":[{"op":"increment","path":"/coins","by":-2,"min":0}]}`
	d.call("MailService/Handle", handle).want(t, `{"revision":1,"repeated":false}`)
	d.call("MailService/Handle", handle).want(t, `{"revision":1,"repeated":true}`)
	d.call("MailService/Handle", `{"set":"players","key":"ann","id":"m1","refuse":"too late"}`).want(t, `{"revision":1,"repeated":true}`)
	d.call("MailService/List", ann).want(t, `{"mails":[]}`)
	d.call("MailService/Send", plea).want(t, `{"id":"m1","repeated":true}`)
	d.call("MailService/Send", strings.Replace(plea, "m1", "m2", 1)).is(t)
	d.call("MailService/Handle", `{"set":"players","key":"ann","id":"m2","refuse":"no more"}`).want(t, `{"revision":2,"repeated":false,"refused":"no more"}`)
	d.call("MailService/Send", strings.Replace(plea, "m1", "m3", 1)).is(t)
	d.call("MailService/Handle", `{"set":"players","key":"ann","id":"m3","ops":[]}`).want(t, `{"revision":3,"repeated":false}`)
	d.read("ProfileService/History", ann).is(t, "/commits/0/kind", `"mail"`, "/commits/0/actor", `"bob"`, "/commits/0/claim", `"mail/m1"`)
	if got := d.coins("ann"); got != "8" {
		t.Errorf("%s coins", got)
	}
	d.call("MailService/Send", strings.Replace(plea, "m1", "m4", 1)).is(t)
	mail := func(members string) string { return `{"set":"players","key":"ann","mail":{` + members + `}}` }
	answer := func(members string) string { return `{"set":"players","key":"ann",` + members + `}` }
	d.refuseAll(t, []bad{
		{"MailService/Send", `{"set":"players","key":"ann"}`, 400, "invalid_argument", "bad_field", []string{`"field":"mail"`}},
		{"MailService/Send", `{"set":"players","key":"zoe","mail":{"kind":"plea"}}`, 404, "not_found", "no_profile", nil},
		{"MailService/Send", `{"set":"players","key":"/","mail":{"kind":"plea"}}`, 400, "invalid_argument", "bad_field", []string{`"field":"key"`}},
		{"MailService/Send", mail(``), 400, "invalid_argument", "bad_field", []string{`"field":"mail.kind"`}},
		{"MailService/Send", mail(`"kind":"shoal.edit"`), 400, "invalid_argument", "bad_field", []string{`"field":"mail.kind"`, "the library's own"}},
		{"MailService/Send", mail(`"kind":"a b"`), 400, "invalid_argument", "bad_field", []string{`"field":"mail.kind"`}},
		{"MailService/Send", mail(`"kind":"plea","id":"a/b"`), 400, "invalid_argument", "bad_field", []string{`"field":"mail.id"`}},
		{"MailService/Send", mail(`"kind":"plea","from":"` + strings.Repeat("f", 129) + `"`), 400, "invalid_argument", "bad_field", []string{`"field":"mail.from"`}},
		{"MailService/Send", mail(`"kind":"plea","note":"` + strings.Repeat("f", 1025) + `"`), 400, "invalid_argument", "bad_field", []string{`"field":"mail.note"`}},
		{"MailService/Send", mail(`"kind":"plea","time":"2026-08-11T00:00:00Z"`), 400, "invalid_argument", "bad_field", []string{`"field":"mail.time"`}},
		{"MailService/Send", mail(`"kind":"plea","body":` + strings.Repeat("[", 300) + strings.Repeat("]", 300)), 400, "invalid_argument", "bad_field", []string{`"field":"mail.body"`}},
		{"MailService/Send", mail(`"ops":[{"op":"add"}]`), 400, "invalid_argument", "bad_operation", []string{`"field":"mail.ops[0]"`}},
		{"MailService/Send", mail(`"kind":"plea","body":"` + strings.Repeat("x", 257<<10) + `"`), 413, "resource_exhausted", "too_large", []string{`"field":"mail"`}},
		{"MailService/Send", mail(`"kind":"other","id":"m4"`), 409, "already_exists", "id_reused", nil},
		{"MailService/List", `{"set":"players","key":"ann","limit":1001}`, 400, "invalid_argument", "bad_field", []string{`"field":"limit"`}},
		{"MailService/List", `{"set":"players","key":"ann","after":"/"}`, 400, "invalid_argument", "bad_field", []string{`"field":"after"`}},
		{"MailService/List", `{"set":"x","key":"ann"}`, 404, "not_found", "unknown_set", nil},
		{"MailService/Handle", answer(`"id":"m4"`), 400, "invalid_argument", "bad_field", []string{`"field":"ops"`}},
		{"MailService/Handle", answer(`"id":"m4","ops":[],"refuse":"no"`), 400, "invalid_argument", "bad_field", []string{`"field":"ops"`}},
		{"MailService/Handle", answer(`"id":"m4","refuse":""`), 400, "invalid_argument", "bad_field", []string{`"field":"refuse"`}},
		{"MailService/Handle", answer(`"id":"m4","refuse":"` + strings.Repeat("r", 1025) + `"`), 400, "invalid_argument", "bad_field", []string{`"field":"refuse"`}},
		{"MailService/Handle", answer(`"id":"","ops":[]`), 400, "invalid_argument", "bad_field", []string{`"field":"id"`}},
		{"MailService/Handle", answer(`"id":"m9","ops":[]`), 404, "not_found", "no_mail", nil},
		{"MailService/Handle", `{"set":"players","key":"eve","id":"m4","ops":[]}`, 400, "failed_precondition", "not_open", nil},
		{"MailService/Handle", answer(`"id":"m4","ops":[{"op":"increment","path":"/coins","by":-99,"min":0}]`), 400, "failed_precondition", "refused_operation", []string{`"field":"ops[0]"`}},
		{"MailService/Handle", answer(`"id":"m4","ops":[{"op":"set","path":"/gems","value":1}]`), 403, "permission_denied", "closed_to_source", nil},
	}, "ann")
	d.call("MailService/List", ann).is(t, "/mails/0/id", `"m4"`, "/mails/1", "null")
}

func TestMailIsListedInParts(t *testing.T) {
	d := startDaemon(t, setup{set: rich()})
	for i := range 25 {
		kind := fmt.Sprintf(`"kind":"plea","body":"%s"`, strings.Repeat("x", 200<<10))
		if i%5 == 0 {
			kind = `"ops":[{"op":"unset","path":"/a"}]`
		}
		d.call("MailService/Send", fmt.Sprintf(`{"set":"players","key":"ann","allowMissing":true,"mail":{"id":"m%02d",%s}}`, i, kind)).is(t)
	}
	list := func(members string) (ids []string) {
		t.Helper()
		after := ""
		for range 30 {
			got := d.call("MailService/List", `{"set":"players","key":"ann","after":"`+after+`"`+members+`}`)
			if got.status != 200 || len(got.body) > 5<<20 {
				t.Fatalf("%d, %d bytes", got.status, len(got.body))
			}
			for _, m := range got.field(t, "/mails").Items() {
				id, _ := m.Member("id")
				ids = append(ids, id.String())
			}
			if after, _ = got.field(t, "/next").AsString(); after == "" {
				return ids
			}
		}
		t.Fatal("it never ends")
		return nil
	}
	for _, members := range []string{"", `,"limit":1`, `,"limit":7`, `,"limit":25`} {
		if ids := list(members); len(ids) != 25 || ids[24] != `"m24"` {
			t.Errorf("%s: %v", members, ids)
		}
		if ids := list(members + `,"waiting":true`); len(ids) != 20 || ids[0] != `"m01"` {
			t.Errorf("%s: %v", members, ids)
		}
	}
	put(t, d, "mail/players/bob/x", `{"format":9}`)
	got := d.call("MailService/List", `{"set":"players","key":"bob"}`)
	if problem, _ := got.field(t, "/problem").AsString(); got.status != 200 || !strings.Contains(problem, "newer release") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestAFullBoxRefusesMail(t *testing.T) {
	d := startDaemon(t, setup{set: rich()})
	d.open("ann")
	d.call("ProfileService/Release", ann).is(t)
	for i := range 1000 {
		put(t, d, fmt.Sprintf("mail/players/ann/x%04d", i), `{"format":9}`)
	}
	d.call("MailService/Send", plea).refused(t, 429, "resource_exhausted", "box_full", "1000 mails", `"outcome":"not_done"`)
}

func TestGiftsAreBothOrNeither(t *testing.T) {
	d := startDaemon(t, setup{set: rich()})
	d.open("ann", "bob")
	const gift = `{"set":"players","key":"bob","to":"ann","note":"for the rod","ops":[{"op":"increment","path":"/coins","by":-4,"min":0}],
		"mail":{"id":"g1","from":"bob","ops":[{"op":"increment","path":"/coins","by":4}]}}`
	d.call("MailService/Gift", gift).want(t, `{"id":"g1","repeated":false,"revision":1}`)
	d.call("MailService/Gift", gift).is(t, "/repeated", "true")
	sess, _ := d.set.Session("ann")
	w, err := sess.Watch(0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for { // the mail has arrived, or does now
		e, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		data := e.Snapshot
		if e.Commit != nil {
			data = e.Commit.Data
		}
		if n, _ := data.Get(doc.P("coins")); n.String() == "14" {
			break
		}
	}
	if a, b := d.coins("ann"), d.coins("bob"); a != "14" || b != "6" {
		t.Errorf("%s and %s", a, b)
	}
	other := strings.Replace(gift, "g1", "g2", 1)
	d.refuseAll(t, []bad{
		{"MailService/Gift", strings.Replace(other, `"by":-4`, `"by":-7`, 1), 400, "failed_precondition", "refused_operation", []string{`"field":"ops[0]"`, `"path":"/coins"`}},
		{"MailService/Gift", strings.Replace(other, `"to":"ann"`, `"to":"zoe"`, 1), 404, "not_found", "no_profile", nil},
		{"MailService/Gift", strings.Replace(other, `"to":"ann"`, `"to":""`, 1), 400, "invalid_argument", "bad_field", []string{`"field":"to"`}},
		{"MailService/Gift", strings.Replace(other, `"key":"bob"`, `"key":"zoe"`, 1), 400, "failed_precondition", "not_open", nil},
		{"MailService/Gift", strings.Replace(other, `"note":"for the rod"`, `"kind":"mail"`, 1), 400, "invalid_argument", "bad_field", []string{`"field":"kind"`}},
		{"MailService/Gift", `{"set":"players","key":"bob","to":"ann","mail":{"kind":"plea"}}`, 400, "invalid_argument", "bad_field", []string{`"field":"ops"`}},
		{"MailService/Gift", `{"set":"players","key":"bob","to":"ann","ops":[{"op":"unset","path":"/a"}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"mail"`}},
	}, "ann", "bob")
}
