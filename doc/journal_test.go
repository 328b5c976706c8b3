package doc_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// holder plays the part of a session that keeps a checkpoint and a journal with
// two trails: one since the last acknowledged save, and one since the snapshot of
// a save that is still in flight.
type holder struct {
	model  any
	states []doc.Value // by revision

	base   int // revision of the last acknowledged save
	sent   int // revision of the save in flight, 0 for none
	over   int // revision that it replaces
	since  doc.Trail
	flight doc.Trail

	record  int    // revision in the durable store
	late    []save // saves whose answers were lost, and which may still arrive
	journal journal
}

// save is a write of a revision on the condition that the record holds another.
type save struct{ rev, over int }

// journal is what the fast store holds.
type journal struct {
	base, rev int
	effects   []byte
}

func (h *holder) now() doc.Value { return h.states[len(h.states)-1] }

func (h *holder) rev() int { return len(h.states) - 1 }

func (h *holder) commit(op doc.Op) {
	next, err := modelApply(h.model, op)
	if err != nil {
		return
	}
	h.model = next
	prev := h.now()
	now, _ := doc.Apply(prev, op)
	h.states = append(h.states, now)
	if h.sent > 0 {
		h.flight.Add(prev, now)
	} else {
		h.since.Add(prev, now)
	}
}

// save takes a snapshot and sends it.
func (h *holder) save() {
	if h.sent == 0 && h.rev() > h.record {
		h.sent, h.over = h.rev(), h.record // The holder has read the record.
	}
}

// land is the save arriving in the store, or an older one that everybody had
// given up; the holder may never hear of it.
func (h *holder) land(t *rapid.T) {
	if len(h.late) > 0 && rapid.Bool().Draw(t, "late") {
		if s := rapid.SampledFrom(h.late).Draw(t, "which"); s.over == h.record {
			h.record = s.rev
		}
		return
	}
	if h.sent > 0 && h.over == h.record {
		h.record = h.sent
	}
}

// answer is the holder hearing of the save.
func (h *holder) answer() {
	if h.sent == 0 || h.record != h.sent {
		return
	}
	h.base, h.sent = h.sent, 0
	h.since, h.flight = h.flight, doc.Trail{}
}

// lose is the holder giving up on the answer: the save landed, or did not.
func (h *holder) lose() {
	if h.sent > 0 {
		h.late = append(h.late, save{h.sent, h.over})
	}
	h.sent = 0
	h.since.Join(&h.flight)
	h.flight.Reset()
}

// beat stores the effects of everything since the last acknowledged save.
func (h *holder) beat(t *rapid.T) {
	if h.rev() == h.base {
		return
	}
	var all doc.Trail
	all.Join(&h.since)
	all.Join(&h.flight)
	text, err := json.Marshal(all.Effects(h.now()))
	if err != nil {
		t.Fatal(err)
	}
	h.journal = journal{base: h.base, rev: h.rev(), effects: text}
}

// recover is a successor: the record, and the journal if it is newer.
func (h *holder) recover(t *rapid.T) (doc.Value, int) {
	record := h.states[h.record]
	if h.journal.rev <= h.record || h.record < h.journal.base {
		return record, h.record
	}
	var effects doc.Effects
	if err := json.Unmarshal(h.journal.effects, &effects); err != nil {
		t.Fatalf("%s: %v", h.journal.effects, err)
	}
	got, err := effects.Apply(record)
	if err != nil {
		t.Fatalf("journal %d to %d on record %d: %v", h.journal.base, h.journal.rev, h.record, err)
	}
	return got, h.journal.rev
}

// Whenever the holder dies, and whether its saves had landed or not, a successor
// gets exactly the state after the newest commit that record or journal hold
// (PROTOCOL J2 and H5): nothing doubled, nothing skipped, nothing old come back.
func TestJournalRecoversAPrefix(t *testing.T) { rapid.Check(t, journalRecoversAPrefix) }

func journalRecoversAPrefix(t *rapid.T) {
	model := genTree(3).Draw(t, "document")
	h := &holder{model: model, states: []doc.Value{doc.Must(model)}}
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0:
			h.save()
		case 1:
			h.land(t)
		case 2:
			h.answer()
		case 3:
			h.lose()
		case 4, 5:
			h.beat(t)
		default:
			h.commit(genOp(h.model).Draw(t, "op"))
		}
		got, rev := h.recover(t)
		if want := h.states[rev]; !got.Equal(want) {
			t.Fatalf("recovered %s at revision %d, want %s", got, rev, want)
		}
	}
}

func FuzzJournal(f *testing.F) { f.Fuzz(rapid.MakeFuzz(journalRecoversAPrefix)) }

// The counterexample that makes trails necessary: between the ends nothing
// changed, so effects of the ends alone leave a checkpoint in the middle as it is.
func TestEffectsOfTheEndsAreNotEnough(t *testing.T) {
	s0 := parse(t, `{"door":"shut","gold":1}`)
	s1, err := doc.Apply(s0, doc.Set("/door", doc.MustString("open")), doc.Increment("/gold", 1))
	if err != nil {
		t.Fatal(err)
	}
	s2, err := doc.Apply(s1, doc.Set("/door", doc.MustString("shut")))
	if err != nil {
		t.Fatal(err)
	}
	ends, err := doc.EffectsBetween(s0, s2).Apply(s1)
	if err != nil || ends.Equal(s2) {
		t.Fatalf("the ends alone would be enough: %s (%v)", ends, err)
	}
	var trail doc.Trail
	trail.Add(s0, s1)
	trail.Add(s1, s2)
	if got, err := trail.Effects(s2).Apply(s1); err != nil || !got.Equal(s2) {
		t.Fatalf("the trail gives %s (%v)", got, err)
	}
}
