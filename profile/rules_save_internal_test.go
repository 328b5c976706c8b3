package profile

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

var (
	conflict = &store.ConflictError{Key: "profile/players/u"}
	mine     = hold{token: "mine", epoch: 3, version: 10, base: 5}
)

func TestAnswered(t *testing.T) {
	normal, final := attempt{version: 11, revision: 8}, attempt{version: 11, revision: 8, final: true}
	for name, c := range map[string]struct {
		h    hold
		a    attempt
		err  error
		want hold
		step saveStep
	}{
		"done":           {mine, normal, nil, hold{"mine", 3, 11, 8, nil, false}, saveDone},
		"done, renewal":  {mine, attempt{version: 11, revision: 4}, nil, hold{"mine", 3, 11, 5, nil, false}, saveDone},
		"unavailable":    {mine, normal, store.ErrUnavailable, mine, saveRefused},
		"too large":      {mine, final, store.ErrTooLarge, mine, saveRefused},
		"conflict":       {mine, normal, fmt.Errorf("x: %w", conflict), mine, saveReadBack},
		"unknown":        {mine, normal, store.ErrUnknown, hold{"mine", 3, 10, 5, nil, true}, saveReadBack},
		"bare context":   {mine, normal, errors.New("context canceled"), hold{"mine", 3, 10, 5, nil, true}, saveReadBack},
		"final unknown":  {mine, final, store.ErrUnknown, hold{"mine", 3, 10, 5, []store.Version{11}, true}, saveReadBack},
		"final conflict": {mine, final, conflict, mine, saveReadBack},
		"final done at last": {
			hold{"mine", 3, 10, 5, []store.Version{6}, true}, final, nil, hold{"mine", 3, 11, 8, nil, false}, saveDone,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, step := answered(c.h, c.a, c.err)
			if step != c.step {
				t.Errorf("step %d, want %d", step, c.step)
			}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(hold{}), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// after is my record as the next session left it.
func after(epoch uint64, token string, took *takeover) record {
	r := storedRecord(token, "there")
	r.epoch, r.tookFrom = epoch, took
	return r
}

func TestReadBack(t *testing.T) {
	normal, final := attempt{version: 11, revision: 8}, attempt{version: 11, revision: 8, final: true}
	bound := hold{"mine", 3, 10, 5, []store.Version{11}, true}
	own := storedRecord("mine", "here")
	own.revision = 7
	for name, c := range map[string]struct {
		h    hold
		a    attempt
		r    reading
		step saveStep
		base uint64
		at   store.Version
	}{
		"mine, my write":          {mine, normal, reading{version: 11, record: own}, saveDone, 7, 11},
		"mine, an earlier write":  {mine, normal, reading{version: 12, record: own}, saveAgain, 7, 12},
		"mine, not yet applied":   {mine, normal, reading{version: 10, record: storedRecord("mine", "here")}, saveAgain, 5, 10},
		"mine, final not applied": {bound, final, reading{version: 10, record: storedRecord("mine", "here")}, saveAgain, 5, 10},
		"mine, another epoch":     {mine, normal, reading{version: 12, record: func() record { r := own; r.epoch = 5; return r }()}, saveLost, 5, 10},
		"another's":               {mine, normal, reading{version: 12, record: storedRecord("theirs", "there")}, saveLost, 5, 10},
		"free":                    {mine, normal, reading{version: 12, record: storedRecord("", "")}, saveLost, 5, 10},
		"missing":                 {mine, normal, reading{}, saveLost, 5, 10},
		"foreign":                 {mine, final, reading{version: 12, problem: errors.New("x")}, saveLost, 5, 10},
		"final landed, free":      {bound, final, reading{version: 11, record: after(3, "", nil)}, saveDone, 8, 10},
		"final landed, claimed since": {
			bound, final, reading{version: 15, record: after(4, "theirs", nil)}, saveDone, 8, 10,
		},
		"final landed, long ago, after an old takeover": {
			bound, final, reading{version: 15, record: after(9, "theirs", &takeover{token: "x", epoch: 2})}, saveDone, 8, 10,
		},
		"final unknown, taken from me": {
			bound, final, reading{version: 15, record: after(4, "theirs", &takeover{token: "mine", epoch: 3})}, saveLost, 5, 10,
		},
		"final unknown, a later takeover hides it": {
			bound, final, reading{version: 15, record: after(6, "theirs", &takeover{token: "x", epoch: 5})}, saveLost, 5, 10,
		},
		"final refused by a conflict": {mine, final, reading{version: 15, record: after(4, "theirs", nil)}, saveLost, 5, 10},
		"the record went back":        {bound, final, reading{version: 2, record: after(2, "", nil)}, saveLost, 5, 10},
	} {
		t.Run(name, func(t *testing.T) {
			got, step := readBack(c.h, c.a, c.r)
			if step != c.step || got.base != c.base || got.version != c.at {
				t.Errorf("step %d, base %d, version %v; want %d, %d, %v", step, got.base, got.version, c.step, c.base, c.at)
			}
		})
	}
}

func TestReadBackUnbindsWhenTheRecordHasMovedOn(t *testing.T) {
	bound := hold{"mine", 3, 10, 5, []store.Version{11}, true}
	own := storedRecord("mine", "here")
	final := attempt{version: 11, revision: 8, final: true}
	if h, _ := readBack(bound, final, reading{version: 10, record: own}); !h.bound() {
		t.Error("a final save that may still land was forgotten")
	}
	// An asker has written since: the final save was conditional on a version that is gone.
	if h, _ := readBack(bound, final, reading{version: 12, record: own}); h.bound() {
		t.Error("a final save that cannot land any more still binds")
	}
}

func TestSavedAndRenewed(t *testing.T) {
	r := storedRecord("mine", "here")
	r.extras = []member{{Name: "future", Raw: []byte("[]")}}
	snap := snapshot{data: doc.Int(1), revision: 9, schema: 4, marks: []mark{{id: "x", revision: 9}}, beating: false}
	got := saved(r, snap, ruleTime)
	if got.revision != 9 || got.schema != 4 || !got.data.Equal(doc.Int(1)) || got.session.beating || got.epoch != 3 || len(got.marks) != 1 || len(got.extras) != 1 {
		t.Errorf("saved %+v", got)
	}
	if !r.session.beating {
		t.Error("saved changed the session it was given")
	}
	kept := renewed(r, snap, ruleTime)
	if kept.revision != 5 || !kept.data.Equal(r.data) || kept.session.beating {
		t.Errorf("renewed %+v", kept)
	}
}

func TestWithMarksKeepsTheLast(t *testing.T) {
	var r record
	for i := range maxMarks + 10 {
		r.marks = r.withMarks(mark{id: fmt.Sprint(i), revision: uint64(i)})
	}
	if len(r.marks) != maxMarks || r.marks[0].id != "10" {
		t.Fatalf("%d marks from %s on", len(r.marks), r.marks[0].id)
	}
	r.marks = r.withMarks(mark{id: "20", revision: 99})
	if m, ok := r.marked("20"); !ok || m.revision != 99 || len(r.marks) != maxMarks {
		t.Errorf("an id that came again: %+v of %d", m, len(r.marks))
	}
}
