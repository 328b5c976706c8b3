package profile

import (
	"errors"
	"fmt"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
)

func coins(n int64) doc.Value { return doc.MustObject(map[string]doc.Value{"coins": doc.Int(n)}) }

// journaled is the journal of the session "theirs" in epoch 3, from revision base to rev.
func journaled(base, rev uint64, from, to doc.Value) journal {
	return journal{
		epoch: 3, token: "theirs", base: base, baseDigest: from.Digest(), schema: 2, rev: rev,
		effects: doc.EffectsBetween(from, to),
	}
}

func TestSealStep(t *testing.T) {
	r := storedRecord("theirs", "there") // epoch 3
	j := func(change func(*journal)) journalReading {
		v := journaled(5, 6, coins(7), coins(8))
		change(&v)
		return journalReading{version: 2, journal: v}
	}
	for name, c := range map[string]struct {
		j         journalReading
		confirmed bool
		want      sealStep
	}{
		"absent":                   {journalReading{}, false, sealNothing},
		"lower epoch":              {j(func(j *journal) { j.epoch, j.token = 2, "old" }), false, sealNothing},
		"the session's":            {j(func(*journal) {}), false, sealWrite},
		"sealed already":           {j(func(j *journal) { j.sealedBy = "third" }), false, sealStands},
		"higher epoch":             {j(func(j *journal) { j.epoch, j.token = 4, "next" }), false, sealStale},
		"higher epoch, confirmed":  {j(func(j *journal) { j.epoch, j.token = 4, "next" }), true, sealQuarantine},
		"another token":            {j(func(j *journal) { j.token = "twin" }), false, sealStale},
		"another token, confirmed": {j(func(j *journal) { j.token = "twin" }), true, sealQuarantine},
		"later format":             {journalReading{version: 2, problem: fmt.Errorf("x: %w", errLaterFormat)}, false, sealLater},
		"unreadable":               {journalReading{version: 2, problem: errors.New("x")}, false, sealReplace},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sealStepOf(r, c.j, c.confirmed); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestSealKeepsTheEntries(t *testing.T) {
	j := journaled(5, 6, coins(7), coins(8))
	s := j.sealed("me")
	if s.sealedBy != "me" || s.rev != 6 || s.effects.Len() != j.effects.Len() || j.sealedBy != "" {
		t.Errorf("sealed as %+v", s)
	}
}

func TestReplayStep(t *testing.T) {
	r := storedRecord("theirs", "there") // revision 5, coins 7
	good := journaled(5, 6, coins(7), coins(8))
	for name, c := range map[string]struct {
		j         journal
		confirmed bool
		want      replayStep
	}{
		"newer":                     {good, false, replayApply},
		"all in the record":         {journaled(4, 5, coins(6), coins(7)), false, replayNothing},
		"older than the record":     {journaled(1, 3, coins(6), coins(7)), false, replayNothing},
		"save landed in between":    {journaled(4, 6, coins(6), coins(8)), false, replayApply},
		"record is stale":           {journaled(6, 7, coins(8), coins(9)), false, replayStale},
		"record went back in time":  {journaled(6, 7, coins(8), coins(9)), true, replayQuarantine},
		"made for other data":       {journaled(5, 6, coins(70), coins(8)), false, replayStale},
		"made for other data, sure": {journaled(5, 6, coins(70), coins(8)), true, replayQuarantine},
		"of a newer schema":         {func() journal { j := good; j.schema = 3; return j }(), false, replayLater},
		"of another session":        {func() journal { j := good; j.token = "old"; return j }(), false, replayNothing},
		"emptied by a replacement":  {sealInstead(r, "me"), false, replayNothing},
	} {
		t.Run(name, func(t *testing.T) {
			if got := replayStepOf(r, c.j, c.confirmed, 2); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestReplay(t *testing.T) {
	r := storedRecord("theirs", "there")
	j := journaled(5, 9, coins(7), coins(12))
	j.marks = []mark{{id: "gift", revision: 8, digest: "d"}}
	got, err := replay(j, r)
	if err != nil {
		t.Fatal(err)
	}
	if got.revision != 9 || !got.data.Equal(coins(12)) || !got.holds("theirs") || got.epoch != 3 {
		t.Errorf("replayed to %+v", got)
	}
	if m, ok := got.marked("gift"); !ok || m.revision != 8 {
		t.Error("the journal's commit ids are not in the record")
	}
	again, err := replay(j, got)
	if err != nil || !again.data.Equal(got.data) {
		t.Errorf("replayed twice: %v %v", again.data, err)
	}
	bad := journaled(5, 9, doc.MustObject(map[string]doc.Value{"a": coins(1)}), doc.MustObject(map[string]doc.Value{"a": coins(2)}))
	if back, err := replay(bad, r); err == nil || !back.data.Equal(r.data) || back.revision != 5 {
		t.Errorf("effects for other data made %v, %v", back.data, err)
	}
}

func TestTakenTellsFromWhom(t *testing.T) {
	r := storedRecord("theirs", "there")
	r.ask = &asker{token: "mine", node: "here", target: "theirs"}
	got := taken(r, ruleMe, node.EvidenceAge, ruleTime)
	want := takeover{token: "theirs", node: "there", evidence: node.EvidenceAge, epoch: 3, at: ruleTime}
	if got.epoch != 4 || !got.holds("mine") || got.ask != nil || got.tookFrom == nil {
		t.Fatalf("taken as %+v", got)
	}
	if w := got.tookFrom; w.token != want.token || w.node != want.node || w.evidence != want.evidence || w.epoch != want.epoch || !w.at.Equal(want.at) {
		t.Errorf("took from %+v, want %+v", w, want)
	}
}

func TestStaleJournal(t *testing.T) {
	held, free := storedRecord("theirs", "there"), storedRecord("", "") // epoch 3
	j := journalReading{version: 2, journal: journaled(5, 6, coins(7), coins(8))}
	old, next := j, j
	old.journal.epoch, next.journal.epoch = 2, 4
	for name, c := range map[string]struct {
		r    reading
		j    journalReading
		want bool
	}{
		"of the session":        {reading{version: 1, record: held}, j, false},
		"of one before":         {reading{version: 1, record: held}, old, true},
		"of the next":           {reading{version: 1, record: free}, next, false},
		"of one that is over":   {reading{version: 1, record: free}, j, true},
		"of one long over":      {reading{version: 1, record: free}, old, true},
		"no record":             {reading{}, j, false},
		"no journal":            {reading{version: 1, record: free}, journalReading{}, false},
		"unreadable":            {reading{version: 1, record: free}, journalReading{version: 3, problem: errors.New("x")}, false},
		"of unreadable profile": {reading{version: 1, problem: errors.New("x")}, j, false},
	} {
		if got := staleJournal(c.r, c.j); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
