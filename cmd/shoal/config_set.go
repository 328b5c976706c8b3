package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/schema"
)

// setConfig is a set of profiles.
type setConfig struct {
	Template doc.Value `json:"template"`
	Schema   int       `json:"schema"`
	Oldest   int       `json:"oldestSchema"`
	Policy   string    `json:"policy"`
	Autosave span      `json:"autosave"`

	JournalEvery        span `json:"journalEvery"`
	JournalBytes        int  `json:"journalBytes"`
	WriteBytesPerMinute int  `json:"writeBytesPerMinute"`
	ReapEvery           span `json:"reapEvery"`

	// JSONSchema is a schema, or the path of a file with one.
	JSONSchema     doc.Value      `json:"jsonSchema"`
	SourcePolicies []policyConfig `json:"sourcePolicies"`

	History      int    `json:"history"`
	HistoryBytes int    `json:"historyBytes"`
	Audit        string `json:"audit"`
	AuditFor     span   `json:"auditFor"`
	AuditKeep    int    `json:"auditKeep"`
	VersionEvery span   `json:"versionEvery"`
	VersionFor   span   `json:"versionFor"`
	VersionKeep  int    `json:"versionKeep"`

	SoftBytes int `json:"softBytes"`
	HardBytes int `json:"hardBytes"`
}

// policyConfig says which kinds of sources may change a place.
type policyConfig struct {
	Path  *string  `json:"path"`
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
	Raise bool     `json:"raise"`
	Mode  string   `json:"mode"`
}

// setOptions are the options of every set, or everything that is wrong with them.
func (c *config) setOptions() (map[string]*profile.Options, error) {
	out := make(map[string]*profile.Options, len(c.Sets))
	var errs []error
	for _, set := range slices.Sorted(maps.Keys(c.Sets)) {
		s, n := c.Sets[set], len(errs)
		wrong := func(member string, err error) {
			if err != nil {
				errs = append(errs, fmt.Errorf("sets.%s.%s: %w", set, member, err))
			}
		}
		o := s.options(wrong)
		var err error
		o.JSONSchema, err = s.schema(c.folder)
		wrong("jsonSchema", err)
		if out[set] = o; len(errs) == n {
			tryOut(o, wrong)
		}
	}
	return out, errors.Join(errs...)
}

// options are those of the set, as far as they stand in the configuration itself.
func (s setConfig) options(wrong func(string, error)) *profile.Options {
	policy, ok := word(s.Policy, profile.Steal, profile.Wait, profile.Fail)
	if !ok {
		wrong("policy", fmt.Errorf("steal, wait or fail expected, got %q", s.Policy))
	}
	audit, ok := word(s.Audit, profile.AuditOthers, profile.AuditAll, profile.AuditNone)
	if !ok {
		wrong("audit", fmt.Errorf("others, all or none expected, got %q", s.Audit))
	}
	migrations, err := s.migrations()
	wrong("oldestSchema", err)
	return &profile.Options{
		Template: s.Template, Schema: s.Schema, Migrations: migrations, Policy: policy,
		Autosave: time.Duration(s.Autosave), SoftBytes: s.SoftBytes, HardBytes: s.HardBytes,
		JournalEvery: time.Duration(s.JournalEvery), JournalBytes: s.JournalBytes,
		WriteBytesPerMinute: s.WriteBytesPerMinute, ReapEvery: time.Duration(s.ReapEvery),
		SourcePolicies: s.policies(wrong),
		History:        s.History, HistoryBytes: s.HistoryBytes,
		Audit: audit, AuditFor: time.Duration(s.AuditFor), AuditKeep: s.AuditKeep,
		VersionEvery: time.Duration(s.VersionEvery), VersionFor: time.Duration(s.VersionFor), VersionKeep: s.VersionKeep,
	}
}

// tryOut finds what the library has against the options, and the template against the schema:
// it makes what a load makes of a new player.
func tryOut(o *profile.Options, wrong func(string, error)) {
	template := o.Template
	if template.IsNull() {
		template = doc.MustObject(nil)
	}
	_, err := profile.Migrate(template, max(o.Schema, 1), o)
	switch {
	case err == nil:
	case errors.Is(err, profile.ErrSchema):
		wrong("template", err)
	default:
		for _, one := range parts(err) {
			field, problem, _ := strings.Cut(strings.TrimPrefix(one.Error(), optionsPrefix), ": ")
			if field == "pipeline" { // of which a daemon has the policies only
				field = "sourcePolicies"
			}
			wrong(memberOf(field), errors.New(problem))
		}
	}
}

// optionsPrefix begins what the library says of an option; its name follows.
const optionsPrefix = "profile: options: "

// memberOf is the member that is called like an option of the library: HardBytes, hardBytes.
func memberOf(option string) string {
	first, size := utf8.DecodeRuneInString(option)
	return string(unicode.ToLower(first)) + option[size:]
}

// parts are the errors that were joined.
func parts(err error) (out []error) {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok || strings.HasPrefix(err.Error(), optionsPrefix) && !strings.Contains(err.Error(), "\n") {
		return []error{err}
	}
	for _, one := range many.Unwrap() {
		out = append(out, parts(one)...)
	}
	return out
}

// schema is the JSON Schema of the set: the one in the configuration, or the one in the file
// whose path is there, from the configuration's folder; nil when there is none.
func (s setConfig) schema(folder string) (*schema.Schema, error) {
	if s.JSONSchema.IsNull() {
		return nil, nil
	}
	path, ok := s.JSONSchema.AsString()
	if !ok {
		return schema.Parse(s.JSONSchema.Encode())
	}
	if path == "" {
		return nil, errors.New("a schema, or the path of a file with one, expected, got nothing")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, schema.MaxBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	out, err := schema.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// policies are those of the set.
func (s setConfig) policies(wrong func(string, error)) []profile.SourcePolicy {
	var out []profile.SourcePolicy
	for i, p := range s.SourcePolicies {
		here := func(member string, err error) { wrong(fmt.Sprintf("sourcePolicies[%d].%s", i, member), err) }
		one := profile.SourcePolicy{Raise: p.Raise, Allow: kinds("allow", p.Allow, here), Deny: kinds("deny", p.Deny, here)}
		switch {
		case p.Path == nil:
			here("path", errors.New(`a JSON Pointer such as "/gems" expected; "" is the whole document`))
		default:
			at, err := doc.ParsePath(*p.Path)
			here("path", err)
			one.Path = at
		}
		if len(p.Allow)+len(p.Deny) == 0 {
			here("allow", errors.New("kinds of sources that may change the place expected, or in deny those that may not"))
		}
		mode, ok := word(p.Mode, profile.Block, profile.ReportOnly)
		if !ok {
			here("mode", fmt.Errorf("%v or %v expected, got %q", profile.Block, profile.ReportOnly, p.Mode))
		}
		one.Mode = mode
		out = append(out, one)
	}
	return out
}

// kinds are the kinds of sources of a policy.
func kinds(member string, words []string, wrong func(string, error)) []profile.SourceKind {
	var out []profile.SourceKind
	for i, w := range words {
		wrong(member, name.CheckName(fmt.Sprintf("[%d]", i), w))
		out = append(out, profile.SourceKind(w))
	}
	return out
}

// maxOlder is how many versions before the newest a daemon takes.
const maxOlder = 1000

// migrations take the data of older forms as it is, from the oldest one on: a daemon has no
// code of the game's. The template adds what is missing.
func (s setConfig) migrations() (out []profile.Migration, err error) {
	newest := max(s.Schema, 1)
	switch {
	case s.Oldest == 0:
		return nil, nil
	case s.Oldest < 0, s.Oldest > newest, newest-s.Oldest > maxOlder:
		return nil, fmt.Errorf("%d to schema (%d) expected, got %d", max(1, newest-maxOlder), newest, s.Oldest)
	}
	for to := s.Oldest + 1; to <= newest; to++ {
		out = append(out, profile.Migration{To: to, Note: "as it is"})
	}
	return out, nil
}
