package main_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	main "github.com/shoalworks/shoal/cmd/shoal"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

func TestBoardsOfTheDocumentedConfiguration(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	_, _, opts, err := main.Options(file(t, string(blocks[0][1])), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	zero := int64(0)
	want := board.Config{Rule: store.Last, From: &board.Source{Set: "players", Path: "/coins", Missing: &zero, MetaPath: "/inventory"}}
	if diff := cmp.Diff(want, opts.Boards["Coins"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&shoal.Names{Set: "players", Display: "/name", User: "/handle"}, opts.Names); diff != "" {
		t.Error(diff)
	}
	f := *opts.Flush
	f.Boards = nil
	names := &board.NameOptions{PerMinute: 250, Batch: 100, Cache: 10_000, KeepFor: time.Hour, AbsentFor: time.Hour, RetryAfter: 5 * time.Second}
	if diff := cmp.Diff(board.Options{
		Names: names, FlushEvery: time.Second, WritesPerFlush: 10_000, MaxWriteAttempts: 10, MaxQueued: 1_000_000, CacheFor: time.Second,
		MaxEntries: 100, ReadsAtOnce: 64, CallTimeout: 10 * time.Second, CloseTimeout: 10 * time.Second,
	}, f); diff != "" {
		t.Error("documented are the defaults:", diff)
	}
	for _, member := range main.BoardMembers() {
		if !strings.Contains(string(blocks[0][1]), member+":") {
			t.Errorf("%s is not documented", member)
		}
	}
}

// A daemon with mirrors and names, from the file to the board.
func TestADaemonMirrorsProfiles(t *testing.T) {
	_, _, opts, err := main.Options(file(t, `
boards:
  Level: {rule: last, decimals: 1, from: {set: players, path: /level}}
names: {set: players, display: /name}
seasons: {}
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := shoal.Open(t.Context(), "memory:")
	if err != nil {
		t.Fatal(err)
	}
	n, err := shoal.Start(t.Context(), st, opts)
	if err != nil {
		t.Fatal(err)
	}
	s, err := n.Set("players").Load(t.Context(), "u_42", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Transact(profile.Source{}, doc.Set("/level", doc.Must(7.5)), doc.Set("/name", doc.Must("Ann")))
	if err := errors.Join(err, s.Release(t.Context()), n.Boards().FlushNow(t.Context())); err != nil {
		t.Fatal(err)
	}
	page, err := n.Boards().Top(t.Context(), "Level", 10)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := n.Boards().Named(t.Context(), page)
	if err != nil || len(rows) != 1 || rows[0].Score != 75 || rows[0].Display != "Ann" {
		t.Errorf("%+v, %v", rows, err)
	}
	if _, err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
	_ = st.Close(t.Context())
}

func TestWhatIsWrongWithBoardsIsNamed(t *testing.T) {
	for text, wants := range map[string][]string{
		"boards: {A: {order: up, rule: first}}":                                     {`boards.A.order: descending or ascending expected, got "up"`, `boards.A.rule: best, last or sum expected`},
		"boards: {A: {decimals: 19, min: 4, max: 3, maxEntries: 5000}}":             {"boards.A.decimals: 0 to 18", "boards.A.min: at most Max", "boards.A.maxEntries: 1 to 1000"},
		"boards: {'a//b': {}}":                                                      {"boards.a//b: "},
		"boards: {A: {form: 1}}":                                                    {"boards.A"},
		"boards: {A: {from: {set: players, path: /k, at: 1}}}":                      {"boards.A.from"},
		"boards: {A: {from: {set: guilds, path: /k}}}":                              {`boards.A.from.set: one of the sets (players) expected, got "guilds"`},
		"boards: {A: {from: {path: /k}}}":                                           {"boards.A.from.set: one of the sets"},
		"boards: {A: {from: {set: players}}}":                                       {"boards.A.from.path: the JSON Pointer"},
		"boards: {A: {from: {set: players, path: k}}}":                              {"boards.A.from.path: "},
		"boards: {A: {from: {set: players, path: /k, meta: m}}}":                    {"boards.A.from.meta: "},
		"boards: {A: {rule: sum, from: {set: players, path: /k}}}":                  {"boards.A.from: best or last expected"},
		"flush: {maxQueued: -1, maxEntries: 1001, readsAtOnce: -3}":                 {"flush.maxQueued: 1 to", "flush.maxEntries: 1 to 1000", "flush.readsAtOnce: 1 to"},
		"flush: {every: 1s}":                                                        {"flush"},
		"flush: {flushEvery: 1}":                                                    {"flush.flushEvery"},
		"names: {set: guilds, display: /name}":                                      {`names.set: one of the sets (players) expected, got "guilds"`},
		"names: {set: players}":                                                     {"names.display: the JSON Pointer"},
		"names: {set: players, user: handle}":                                       {"names.user: "},
		"names: {set: players, user: /h, batch: -1, perMinute: 2000000, cache: -1}": {"names.batch: 1 to", "names.perMinute: ", "names.cache: 1 to"},
	} {
		_, _, _, err := main.Options(file(t, text+"\n"), nil, nil)
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		}
	}
}
