package profile

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
)

// tradeReading is a record of a party at a version and revision, with these ids in it.
func tradeReading(version store.Version, token string, revision uint64, ids ...string) reading {
	r := storedRecord(token, "there") // epoch 3
	r.revision, r.marks = revision, nil
	for i, id := range ids {
		r.marks = append(r.marks, mark{id: id, revision: revision - uint64(len(ids)-1-i), digest: "d"})
	}
	return reading{version: version, record: r}
}

// ids are n ids that are not the trade's.
func ids(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint("other", i))
	}
	return out
}

func TestTraceOf(t *testing.T) {
	st := stake{hold: hold{token: "mine", epoch: 3, version: 10}, put: 11, revision: 8}
	erased := tradeReading(20, "", 9)
	erased.record.session, erased.record.erased = nil, time.Unix(1, 0)
	another := tradeReading(12, "mine", 8, "t")
	another.record.marks[0].digest = "e"
	pushedOut := tradeReading(20, "theirs", 100, ids(maxMarks)...)
	stillThere := tradeReading(20, "theirs", 8+maxMarks-1, ids(maxMarks)...) // the oldest is of the trade's revision
	broken := tradeReading(20, "theirs", 9)
	broken.problem = errors.New("broken")
	for name, c := range map[string]struct {
		r    reading
		want trace
	}{
		"its version":               {tradeReading(11, "mine", 8, "t"), traceLanded},
		"as it was":                 {tradeReading(10, "mine", 7), traceOpen},
		"moved on with it":          {tradeReading(12, "mine", 8, "t"), traceLanded},
		"moved on without it":       {tradeReading(12, "mine", 7), traceNever},
		"moved on, another request": {another, traceNever},
		"moved on, full of ids":     {tradeReading(12, "mine", 100, ids(maxMarks)...), traceNever},
		"taken over with it":        {tradeReading(20, "theirs", 12, "t", "x"), traceLanded},
		"taken over before it":      {tradeReading(20, "theirs", 7), traceNever},
		"taken over, played on":     {tradeReading(20, "theirs", 100, ids(maxMarks-1)...), traceNever},
		"taken over, remembers":     {stillThere, traceNever},
		"taken over, forgotten":     {pushedOut, traceNone},
		"erased":                    {erased, traceNone},
		"missing":                   {reading{}, traceNone},
		"unreadable":                {broken, traceNone},
	} {
		if got := traceOf("t", "d", st, c.r); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestFateOf(t *testing.T) {
	stakes := []stake{
		{hold: hold{token: "mine", epoch: 3, version: 10}, put: 11, revision: 8},
		{hold: hold{token: "also mine", epoch: 3, version: 20}, put: 21, revision: 4},
	}
	was, put := tradeReading(10, "mine", 7), tradeReading(11, "mine", 8, "t")
	was2, put2 := tradeReading(20, "also mine", 3), tradeReading(21, "also mine", 4, "t")
	moved2, none, none2 := tradeReading(22, "also mine", 3), tradeReading(19, "theirs", 100, ids(maxMarks)...), reading{}
	for name, c := range map[string]struct {
		rs      []reading
		refused bool
		want    fate
		open    int
	}{
		"landed":                       {[]reading{put, put2}, false, fateLanded, -1},
		"one read before it":           {[]reading{was, put2}, false, fateLanded, -1},
		"one read before it, refused":  {[]reading{was, put2}, true, fateLanded, -1},
		"one is gone":                  {[]reading{none, put2}, false, fateLanded, -1},
		"may land":                     {[]reading{was, was2}, false, fateOpen, 0},
		"may land, one is gone":        {[]reading{none, was2}, false, fateOpen, 1},
		"refused":                      {[]reading{was, was2}, true, fateRefused, -1},
		"one has moved on":             {[]reading{was, moved2}, false, fateRefused, -1},
		"one has moved on, one gone":   {[]reading{none, moved2}, false, fateRefused, -1},
		"nobody knows":                 {[]reading{none, none2}, false, fateLost, -1},
		"nobody knows, but the answer": {[]reading{none, none2}, true, fateRefused, -1},
	} {
		if got, open := fateOf("t", "d", stakes, c.rs, c.refused); got != c.want || open != c.open {
			t.Errorf("%s: %d of %d, want %d of %d", name, got, open, c.want, c.open)
		}
	}
}

func TestPartyStepOf(t *testing.T) {
	st := stake{hold: hold{token: "mine", epoch: 3, version: 10}, put: 11, revision: 8}
	for name, c := range map[string]struct {
		r    reading
		want partyStep
	}{
		"as it was":  {tradeReading(10, "mine", 7), partyStands},
		"traded":     {tradeReading(11, "mine", 8), partyStands},
		"asked for":  {tradeReading(12, "mine", 8), partyAdopts},
		"taken over": {tradeReading(12, "theirs", 8), partyLost},
		"missing":    {reading{}, partyLost},
	} {
		if got := partyStepOf(st, c.r); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
