package profile

import (
	"testing"
	"time"

	"github.com/shoalworks/shoal/node"
)

func TestGrantedReleasedPassedOn(t *testing.T) {
	r := storedRecord("mine", "here")
	r.ask = &asker{token: "theirs", node: "there", target: "mine"}
	to := asker{token: "theirs", node: "there", target: "mine"}
	got := granted(r, to, ruleTime)
	if got.epoch != 4 || !got.holds("theirs") || got.session.node != "there" || got.ask != nil || !got.data.Equal(r.data) {
		t.Errorf("granted as %+v", got)
	}
	next := passedOn(got, asker{token: "third", node: "yonder"}, ruleTime)
	if next.epoch != 5 || !next.holds("third") {
		t.Errorf("passed on as %+v", next)
	}
	free := released(r, ruleTime)
	if free.epoch != 3 || free.session != nil || free.ask != nil {
		t.Errorf("released as %+v", free)
	}
	if !r.holds("mine") || r.ask == nil {
		t.Error("the record given was changed")
	}
}

func TestAskInTheRecordLeavesTheSession(t *testing.T) {
	r := storedRecord("mine", "here")
	got := withAsk(r, asker{token: "theirs", node: "there", target: "mine"}, 90*time.Second)
	if !got.holds("mine") || got.epoch != 3 || got.session.beating != r.session.beating {
		t.Errorf("the session was touched: %+v", got)
	}
	if idle := (reading{version: 1, age: time.Second, record: withoutAsk(got, 10*time.Second)}).idle(); idle != 101*time.Second {
		t.Errorf("the holder has not written for %v, 101s expected: an ask made it look younger", idle)
	}
	if saved(got, snapshot{beating: true}, ruleTime).session.stood != 0 {
		t.Error("the holder's own write does not count")
	}
	if a, ok := got.asked("mine"); !ok || a.token != "theirs" {
		t.Error("the holder does not find the ask")
	}
	if _, ok := got.asked("another"); ok {
		t.Error("an ask for another session is taken for its own")
	}
	if withoutAsk(got, 0).ask != nil {
		t.Error("the ask is still there")
	}
}

func TestAskStep(t *testing.T) {
	for name, c := range map[string]struct {
		f    askFacts
		want askStep
	}{
		"session here":          {askFacts{session: true, void: time.Minute}, askGrant},
		"session here, void":    {askFacts{session: true, age: 2 * time.Minute, void: time.Minute}, askStale},
		"being loaded":          {askFacts{loading: true, void: time.Minute}, askNotReady},
		"ended a moment ago":    {askFacts{recent: true, void: time.Minute}, askStale},
		"unknown":               {askFacts{void: time.Minute}, askUnknown},
		"ended, and live again": {askFacts{session: true, recent: true, void: time.Minute}, askGrant},
	} {
		if got := askStepOf(c.f); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestNoteState(t *testing.T) {
	for name, c := range map[string]struct {
		n    node.Note
		want noteState
	}{
		"mine":                {node.Note{Kind: node.NoteAsk, For: "s", Token: "me"}, noteMine},
		"mine, accepted":      {node.Note{Kind: node.NoteAsk, For: "s", Token: "me", Accepted: true}, noteAccepted},
		"another's":           {node.Note{Kind: node.NoteAsk, For: "s", Token: "you"}, noteOther},
		"for another session": {node.Note{Kind: node.NoteAsk, For: "old", Token: "you"}, noteNone},
		"taken":               {node.Note{Kind: node.NoteTaken, For: "s", Token: "you"}, noteNone},
	} {
		if got := noteStateOf(c.n, "s", "me"); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestWaitStep(t *testing.T) {
	asked := waitFacts{policy: Steal, vouches: true, verdict: node.Alive, note: noteMine, landed: true, stealAfter: 15 * time.Second}
	with := func(change func(*waitFacts)) waitFacts {
		f := asked
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		f        waitFacts
		want     waitStep
		evidence node.Evidence
	}{
		"asked, alive":       {asked, waitOn, ""},
		"not asked yet":      {with(func(f *waitFacts) { f.landed, f.note = false, noteNone }), waitAsk, ""},
		"ask did not land":   {with(func(f *waitFacts) { f.landed, f.note = false, noteUnread }), waitAsk, ""},
		"ask is gone":        {with(func(f *waitFacts) { f.note = noteNone }), waitAsk, ""},
		"note unreadable":    {with(func(f *waitFacts) { f.note = noteUnread }), waitOn, ""},
		"dead":               {with(func(f *waitFacts) { f.verdict, f.evidence = node.Dead, node.EvidenceAge }), waitTakeOver, node.EvidenceAge},
		"dead, policy wait":  {with(func(f *waitFacts) { f.policy, f.verdict, f.evidence = Wait, node.Dead, node.EvidenceClosed }), waitTakeOver, node.EvidenceClosed},
		"dead, quiet":        {with(func(f *waitFacts) { f.quiet, f.verdict, f.evidence = true, node.Dead, node.EvidenceAge }), waitTakeOver, node.EvidenceAge},
		"dead, but outbid":   {with(func(f *waitFacts) { f.verdict, f.note = node.Dead, noteOther }), waitOutbid, ""},
		"outbid":             {with(func(f *waitFacts) { f.note = noteOther }), waitOutbid, ""},
		"outbid in record":   {with(func(f *waitFacts) { f.bidden = true }), waitOutbid, ""},
		"quiet, alive":       {with(func(f *waitFacts) { f.quiet = true }), waitInUse, ""},
		"quiet, undecided":   {with(func(f *waitFacts) { f.quiet, f.verdict = true, node.Undecided }), waitOn, ""},
		"quiet, no vouching": {with(func(f *waitFacts) { f.quiet, f.vouches, f.verdict = true, false, node.Undecided }), waitInUse, ""},
		"quiet, lease is up": {with(func(f *waitFacts) {
			f.quiet, f.vouches, f.verdict, f.evidence = true, false, node.Dead, node.EvidenceLease
		}), waitTakeOver, node.EvidenceLease},
		"patience, not yet":   {with(func(f *waitFacts) { f.waited = 15*time.Second - 1 }), waitOn, ""},
		"patience, steal":     {with(func(f *waitFacts) { f.waited = 15 * time.Second }), waitTakeOver, EvidencePolicy},
		"patience, fail":      {with(func(f *waitFacts) { f.waited, f.policy = 15*time.Second, Fail }), waitHeld, ""},
		"patience, wait":      {with(func(f *waitFacts) { f.waited, f.policy = time.Hour, Wait }), waitOn, ""},
		"patience, undecided": {with(func(f *waitFacts) { f.waited, f.verdict = 15*time.Second, node.Undecided }), waitTakeOver, EvidencePolicy},
		"patience, not asked": {with(func(f *waitFacts) { f.waited, f.landed, f.note = time.Hour, false, noteUnread }), waitAsk, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, evidence := waitStepOf(c.f)
			if got != c.want || evidence != c.evidence {
				t.Errorf("%d %q, want %d %q", got, evidence, c.want, c.evidence)
			}
		})
	}
}

func TestOutbidWhenTheRecordHasMovedOn(t *testing.T) {
	held := reading{version: 5, record: record{session: &tenure{token: "newest", node: "c"}}}
	free := reading{version: 5}
	for _, c := range []struct {
		what string
		note noteState
		r    reading
		want bool
	}{
		{"the newest asker has it already", noteOther, held, true},
		{"free: claim it", noteOther, free, false},
		{"missing: create it", noteOther, reading{}, false},
		{"no newer ask", noteMine, held, false},
		{"nothing is known of the note", noteUnread, held, false},
	} {
		if got := outbid(c.note, c.r); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

func TestPatienceWithAHolderThatDoesNotBeat(t *testing.T) {
	if got := patience(15*time.Second, 30*time.Second, true); got != 15*time.Second {
		t.Errorf("beating: %v", got)
	}
	if got := patience(15*time.Second, 30*time.Second, false); got != 45*time.Second {
		t.Errorf("not beating: %v", got)
	}
	if got := patience(time.Minute, 30*time.Second, false); got != time.Minute {
		t.Errorf("more patient than needed: %v", got)
	}
}
