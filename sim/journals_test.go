package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/sim"
	"github.com/shoalworks/shoal/store"
)

// opened is a book in which A has opened p, and has made two steps of which nothing is stored.
func opened() (*book, *sim.Tenure) {
	k := newBook(true)
	k.write(k.a, rec(1, 0, state("", 0), by("A-1", "ta"), ""))
	s := k.Opened(k.a, "p", &held{epoch: 1, data: state("", 0)})
	k.Committed(s, state("p.A.0:1", 1), 1)
	k.Committed(s, state("p.A.0:2", 2), 2)
	return k, s
}

// entry is a journal as A's session writes it.
type entry struct {
	token     string
	epoch     int
	base, rev int
	digest    doc.Value // of this data; none: of the template
	effects   string
	more      string
}

// usual is what A's session would write after its first step.
func usual() entry {
	return entry{token: "ta", epoch: 1, rev: 1, digest: state("", 0), effects: `{"set":{"/at":"p.A.0:1","/steps":1}}`}
}

func second() entry {
	e := usual()
	e.rev, e.effects = 2, `{"set":{"/at":"p.A.0:2","/steps":2}}`
	return e
}

func (e entry) sealed() entry {
	e.more = `,"sealedBy":"tb"`
	return e
}

func (e entry) text() []byte {
	return fmt.Appendf(nil, `{"base":%d,"baseDigest":%q,"effects":%s,"epoch":%d,"format":1,"rev":%d,"schema":1,"token":%q%s}`,
		e.base, e.digest.Digest(), e.effects, e.epoch, e.rev, e.token, e.more)
}

func (k *book) journal(p *sim.Process, e entry) {
	k.version++
	tx := store.Tx{{Key: "journal/players/p", Op: store.Put, Value: e.text(), Version: k.version}}
	k.Wrote(p, tx, k.made)
	k.Landed(p, tx, k.now)
}

// save has A's session save its first n steps, 0 or 1.
func (k *book) save(n int) {
	data := state("", 0)
	if n == 1 {
		data = state("p.A.0:1", 1)
	}
	k.write(k.a, rec(1, n, data, by("A-1", "ta"), ""))
}

func (k *book) kinds() []string {
	var got []string
	for _, v := range k.Violations() {
		got = append(got, v.Kind)
	}
	return got
}

const robbed = `,"tookFrom":{"epoch":1,"evidence":"policy","node":"A-1","token":"ta"}`

// An acknowledgement has to be in the record, or in a journal that every takeover replays.
func TestLedgerChecksWhatIsStored(t *testing.T) {
	for _, c := range []struct {
		what string
		do   func(k *book, s *sim.Tenure)
		want []string
	}{
		{"nothing stored", func(*book, *sim.Tenure) {}, []string{"acknowledged, not stored"}},
		{"saved", func(k *book, _ *sim.Tenure) { k.save(1) }, nil},
		{"journaled, and saved afterwards", func(k *book, _ *sim.Tenure) {
			k.journal(k.a, usual())
			k.save(0)
		}, nil},
		{"journaled, and no save (rule H4)", func(k *book, _ *sim.Tenure) { k.journal(k.a, usual()) }, []string{"acknowledged, not stored"}},
		{"journaled by another session", func(k *book, _ *sim.Tenure) {
			e := usual()
			e.token = "tz"
			k.journal(k.a, e)
			k.save(0)
		}, []string{"foreign journal", "acknowledged, not stored"}},
		{"journaled, saved, forgotten while the answer was on its way", func(k *book, _ *sim.Tenure) {
			k.journal(k.a, usual())
			k.save(0)
			k.Forgot()
		}, nil},
		{"forgotten, and saved since without it", func(k *book, _ *sim.Tenure) {
			k.journal(k.a, usual())
			k.save(0)
			k.Forgot()
			k.save(0)
		}, []string{"acknowledged, not stored"}},
	} {
		k, s := opened()
		c.do(k, s)
		k.Acknowledged(s, 1)
		if got := k.kinds(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, k.Violations(), c.want)
		}
	}
}

// Only the loss of the fast store's memory and of the node, both, excuse a loss, and only
// until the holder has found out.
func TestLedgerExcusesDoubleFaultsOnly(t *testing.T) {
	for _, c := range []struct {
		what    string
		do      func(k *book, s *sim.Tenure)
		want    []string
		excused int
	}{
		{"forgotten, taken over", func(k *book, _ *sim.Tenure) {
			k.Forgot()
			k.write(k.b, rec(2, 0, state("", 0), by("B-1", "tb"), robbed))
			k.Opened(k.b, "p", &held{epoch: 2, data: state("", 0)})
		}, nil, 1},
		{"taken over", func(k *book, _ *sim.Tenure) {
			k.write(k.b, rec(2, 0, state("", 0), by("B-1", "tb"), robbed))
		}, []string{"acknowledged lost"}, 0},
		{"forgotten, released", func(k *book, _ *sim.Tenure) {
			k.Forgot()
			k.write(k.a, rec(1, 0, state("", 0), "null", ""))
		}, []string{"acknowledged lost"}, 0},
		{"forgotten, granted", func(k *book, _ *sim.Tenure) {
			k.Forgot()
			k.write(k.a, rec(2, 0, state("", 0), by("B-1", "tb"), ""))
		}, []string{"acknowledged lost"}, 0},
		{"forgotten, found out, taken over", func(k *book, _ *sim.Tenure) {
			k.Forgot()
			k.journal(k.a, usual())
			k.save(1)
			k.write(k.b, rec(2, 0, state("", 0), by("B-1", "tb"), robbed))
		}, []string{"revision back", "foreign data", "acknowledged lost"}, 0},
		{"forgotten, journaled again, taken over before the save", func(k *book, _ *sim.Tenure) {
			k.Forgot()
			k.journal(k.a, usual())
			k.write(k.b, rec(2, 0, state("", 0), by("B-1", "tb"), robbed))
		}, nil, 1},
		{"forgotten, freed by somebody, claimed", func(k *book, _ *sim.Tenure) {
			k.Forgot()
			k.write(k.b, rec(1, 0, state("", 0), "null", robbed))
			k.write(k.b, rec(2, 0, state("", 0), by("B-1", "tb"), robbed))
			k.Opened(k.b, "p", &held{epoch: 2, data: state("", 0)})
		}, nil, 1},
		{"ended in order", func(k *book, s *sim.Tenure) {
			k.Ended(s, sim.Released, false)
		}, []string{"ended, not stored", "acknowledged, not stored"}, 0},
		{"removed under the session", func(k *book, _ *sim.Tenure) {
			k.Wrote(k.b, store.Tx{{Key: "journal/players/p", Op: store.Delete}}, 0)
		}, []string{"journal removed", "acknowledged, not stored"}, 0},
		{"sealed, restored without the seal, journaled on, taken over", func(k *book, s *sim.Tenure) {
			k.journal(k.b, usual().sealed())
			k.Reverted("p", usual().text())
			k.journal(k.a, second())
			k.Acknowledged(s, 2)
			k.write(k.b, rec(2, 1, state("p.A.0:1", 1), by("B-1", "tb"), robbed))
		}, nil, 1},
	} {
		k, s := opened()
		k.journal(k.a, usual())
		k.save(0)
		k.Acknowledged(s, 1)
		c.do(k, s)
		if got := k.kinds(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, k.Violations(), c.want)
		}
		if got := k.Excused(); got != c.excused {
			t.Errorf("%s: %d excused, want %d", c.what, got, c.excused)
		}
	}
}

func TestLedgerChecksAppends(t *testing.T) {
	altered := func(change func(e *entry)) func(k *book) {
		return func(k *book) {
			e := usual()
			change(&e)
			k.journal(k.a, e)
		}
	}
	for _, c := range []struct {
		what  string
		write func(k *book)
		want  []string
	}{
		{"an append", altered(func(*entry) {}), nil},
		{"two", func(k *book) {
			k.journal(k.a, usual())
			k.journal(k.a, second())
		}, nil},
		{"a commit that nobody made", altered(func(e *entry) { e.rev = 3 }), []string{"foreign journal"}},
		{"the effects of another step", altered(func(e *entry) { e.rev = 2 }), []string{"replay"}},
		{"one effect too few", altered(func(e *entry) { e.effects = `{"set":{"/steps":1}}` }), []string{"replay"}},
		{"another's token", altered(func(e *entry) { e.token = "tb" }), []string{"foreign journal"}},
		{"another epoch", altered(func(e *entry) { e.epoch = 2 }), []string{"foreign journal", "base", "foreign journal"}},
		{"a base that is not stored", altered(func(e *entry) { e.base = 1 }), []string{"base"}},
		{"the digest of another base", altered(func(e *entry) { e.digest = state("", 1) }), []string{"base"}},
		{"by another server", func(k *book) { k.journal(k.b, usual()) }, []string{"foreign journal"}},
		{"going back", func(k *book) {
			k.journal(k.a, second())
			k.journal(k.a, usual())
		}, []string{"journal back"}},
		{"on a seal", func(k *book) {
			k.journal(k.a, usual())
			k.journal(k.b, usual().sealed())
			k.journal(k.a, second())
		}, []string{"seal ignored"}},
		{"the base of a save that is not answered", func(k *book) {
			k.version++
			k.Wrote(k.a, store.Tx{{Key: "profile/players/p", Op: store.Put, Value: rec(1, 1, state("p.A.0:1", 1), by("A-1", "ta"), ""), Version: k.version}}, 0)
			e := second()
			e.base, e.digest = 1, state("p.A.0:1", 1)
			k.journal(k.a, e)
		}, []string{"base"}},
		{"a seal that keeps the entries", func(k *book) {
			k.journal(k.a, usual())
			k.journal(k.b, usual().sealed())
		}, nil},
		{"a seal that drops the entries", func(k *book) {
			k.journal(k.a, usual())
			e := usual().sealed()
			e.effects = `{}`
			k.journal(k.b, e)
		}, []string{"seal"}},
		{"over a newer session's", func(k *book) {
			k.write(k.b, rec(2, 0, state("", 0), by("B-1", "tb"), robbed))
			s := k.Opened(k.b, "p", &held{epoch: 2, data: state("", 0)})
			k.Committed(s, state("p.B.1:1", 1), 1)
			k.journal(k.b, entry{token: "tb", epoch: 2, rev: 1, digest: state("", 0), effects: `{"set":{"/at":"p.B.1:1","/steps":1}}`})
			k.journal(k.a, usual())
		}, []string{"journal back"}},
		{"not JSON", func(k *book) {
			k.Wrote(k.a, store.Tx{{Key: "journal/players/p", Op: store.Put, Value: []byte("{"), Version: 9}}, 0)
		}, []string{"not a journal"}},
		{"removed after the release", func(k *book) {
			k.journal(k.a, usual())
			k.write(k.a, rec(1, 1, state("p.A.0:1", 1), "null", ""))
			k.Wrote(k.a, store.Tx{{Key: "journal/players/p", Op: store.Delete}}, 0)
		}, nil},
	} {
		k, _ := opened()
		c.write(k)
		if got := k.kinds(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, k.Violations(), c.want)
		}
	}
}

// A save that was sent before the opening append, and lands after it, vouches for nothing.
func TestLedgerTellsWhenASaveWasSent(t *testing.T) {
	k, s := opened()
	k.At(7)
	k.journal(k.a, usual())
	k.made = 6
	k.save(0)
	k.Acknowledged(s, 1)
	k.expect(t, "acknowledged, not stored")
}
