package node_test

import (
	"testing"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

var rules = node.Rules{DeadAfter: 4 * time.Second, LeaseTimeout: 300 * time.Second, Beat: time.Second}

func at(d time.Duration) time.Time { return time.Unix(1_800_000_000, 0).Add(d) }

// look is a look at d that may judge and saw version v (0: none) of the given age.
func look(d time.Duration, v store.Version, age time.Duration) node.Look {
	return node.Look{Sent: at(d), At: at(d), MayJudge: true, Present: v != 0, Version: v, Age: age}
}

func TestJudge(t *testing.T) {
	beating, fallback := node.Held{Beating: true, Age: time.Hour}, node.Held{Age: 10 * time.Second}
	blind := look(0, 7, time.Hour)
	blind.MayJudge = false
	closed := look(0, 7, 0)
	closed.Closed = true
	known := look(10*time.Second, 7, time.Hour)
	known.Since = at(0)
	known0 := known
	known0.Age = 0
	slow := look(5*time.Second, 7, time.Hour)
	slow.Sent = at(time.Second)
	for _, c := range []struct {
		what          string
		held          node.Held
		first, latest node.Look
		want          node.Verdict
		evidence      node.Evidence
	}{
		{"young beat", beating, look(0, 7, time.Second), look(0, 7, time.Second), node.Alive, ""},
		{"beat exactly at the limit", beating, look(0, 7, 4*time.Second), look(0, 7, 4*time.Second), node.Alive, ""},
		{"old beat, seen for a beat and a quarter", beating, look(0, 7, 3*time.Second), look(1251*time.Millisecond, 7, 4001*time.Millisecond), node.Dead, node.EvidenceAge},
		{"old beat, seen for too short", beating, look(0, 7, 3*time.Second), look(1250*time.Millisecond, 7, 4001*time.Millisecond), node.Undecided, ""},
		{"old beat, seen once", beating, look(0, 7, time.Hour), look(0, 7, time.Hour), node.Undecided, ""},
		{"old beat, seen long ago by others of the node", beating, known, known, node.Dead, node.EvidenceAge},
		{"old beat, but another one than before", beating, look(0, 6, 0), look(3*time.Second, 7, time.Hour), node.Undecided, ""},
		{"old beat, and the second answer came late", beating, look(0, 7, 4*time.Second), slow, node.Undecided, ""},
		{"old beat, but the looker may not judge", beating, blind, blind, node.Undecided, ""},
		{"closed", beating, closed, closed, node.Dead, node.EvidenceClosed},
		{"closed counts without a vouching record", fallback, closed, closed, node.Dead, node.EvidenceClosed},
		{"missing once", beating, look(0, 0, 0), look(0, 0, 0), node.Undecided, ""},
		{"missing twice, too soon", beating, look(0, 0, 0), look(3*time.Second, 0, 0), node.Undecided, ""},
		{"missing twice", beating, look(0, 0, 0), look(4*time.Second, 0, 0), node.Dead, node.EvidenceAbsent},
		{"unmoved with a store clock that stands still", beating, look(0, 7, 0), look(4*time.Second, 7, 0), node.Dead, node.EvidenceUnmoved},
		{"unmoved since long ago, as others of the node know", beating, known0, known0, node.Dead, node.EvidenceUnmoved},
		{"moved in between", beating, look(0, 6, 0), look(4*time.Second, 7, 0), node.Alive, ""},
		{"came back in between", beating, look(0, 0, 0), look(9*time.Second, 7, 0), node.Alive, ""},
		{"vanished in between", beating, look(0, 7, 0), look(9*time.Second, 0, 0), node.Undecided, ""},
		{"not beating: an old beat is no evidence", fallback, look(0, 7, time.Hour), look(9*time.Second, 7, time.Hour), node.Undecided, ""},
		{"not beating: a missing beat is no evidence", fallback, look(0, 0, 0), look(9*time.Second, 0, 0), node.Undecided, ""},
		{"not beating, lease run out", node.Held{Age: 301 * time.Second}, look(0, 0, 0), look(0, 0, 0), node.Dead, node.EvidenceLease},
		{"beating: the record's age is no evidence", beating, look(0, 7, 0), look(0, 7, 0), node.Alive, ""},
	} {
		if got, evidence := node.Judge(c.held, c.first, c.latest, rules); got != c.want || evidence != c.evidence {
			t.Errorf("%s: %v %q, want %v %q", c.what, got, evidence, c.want, c.evidence)
		}
	}
}

func TestFirstLookStaysWhileNothingMoves(t *testing.T) {
	a, b, c := look(0, 7, 0), look(time.Second, 7, 0), look(2*time.Second, 8, 0)
	if got := node.FirstLook(node.Look{}, a); got != a {
		t.Errorf("without a first look: %v", got)
	}
	if got := node.FirstLook(a, b); got != a {
		t.Errorf("unmoved: %v, want the first", got)
	}
	if got := node.FirstLook(a, c); got != c {
		t.Errorf("moved: %v, want the latest", got)
	}
}

const beat = time.Second

// steadyPulse is a pulse of beats at -3, -2, -1 and 0 s, each answered after 10 ms.
func steadyPulse() node.Pulse {
	var p node.Pulse
	for i := -3; i <= 0; i++ {
		sent := at(time.Duration(i) * beat)
		p = p.Landed(store.Version(10+i), sent, sent.Add(10*time.Millisecond), beat)
	}
	return p
}

func own(v store.Version, age time.Duration) store.Record {
	return store.Record{Key: "node/me", Version: v, Age: age}
}

func TestMayJudge(t *testing.T) {
	ms := time.Millisecond
	fresh := node.Pulse{}.Landed(10, at(0), at(10*ms), beat)
	run := fresh.Landed(11, at(beat), at(beat+10*ms), beat).Landed(12, at(2*beat), at(2*beat+10*ms), beat)
	gap := steadyPulse().Landed(11, at(1600*ms), at(1610*ms), beat)
	for _, c := range []struct {
		what           string
		pulse          node.Pulse
		own            store.Record
		sent, answered time.Duration
		may, moved     bool
	}{
		{"steady", steadyPulse(), own(10, 300*ms), 300 * ms, 310 * ms, true, false},
		{"no beat yet", node.Pulse{}, own(0, 0), 300 * ms, 310 * ms, false, false},
		{"own beat not seen", steadyPulse(), own(0, 0), 300 * ms, 310 * ms, false, false},
		{"an older own beat seen (replica, failover)", steadyPulse(), own(9, 1300*ms), 300 * ms, 310 * ms, false, false},
		{"just started", fresh, own(10, 300*ms), 300 * ms, 310 * ms, false, false},
		{"run shorter than 2.5 beats", run, own(12, 300*ms), 2300 * ms, 2310 * ms, false, false},
		{"run of 2.5 beats", run, own(12, 500*ms), 2500 * ms, 2510 * ms, true, false},
		{"a gap begins a new run", gap, own(11, 300*ms), 1900 * ms, 1910 * ms, false, false},
		{"last beat too long ago", steadyPulse(), own(10, 1600*ms), 1600 * ms, 1610 * ms, false, false},
		{"store clock a minute ahead", steadyPulse(), own(10, 60*time.Second), 300 * ms, 310 * ms, false, true},
		{"store clock 0.6 beats ahead", steadyPulse(), own(10, 910*ms+10*ms), 300 * ms, 310 * ms, false, true},
		{"store clock went back", steadyPulse(), own(10, 0), 900 * ms, 910 * ms, false, true},
		{"within half a beat", steadyPulse(), own(10, 700*ms), 300 * ms, 310 * ms, true, false},
		{"slept between sending and answer", steadyPulse(), own(10, 300*ms), 300 * ms, 61 * time.Second, false, false},
	} {
		may, moved := c.pulse.MayJudge(c.own, at(c.sent), at(c.answered), beat)
		if may != c.may || moved != c.moved {
			t.Errorf("%s: may %v moved %v, want %v %v", c.what, may, moved, c.may, c.moved)
		}
	}
}

func TestMarks(t *testing.T) {
	ms := time.Millisecond
	marked := node.Pulse{}.Marked(0, 50, at(0), at(10*ms))
	both := marked.Marked(1, 51, at(15*beat), at(15*beat+10*ms))
	none := store.Record{}
	for _, c := range []struct {
		what           string
		pulse          node.Pulse
		seen           [2]store.Record
		sent           time.Duration
		vouched, moved bool
	}{
		{"no mark", node.Pulse{}, [2]store.Record{none, none}, 2 * beat, false, false},
		{"old enough", marked, [2]store.Record{own(50, 2*beat), none}, 2 * beat, true, false},
		{"too young", marked, [2]store.Record{own(50, beat), none}, beat, false, false},
		{"gone", marked, [2]store.Record{none, none}, 2 * beat, false, false},
		{"another's", marked, [2]store.Record{own(49, 2*beat), none}, 2 * beat, false, false},
		{"the store's clock went on", marked, [2]store.Record{own(50, 62*beat), none}, 2 * beat, false, true},
		{"the store's clock went back", marked, [2]store.Record{own(50, 0), none}, 2 * beat, false, true},
		{"the older one vouches", both, [2]store.Record{own(50, 15200*ms), own(51, 200*ms)}, 15200 * ms, true, false},
		{"the younger one tells of a step", both, [2]store.Record{own(50, 15200*ms), own(51, 60*beat)}, 15200 * ms, true, true},
	} {
		after, vouched, moved := c.pulse.ReadMarks(c.seen, at(c.sent), at(c.sent+10*ms), beat)
		if vouched != c.vouched || moved != c.moved {
			t.Errorf("%s: vouched %v moved %v, want %v %v", c.what, vouched, moved, c.vouched, c.moved)
		}
		if _, again, _ := after.ReadMarks(c.seen, at(c.sent), at(c.sent+10*ms), beat); moved && again && c.what != "the younger one tells of a step" {
			t.Errorf("%s: a mark that told of a step vouches afterwards", c.what)
		}
	}
	if slot, due := (node.Pulse{}).MarkDue(at(0), beat); !due || slot != 0 && slot != 1 {
		t.Error("the first mark is not due")
	}
	if _, due := marked.MarkDue(at(3*beat), beat); due {
		t.Error("due too soon")
	}
	if slot, due := marked.MarkDue(at(5*beat), beat); !due || slot != 1 {
		t.Errorf("slot %d due %v, want the other one", slot, due)
	}
	if slot, due := both.MarkDue(at(20*beat), beat); !due || slot != 0 {
		t.Errorf("slot %d due %v, want the older one", slot, due)
	}
}

func TestPulseKnowsItsOwnBeats(t *testing.T) {
	p := steadyPulse().SentUnknown(20, at(beat)).SentUnknown(21, at(2*beat))
	for v, want := range map[store.Version]bool{10: true, 20: true, 21: true, 9: false, 0: false} {
		if p.Own(v) != want {
			t.Errorf("version %d own: %v, want %v", v, !want, want)
		}
	}
	if p = p.Landed(22, at(3*beat), at(3*beat), beat); p.Own(20) || !p.Own(22) {
		t.Error("a landed beat fences the unknown ones before it")
	}
	if p = p.Forgotten(); p.Own(22) || !p.Suspect(at(3*beat), beat, 4*beat) {
		t.Error("a forgotten beat is own no more, and the node suspect")
	}
}

func TestSuspect(t *testing.T) {
	p := steadyPulse()
	if p.Suspect(at(2500*time.Millisecond), beat, 4*beat) {
		t.Error("suspect at DeadAfter − 1.5 beats, want not yet")
	}
	if !p.Suspect(at(2501*time.Millisecond), beat, 4*beat) {
		t.Error("not suspect after DeadAfter − 1.5 beats")
	}
	if p.Suspect(at(1250*time.Millisecond), beat, 2*beat) || !p.Suspect(at(1251*time.Millisecond), beat, 2*beat) {
		t.Error("with DeadAfter of two beats: suspect after a beat and a quarter expected")
	}
}

// A node whose beats land late is suspect until two in a row have landed in time.
func TestSuspectStaysUntilTwoBeatsLandInTime(t *testing.T) {
	ms := time.Millisecond
	p := steadyPulse()
	suspect := func(at time.Time, want bool, when string) {
		t.Helper()
		if p.Suspect(at, beat, 4*beat) != want {
			t.Errorf("%s: suspect %v", when, !want)
		}
	}
	p = p.Landed(20, at(beat), at(2501*ms), beat)
	suspect(at(2510*ms), true, "a beat that was answered too late")
	p = p.Landed(21, at(3*beat), at(3*beat), beat)
	suspect(at(3*beat), true, "one in time")
	late := p.Landed(22, at(6*beat), at(6*beat), beat)
	if !late.Landed(23, at(7*beat), at(7*beat), beat).Suspect(at(7*beat), beat, 4*beat) {
		t.Error("one, one late, one: not suspect")
	}
	if !p.Forgotten().Landed(24, at(4*beat), at(4*beat), beat).Landed(25, at(5*beat), at(8*beat), beat).Suspect(at(8*beat), beat, 4*beat) {
		t.Error("a store that forgot makes the node forget its doubts")
	}
	p = p.Landed(22, at(4*beat), at(4*beat), beat)
	suspect(at(4*beat), false, "two in time")
	suspect(at(6501*ms), true, "the next is overdue")
	p = p.Landed(23, at(6400*ms), at(6500*ms), beat)
	suspect(at(6501*ms), false, "the next has come just in time")
}

func TestEstimate(t *testing.T) {
	storeTime := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	got, fresh := node.EstimateAt(at(0), at(2*time.Second), storeTime, at(11*time.Second))
	if want := storeTime.Add(10 * time.Second); !got.Equal(want) || !fresh {
		t.Errorf("got %v fresh %v, want %v", got, fresh, want)
	}
	if _, fresh := node.EstimateAt(at(0), at(0), storeTime, at(61*time.Second)); fresh {
		t.Error("an estimate of 61 s ago is fresh")
	}
}

func TestNextTick(t *testing.T) {
	for _, c := range []struct{ now, want time.Duration }{
		{0, time.Second},
		{200 * time.Millisecond, time.Second},
		{time.Second, 2 * time.Second},
		{61*time.Second + 1, 62 * time.Second},
	} {
		if got := node.NextTick(at(0), at(c.now), time.Second); !got.Equal(at(c.want)) {
			t.Errorf("at %v: next %v, want %v", c.now, got.Sub(at(0)), c.want)
		}
	}
}
