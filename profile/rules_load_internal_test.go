package profile

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

var (
	ruleTime = time.Date(2026, 8, 11, 12, 0, 0, 0, time.UTC)
	ruleMe   = claimant{token: "mine", mine: []string{"before", "mine"}, node: "here", beating: true, schema: 2, fresh: doc.MustObject(nil)}
)

// stored is a profile that the session with the token holds; empty: free.
func storedRecord(token, at string) record {
	r := record{
		data: doc.MustObject(map[string]doc.Value{"coins": doc.Int(7)}), revision: 5, schema: 2,
		created: ruleTime, updated: ruleTime, epoch: 3,
	}
	if token != "" {
		r.session = &tenure{token: token, node: at, since: ruleTime, beating: true}
	}
	return r
}

func TestReadStep(t *testing.T) {
	erased := storedRecord("", "")
	erased.erased = ruleTime
	newer := storedRecord("", "")
	newer.schema = 3
	newerMine := storedRecord("mine", "here")
	newerMine.schema = 3
	for name, c := range map[string]struct {
		r    reading
		want loadStep
	}{
		"missing":                 {reading{}, stepCreate},
		"free":                    {reading{version: 9, record: storedRecord("", "")}, stepClaim},
		"erased":                  {reading{version: 9, record: erased}, stepClaim},
		"mine":                    {reading{version: 9, record: storedRecord("mine", "here")}, stepLoaded},
		"mine, an earlier claim":  {reading{version: 9, record: storedRecord("before", "here")}, stepLoaded},
		"another node's":          {reading{version: 9, record: storedRecord("theirs", "there")}, stepHeld},
		"this node's, unknown":    {reading{version: 9, record: storedRecord("older", "here")}, stepOrphan},
		"newer schema":            {reading{version: 9, record: newer}, stepLater},
		"granted in newer schema": {reading{version: 9, record: newerMine}, stepLater},
		"newer format":            {reading{version: 9, problem: fmt.Errorf("format 2: %w", errLaterFormat)}, stepLater},
		"foreign":                 {reading{version: 9, problem: errors.New("not JSON")}, stepForeign},
	} {
		t.Run(name, func(t *testing.T) {
			if got := readStep(c.r, ruleMe); got != c.want {
				t.Errorf("readStep = %d, want %d", got, c.want)
			}
		})
	}
}

func TestClaimedRaisesTheEpochAndKeepsTheRest(t *testing.T) {
	free := storedRecord("", "")
	free.ask = &asker{token: "a", node: "b", target: "c"}
	free.tookFrom = &takeover{token: "old", epoch: 1}
	free.extras = []member{{Name: "future", Raw: []byte("1e0")}}
	got := claimed(free, ruleMe, ruleTime.Add(time.Hour))
	if got.epoch != 4 || !got.holds("mine") || got.session.node != "here" || !got.session.beating {
		t.Errorf("epoch %d, session %+v", got.epoch, got.session)
	}
	if got.ask != nil || got.revision != 5 || !got.data.Equal(free.data) || got.tookFrom != free.tookFrom || len(got.extras) != 1 {
		t.Errorf("claimed changed what it should keep: %+v", got)
	}
	if free.session != nil || free.epoch != 3 {
		t.Error("claimed changed the record it was given")
	}
}

func TestClaimedErasedBeginsAnewButNeverGoesBack(t *testing.T) {
	gone := record{epoch: 8, revision: 40, erased: ruleTime, created: ruleTime.Add(-time.Hour)}
	got := claimed(gone, ruleMe, ruleTime)
	if got.epoch != 9 || got.revision != 41 || !got.erased.IsZero() || !got.data.Equal(ruleMe.fresh) || !got.created.Equal(ruleTime) {
		t.Errorf("claimed an erased record as %+v", got)
	}
}

func TestClaimStepByOutcome(t *testing.T) {
	for o, want := range map[store.Outcome]claimStep{
		store.Done: claimLanded, store.NotDone: claimAgain, store.Unknown: claimReadBack,
	} {
		if got := claimStepOf(o); got != want {
			t.Errorf("claimStepOf(%v) = %d, want %d", o, got, want)
		}
	}
}

func TestMayLandUntilTheRecordHasMovedOn(t *testing.T) {
	for name, c := range map[string]struct {
		cond store.Version
		r    reading
		want bool
	}{
		"record stands":         {7, reading{version: 7}, true},
		"record has moved on":   {7, reading{version: 8}, false},
		"still missing":         {0, reading{}, true},
		"created by another":    {0, reading{version: 8}, false},
		"deleted in the middle": {7, reading{}, false},
	} {
		if got := mayLand(c.cond, c.r); got != c.want {
			t.Errorf("%s: mayLand = %v", name, got)
		}
	}
}

func TestDisownStep(t *testing.T) {
	void := ruleTime.Add(time.Minute)
	d := disowned{token: "mine", claims: []store.Version{7, 0}, asked: []string{"theirs"}, until: void}
	for name, c := range map[string]struct {
		r    reading
		now  time.Time
		want disownStep
	}{
		"named":                      {reading{version: 9, record: storedRecord("mine", "here")}, ruleTime, disownFree},
		"named, long after":          {reading{version: 9, record: storedRecord("mine", "here")}, void.Add(time.Hour), disownFree},
		"claim may land":             {reading{version: 7, record: storedRecord("", "")}, ruleTime, disownKeep},
		"create may land":            {reading{}, ruleTime, disownKeep},
		"holder may grant":           {reading{version: 9, record: storedRecord("theirs", "there")}, ruleTime, disownKeep},
		"holder may grant no longer": {reading{version: 9, record: storedRecord("theirs", "there")}, void, disownForget},
		"another session":            {reading{version: 9, record: storedRecord("else", "there")}, ruleTime, disownForget},
		"free and moved on":          {reading{version: 9, record: storedRecord("", "")}, ruleTime, disownForget},
		"foreign":                    {reading{version: 9, problem: errors.New("not JSON")}, ruleTime, disownForget},
	} {
		t.Run(name, func(t *testing.T) {
			if got := disownStepOf(d, c.r, c.now); got != c.want {
				t.Errorf("disownStepOf = %d, want %d", got, c.want)
			}
		})
	}
}

func TestGivenBackAndFreedKeepTheData(t *testing.T) {
	r := storedRecord("mine", "here")
	back := givenBack(r, ruleTime)
	if back.session != nil || back.epoch != 3 || back.revision != 5 || !back.data.Equal(r.data) {
		t.Errorf("given back as %+v", back)
	}
	free := freed(r, node.EvidenceOrphan, ruleTime)
	if free.session != nil || free.epoch != 3 || free.tookFrom == nil || free.tookFrom.token != "mine" || free.tookFrom.epoch != 3 {
		t.Errorf("freed as %+v", free)
	}
}
