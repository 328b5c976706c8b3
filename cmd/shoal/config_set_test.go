package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	main "github.com/shoalworks/shoal/cmd/shoal"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

func TestWhatASetKeeps(t *testing.T) {
	_, _, opts, err := main.Options(file(t, `sets:
  players:
    history: -1
    historyBytes: 5000
    audit: all
    auditFor: 24h
    auditKeep: -1
    versionEvery: -1s
    versionFor: 48h
    versionKeep: 7
    softBytes: 99
    sourcePolicies:
      - {path: /gems, allow: [receipt, operator], raise: true}
      - {path: "", deny: [mail], mode: report}
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := opts.Sets["players"]
	type kept struct {
		History, HistoryBytes, AuditKeep, VersionKeep, SoftBytes int
		Audit                                                    profile.AuditPolicy
		AuditFor, VersionEvery, VersionFor                       time.Duration
	}
	got := kept{o.History, o.HistoryBytes, o.AuditKeep, o.VersionKeep, o.SoftBytes, o.Audit, o.AuditFor, o.VersionEvery, o.VersionFor}
	want := kept{-1, 5000, -1, 7, 99, profile.AuditAll, 24 * time.Hour, -time.Second, 48 * time.Hour}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p := o.SourcePolicies
	if len(p) != 2 || p[0].Path.String() != "/gems" || !p[0].Raise || len(p[0].Allow) != 2 || p[0].Allow[0] != "receipt" || p[0].Mode == profile.ReportOnly ||
		p[1].Path.Len() != 0 || p[1].Deny[0] != profile.SourceMail || p[1].Mode != profile.ReportOnly {
		t.Errorf("%+v", p)
	}
}

// A schema stands in the configuration, or in a file beside it.
func TestTheSchemaOfASet(t *testing.T) {
	const text = `{"type":"object","properties":{"coins":{"type":"integer","maximum":9007199254740993}}}`
	inline := file(t, "sets: {players: {jsonSchema: "+text+"}}\n")
	beside := file(t, "sets: {players: {jsonSchema: rules/player.json}}\n")
	absolute := file(t, "sets: {players: {jsonSchema: "+filepath.Join(filepath.Dir(beside), "rules", "player.json")+"}}\n")
	if err := os.Mkdir(filepath.Join(filepath.Dir(beside), "rules"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(beside), "rules", "player.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{inline, beside, absolute} {
		_, _, opts, err := main.Options(path, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := opts.Sets["players"].JSONSchema
		for coins, fine := range map[int64]bool{9007199254740993: true, 9007199254740994: false} {
			if got := s.Check(doc.MustObject(map[string]doc.Value{"coins": doc.Int(coins)})); fine != (len(got) == 0) {
				t.Errorf("%s: %d: %v", path, coins, got)
			}
		}
	}
	if _, _, opts, err := main.Options("", nil, nil); err != nil || opts.Sets["players"].JSONSchema != nil {
		t.Errorf("%v", err)
	}
}

// Whatever is wrong is named by its member, and all of it at once.
func TestWrongSetsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"audit: some":                `audit: others, all or none expected, got "some"`,
		"audit: 3":                   "audit:",
		"auditFor: 90d":              "auditFor: a duration such as",
		"auditKeep: many":            "auditKeep:",
		"versionEvery: 3":            "versionEvery",
		"versionKeep: 1.5":           "versionKeep",
		"history: x":                 "history",
		"hardBytes: -1":              "hardBytes: 1 to ",
		"journalBytes: 2000000":      "journalBytes: 1 to ",
		"journalEvery: 1ms":          "journalEvery: at least 10ms",
		"reapEvery: 1ms":             "reapEvery: at least 100ms",
		"schema: -3":                 "schema: 1 to ",
		"template: [1]":              "template: an object expected",
		"jsonSchema: nosuch.json":    "jsonSchema: open",
		`jsonSchema: ""`:             "jsonSchema: a schema, or the path of a file",
		"jsonSchema: {type: objekt}": `jsonSchema: schema: at "/type"`,
		"jsonSchema: 5":              "jsonSchema: schema:",
		"template: {a: 1}, jsonSchema: {properties: {a: {type: string}}}": `template: data is not valid: refused: "/a"`,
		"jsonSchema: {required: [a]}":                                     `template: data is not valid: refused: "/a"`,
		"sourcePolicies: {path: /a}":                                      "sourcePolicies:",
		"sourcePolicies: [{path: gems, allow: [a]}]":                      "sourcePolicies[0].path: ",
		"sourcePolicies: [{path: /a, allow: [a]}, {allow: [a]}]":          "sourcePolicies[1].path: a JSON Pointer",
		"sourcePolicies: [{path: /a}]":                                    "sourcePolicies[0].allow: kinds of sources",
		"sourcePolicies: [{path: /a, deny: [x, a b]}]":                    "sourcePolicies[0].deny: [1]: has",
		"sourcePolicies: [{path: /a, deny: [a], mode: shout}]":            `sourcePolicies[0].mode: block or report expected, got "shout"`,
		"sourcePolicies: [{path: /a, deny: [a], raises: true}]":           "sourcePolicies.0",
		"sourcePolicies: [{path: /a, deny: [a]}, {path: /a, allow: [b]}]": `sourcePolicies: two policies for "/a"`,
		"auditing: all": "sets.players",
	} {
		_, _, _, err := main.Options(file(t, "sets: {players: {"+text+"}}\n"), nil, nil)
		if err == nil || !strings.Contains(err.Error(), "sets.players") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, _, _, err := main.Options(file(t, "sets: {a: {audit: x, hardBytes: -1}, b: {hardBytes: -1, journalBytes: -1}}\n"), nil, nil)
	for _, part := range []string{"sets.a.audit", "sets.b.hardBytes", "sets.b.journalBytes"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not in %v", part, err)
		}
	}
}
