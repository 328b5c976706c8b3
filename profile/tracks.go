package profile

import "github.com/shoalworks/shoal/doc"

// tracks are what a session's journal is made of: which places of the data were touched
// since a state that the record holds, or may come to hold. The record only ever holds states
// that saves took a snapshot of; so the tracks are cut into spans at these, and the journal
// is made of the spans from the last acknowledged save on.
type tracks struct {
	seen  doc.Value // what was touched up to this state has been noted
	spans []span    // oldest first, never empty
}

type span struct {
	from  uint64 // revision of the state at its beginning
	trail doc.Trail
}

// maxSpans bounds the snapshots that are told apart. When more saves are of unknown outcome,
// older spans become one: a journal then holds more than it needs to, and is right all the
// same.
const maxSpans = 8

func newTracks(data doc.Value, revision uint64) tracks {
	return tracks{seen: data, spans: []span{{from: revision}}}
}

// follow notes what was touched up to a state.
func (t *tracks) follow(now doc.Value) {
	t.spans[len(t.spans)-1].trail.Add(t.seen, now)
	t.seen = now
}

// cut begins a span at a state: of a snapshot that is about to be stored, or the last one
// that may be journaled.
func (t *tracks) cut(now doc.Value, revision uint64) {
	t.follow(now)
	if t.spans[len(t.spans)-1].from == revision {
		return
	}
	t.spans = append(t.spans, span{from: revision})
	if len(t.spans) > maxSpans {
		t.spans[0].trail.Join(&t.spans[1].trail)
		t.spans = append(t.spans[:1], t.spans[2:]...)
	}
}

// settle forgets what is stored up to a revision.
func (t *tracks) settle(base uint64) {
	n := 0
	for n+1 < len(t.spans) && t.spans[n+1].from <= base {
		n++
	}
	t.spans = t.spans[n:]
}

// cover tells that nothing since a revision has been forgotten. It has when the record store
// went back in time: then a save comes first.
func (t *tracks) cover(base uint64) bool { return t.spans[0].from <= base }

// effects are what the journal of a state holds: everything touched from the oldest span on,
// up to the state, which is the newest one or one at which a span begins.
func (t *tracks) effects(now doc.Value, revision uint64) (e doc.Effects) {
	t.effectsInto(&e, now, revision)
	return e
}

// effectsInto is effects in the memory of earlier ones (see [doc.Trail.EffectsInto]).
func (t *tracks) effectsInto(e *doc.Effects, now doc.Value, revision uint64) {
	n := 0
	for n < len(t.spans) && t.spans[n].from < revision {
		n++
	}
	if n == 1 { // as it is unless a save is under way
		t.spans[0].trail.EffectsInto(e, now)
		return
	}
	var all doc.Trail
	for i := range t.spans[:n] {
		all.Join(&t.spans[i].trail)
	}
	all.EffectsInto(e, now)
}
