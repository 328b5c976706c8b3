package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/sim"
	"github.com/shoalworks/shoal/store"
)

// held is a session that a test makes up.
type held struct {
	epoch uint64
	data  doc.Value
}

func (h *held) Epoch() uint64    { return h.epoch }
func (h *held) Data() doc.Value  { return h.data }
func (h *held) Revision() uint64 { return 0 }
func (h *held) Transact(...doc.Op) (doc.Value, uint64, error) {
	return doc.Value{}, 0, nil
}
func (h *held) Save(context.Context) error    { return nil }
func (h *held) Sync(context.Context) error    { return nil }
func (h *held) Release(context.Context) error { return nil }
func (h *held) Done() <-chan struct{}         { return nil }
func (h *held) End() sim.End                  { return sim.Living }

// state is the data after a step: of whom, and the how-manieth in all.
func state(at string, steps int) doc.Value {
	return doc.Must(map[string]any{"at": at, "bag": []any{}, "pos": map[string]any{}, "stats": map[string]any{}, "steps": steps})
}

// book is a ledger in a world with two processes.
type book struct {
	*sim.Ledger
	w    *sim.World
	a, b *sim.Process
	now  time.Duration

	version store.Version // the last one given
	made    uint64        // after which step the next write was sent
}

func newBook(exact bool) *book {
	k := &book{}
	k.Ledger = sim.NewLedger(func() time.Duration { return k.now }, exact, sim.Anchor())
	k.w = sim.NewWorld(sim.WorldOptions{Wait: func() {}}, k.Ledger)
	k.a, k.b = k.w.NewProcess("A", 0), k.w.NewProcess("B", 0)
	k.Register("A-1", k.a)
	k.Register("B-1", k.b)
	return k
}

func (k *book) expect(t *testing.T, kinds ...string) {
	t.Helper()
	var got []string
	for _, v := range k.Violations() {
		got = append(got, v.Kind)
	}
	if !slices.Equal(got, kinds) {
		t.Errorf("%v, want %v", k.Violations(), kinds)
	}
}

func TestLedgerChecksLoads(t *testing.T) {
	// A makes two steps on p, and acknowledges the first.
	begin := func() *book {
		k := newBook(false)
		s := k.Opened(k.a, "p", &held{data: state("", 0)})
		k.Committed(s, state("p.A.0:1", 1), 1)
		k.Committed(s, state("p.A.0:2", 2), 2)
		k.Acknowledged(s, 1)
		k.now = time.Second
		return k
	}
	for _, c := range []struct {
		what string
		data doc.Value
		want []string
	}{
		{"all of it", state("p.A.0:2", 2), nil},
		{"the acknowledged prefix", state("p.A.0:1", 1), nil},
		{"the template", state("", 0), []string{"acknowledged lost"}},
		{"a step that nobody made", state("p.A.0:3", 3), []string{"no prefix", "no prefix", "acknowledged lost"}},
		{"altered data", state("p.A.0:2", 1), []string{"no prefix", "no prefix"}},
	} {
		k := begin()
		k.Opened(k.b, "p", &held{data: c.data})
		if c.want == nil {
			k.expect(t)
			continue
		}
		for _, kind := range c.want {
			if !slices.ContainsFunc(k.Violations(), func(v sim.Violation) bool { return v.Kind == kind }) {
				t.Errorf("%s: %v, want %s", c.what, k.Violations(), kind)
			}
		}
	}
}

func TestLedgerChecksAcknowledgementsAfterTheSuccessor(t *testing.T) {
	k := newBook(false)
	s := k.Opened(k.a, "p", &held{data: state("", 0)})
	k.Committed(s, state("p.A.0:1", 1), 1)
	k.now = time.Second
	k.Opened(k.b, "p", &held{data: state("", 0)})
	k.expect(t)
	k.Acknowledged(s, 1)
	k.expect(t, "acknowledged lost")
}

func TestLedgerChecksEnds(t *testing.T) {
	k := newBook(false)
	s := k.Opened(k.a, "p", &held{data: state("", 0)})
	k.Committed(s, state("p.A.0:1", 1), 1)
	k.Ended(s, sim.HandedOver, false) // everything is stored, it says
	k.now = time.Second
	k.Opened(k.b, "p", &held{data: state("", 0)})
	k.expect(t, "acknowledged lost")

	k = newBook(false)
	s = k.Opened(k.a, "p", &held{data: state("", 0)})
	k.Ended(s, sim.Lost, false)
	k.Committed(s, state("p.A.0:1", 1), 1)
	k.expect(t, "commit after the end")
}

func TestLedgerChecksCounts(t *testing.T) {
	k := newBook(false)
	s := k.Opened(k.a, "p", &held{data: state("", 0)})
	k.Committed(s, state("p.A.0:1", 2), 1)
	k.expect(t, "miscounted")
}

func TestLedgerKnowsTwoSessionsOfOneEpoch(t *testing.T) {
	k := newBook(true)
	k.Opened(k.a, "p", &held{epoch: 4, data: state("", 0)})
	k.Opened(k.b, "p", &held{epoch: 4, data: state("", 0)})
	k.expect(t, "two sessions")
}

// rec is a record as it is stored.
func rec(epoch, revision int, data doc.Value, session, more string) []byte {
	return fmt.Appendf(nil, `{"data":%s,"epoch":%d,"revision":%d,"session":%s%s}`, data, epoch, revision, session, more)
}

func by(node, token string) string {
	return fmt.Sprintf(`{"beating":true,"node":%q,"token":%q}`, node, token)
}

func (k *book) write(p *sim.Process, value []byte) {
	k.version++
	tx := store.Tx{{Key: "profile/players/p", Op: store.Put, Value: value, Version: k.version}}
	k.Wrote(p, tx, k.made)
	k.Landed(p, tx, k.now)
}

func TestLedgerChecksWrites(t *testing.T) {
	none := state("", 0)
	const took = `,"tookFrom":{"epoch":1,"evidence":"policy","node":"A-1","token":"ta"}`
	for _, c := range []struct {
		what  string
		write func(k *book)
		want  []string
	}{
		{"a claim after a release", func(k *book) {
			k.write(k.a, rec(1, 0, none, "null", ""))
			k.write(k.b, rec(2, 0, none, by("B-1", "tb"), ""))
		}, nil},
		{"a grant", func(k *book) { k.write(k.a, rec(2, 0, none, by("B-1", "tb"), "")) }, nil},
		{"a takeover", func(k *book) { k.write(k.b, rec(2, 0, none, by("B-1", "tb"), took)) }, nil},
		{"a takeover that frees", func(k *book) { k.write(k.b, rec(1, 0, none, "null", took)) }, nil},
		{"an ask in the record", func(k *book) {
			k.write(k.b, rec(1, 0, none, by("A-1", "ta"), `,"ask":{"token":"tb"}`))
		}, nil},
		{"a save of another", func(k *book) { k.write(k.b, rec(1, 1, none, by("A-1", "ta"), "")) }, []string{"changed"}},
		{"a release of another", func(k *book) { k.write(k.b, rec(1, 0, none, "null", "")) }, []string{"foreign write"}},
		{"a takeover without a word", func(k *book) { k.write(k.b, rec(2, 0, none, by("B-1", "tb"), "")) }, []string{"foreign write"}},
		{"a takeover for another", func(k *book) { k.write(k.b, rec(2, 0, none, by("C-1", "tc"), took)) }, []string{"foreign write"}},
		{"an epoch back", func(k *book) { k.write(k.a, rec(0, 0, none, by("A-1", "ta"), "")) }, []string{"epoch", "epoch"}},
		{"an epoch left out", func(k *book) { k.write(k.a, rec(3, 0, none, by("B-1", "tb"), "")) }, []string{"epoch"}},
		{"a session without an epoch", func(k *book) { k.write(k.a, rec(1, 0, none, by("B-1", "tb"), "")) }, []string{"epoch"}},
		{"a revision back", func(k *book) {
			k.write(k.a, rec(1, 5, none, by("A-1", "ta"), ""))
			k.write(k.a, rec(1, 4, none, by("A-1", "ta"), ""))
		}, []string{"revision back"}},
		{"data of nobody", func(k *book) { k.write(k.a, rec(1, 1, state("p.A.0:1", 1), by("A-1", "ta"), "")) }, []string{"no prefix", "foreign data"}},
		{"deleted", func(k *book) {
			k.Wrote(k.a, store.Tx{{Key: "profile/players/p", Op: store.Delete}}, 0)
		}, []string{"deleted"}},
		{"not JSON", func(k *book) { k.write(k.a, []byte("{")) }, []string{"not a record"}},
	} {
		k := newBook(true)
		k.write(k.a, rec(1, 0, none, by("A-1", "ta"), ""))
		c.write(k)
		var got []string
		for _, v := range k.Violations() {
			got = append(got, v.Kind)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, k.Violations(), c.want)
		}
	}
}

func TestLedgerChecksTheFirstWrite(t *testing.T) {
	k := newBook(true)
	k.write(k.a, rec(2, 0, state("", 0), by("A-1", "ta"), ""))
	k.expect(t, "bad create")
}

// beats has a host's beats land at these times, in seconds.
func (k *book) beats(p *sim.Process, id string, at ...int) {
	for _, s := range at {
		k.now = time.Duration(s) * time.Second
		k.Wrote(p, store.Tx{{Key: "node/" + id, Op: store.Put, Value: []byte("{}"), Version: 1}}, 0)
	}
}

// Rule B2: who judges has beaten without a gap for 1.5 beats, and the record vouches.
func TestLedgerChecksVerdicts(t *testing.T) {
	const took = `,"tookFrom":{"epoch":1,"evidence":"age","node":"A-1","token":"ta"}`
	for _, c := range []struct {
		what     string
		beats    []int
		looked   int
		vouching bool
		want     []string
	}{
		{"steady", []int{0, 4, 8, 12}, 13, true, nil},
		{"just started", []int{12}, 13, true, []string{"verdict"}},
		{"after a gap", []int{0, 4, 12}, 13, true, []string{"verdict"}},
		{"own beats too old", []int{0, 4, 8}, 20, true, []string{"verdict"}},
		{"no look", []int{0, 4, 8, 12}, -1, true, []string{"verdict"}},
		{"record does not vouch", []int{0, 4, 8, 12}, 13, false, []string{"verdict"}},
	} {
		k := newBook(true)
		session := by("A-1", "ta")
		if !c.vouching {
			session = strings.Replace(session, "true", "false", 1)
		}
		k.write(k.a, rec(1, 0, state("", 0), session, ""))
		k.beats(k.b, "B-1", c.beats...)
		if c.looked >= 0 {
			k.now = time.Duration(c.looked) * time.Second
			k.Saw(k.b, []store.Record{{Key: "node/A-1"}, {Key: "node/B-1"}}, k.now)
		}
		k.write(k.b, rec(2, 0, state("", 0), by("B-1", "tb"), took))
		var got []string
		for _, v := range k.Violations() {
			got = append(got, v.Kind)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, k.Violations(), c.want)
		}
	}
}
