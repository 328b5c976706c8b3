package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/sim"
	"github.com/shoalworks/shoal/store"
)

// shop is a book in which A has opened p and q.
type shop struct {
	*book
	data     map[string]doc.Value
	revision map[string]int
	handled  map[string]string
	sessions map[string]*sim.Tenure
	deeds    map[string]*sim.Deed
}

func newShop() *shop {
	s := &shop{
		book: newBook(true), data: make(map[string]doc.Value), revision: make(map[string]int),
		handled: make(map[string]string), sessions: make(map[string]*sim.Tenure), deeds: make(map[string]*sim.Deed),
	}
	for _, key := range []string{"p", "q"} {
		s.data[key] = state("", 0)
		s.store(s.record(key))
		s.sessions[key] = s.Opened(s.a, key, &held{epoch: 1, data: s.data[key]})
	}
	for _, d := range []*sim.Deed{
		sim.Staged("buy", "R", "p"), sim.Staged("gift", "G", "p", "q"), sim.Staged("letter", "L", "q"),
		sim.Staged("trade", "T", "p", "q"), sim.Staged("edit", "E", "p"),
	} {
		s.Intended(d)
		s.deeds[d.ID()] = d
	}
	return s
}

// does has a session commit what a deed does to its profile.
func (s *shop) does(key, id string) {
	s.stages(key, id)
	s.Committed(s.sessions[key], s.data[key], uint64(s.revision[key]))
}

// stages makes the data of it, and tells nobody.
func (s *shop) stages(key, id string) {
	next, err := doc.Apply(s.data[key], s.deeds[id].OpsFor(key)...)
	if err != nil {
		panic(err)
	}
	s.data[key] = next
	s.revision[key]++
}

// record is the write that stores a profile as it is.
func (s *shop) record(key string) store.Write {
	return store.Write{Key: "profile/players/" + key, Op: store.Put, Value: rec(1, s.revision[key], s.data[key], by("A-1", "t"+key), s.handled[key])}
}

func row(key string) store.Write {
	return store.Write{Key: key, Op: store.Put, Value: []byte("{}"), If: store.Absent()}
}

func remove(key string) store.Write { return store.Write{Key: key, Op: store.Delete} }

func (s *shop) store(tx ...store.Write) {
	for i := range tx {
		s.version++
		tx[i].Version = s.version
	}
	s.Wrote(s.a, tx, 0)
	s.Landed(s.a, tx, s.now)
}

const (
	receiptRow = "receipt/players/R"
	giftRow    = "mail/players/q/G"
	letterRow  = "mail/players/q/L"
	editRow    = "mail/players/p/E"
)

// letter puts a letter into the box of q, and has it take effect, but for what a case does.
func (s *shop) letter(id string) {
	s.remembers("q", id)
	s.does("q", id)
}

func (s *shop) remembers(key, id string) {
	s.handled[key] = fmt.Sprintf(`,"handled":[{"at":"2031-05-17T12:00:00.000Z","id":%q,"revision":1}]`, id)
}

func TestLedgerJudgesDeeds(t *testing.T) {
	for _, c := range []struct {
		what string
		do   func(s *shop)
		want []string
	}{
		{"a receipt with its grant", func(s *shop) {
			s.does("p", "R")
			s.store(s.record("p"), row(receiptRow))
		}, nil},
		{"a grant without its receipt", func(s *shop) {
			s.does("p", "R")
			s.store(s.record("p"))
		}, []string{"without its claim"}},
		{"a receipt without its grant", func(s *shop) { s.store(s.record("p"), row(receiptRow)) }, []string{"without its effect"}},
		{"granted twice", func(s *shop) {
			s.does("p", "R")
			s.store(s.record("p"), row(receiptRow))
			s.does("p", "R")
			s.store(s.record("p"), row(receiptRow))
		}, []string{"granted twice", "not conserved"}},
		{"a receipt removed", func(s *shop) {
			s.does("p", "R")
			s.store(s.record("p"), row(receiptRow))
			s.store(remove(receiptRow))
		}, []string{"receipt removed"}},
		{"a gift that is handled", func(s *shop) {
			s.does("p", "G")
			s.store(s.record("p"), row(giftRow))
			s.letter("G")
			s.store(s.record("q"), remove(giftRow))
		}, nil},
		{"a gift that costs nothing", func(s *shop) { s.store(row(giftRow)) }, []string{"without its effect", "not conserved"}},
		{"a gift that is not sent", func(s *shop) {
			s.does("p", "G")
			s.store(s.record("p"))
		}, []string{"without its claim", "not conserved"}},
		{"a letter removed without effect", func(s *shop) {
			s.store(row(letterRow))
			s.store(remove(letterRow))
		}, []string{"mail lost"}},
		{"a letter handled and left", func(s *shop) {
			s.store(row(letterRow))
			s.letter("L")
			s.store(s.record("q"))
		}, []string{"without its claim"}},
		{"a letter handled and forgotten", func(s *shop) {
			s.store(row(letterRow))
			s.letter("L")
			s.handled["q"] = ""
			s.store(s.record("q"), remove(letterRow))
		}, []string{"handled id not kept"}},
		{"a letter that comes again", func(s *shop) {
			s.store(row(letterRow))
			s.letter("L")
			s.store(s.record("q"), remove(letterRow))
			s.store(row(letterRow))
			s.store(remove(letterRow))
		}, nil},
		{"a letter handled twice", func(s *shop) {
			s.store(row(letterRow))
			s.letter("L")
			s.store(s.record("q"), remove(letterRow))
			s.store(row(letterRow))
			s.letter("L")
			s.store(s.record("q"), remove(letterRow))
		}, []string{"mail handled twice", "not conserved"}},
		{"a trade", func(s *shop) {
			s.stages("p", "T")
			s.stages("q", "T")
			s.store(s.record("p"), s.record("q"))
		}, nil},
		{"a trade in two writes", func(s *shop) {
			s.stages("p", "T")
			s.stages("q", "T")
			s.store(s.record("p"))
			s.store(s.record("q"))
		}, []string{"half a trade", "not conserved", "half a trade"}},
		{"an edit", func(s *shop) {
			s.remembers("p", "E")
			s.does("p", "E")
			s.store(s.record("p"))
		}, nil},
		{"an edit through the box", func(s *shop) {
			s.store(row(editRow))
			s.remembers("p", "E")
			s.does("p", "E")
			s.store(s.record("p"), remove(editRow))
		}, nil},
		{"an edit that stays in the box for a while", func(s *shop) {
			s.store(row(editRow))
			s.remembers("p", "E")
			s.does("p", "E")
			s.store(s.record("p"))
			s.store(remove(editRow))
		}, nil},
		{"an edit applied twice", func(s *shop) {
			s.remembers("p", "E")
			s.does("p", "E")
			s.does("p", "E")
			s.store(s.record("p"))
		}, []string{"edited twice"}},
		{"an edit by a session that nobody was told of", func(s *shop) {
			s.store(store.Write{Key: "profile/players/p", Op: store.Put, Value: rec(1, 0, s.data["p"], "null", "")})
			s.store(store.Write{Key: "profile/players/p", Op: store.Put, Value: rec(2, 0, s.data["p"], by("A-1", "tx"), "")})
			s.stages("p", "E")
			s.remembers("p", "E")
			s.store(store.Write{Key: "profile/players/p", Op: store.Put, Value: rec(2, 1, s.data["p"], "null", s.handled["p"])})
		}, nil},
	} {
		s := newShop()
		c.do(s)
		got := s.kinds()
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, s.Violations(), c.want)
		}
	}
}

func TestLedgerJudgesAnswers(t *testing.T) {
	grant := func(s *shop) {
		s.does("p", "R")
		s.store(s.record("p"), row(receiptRow))
	}
	for _, c := range []struct {
		what string
		do   func(s *shop, r *sim.Deed)
		want []string
	}{
		{"done", func(s *shop, r *sim.Deed) {
			grant(s)
			s.Answered(r, "p", sim.Done)
		}, nil},
		{"said to be done", func(s *shop, r *sim.Deed) { s.Answered(r, "p", sim.Done) }, []string{"done, not stored"}},
		{"done for another", func(s *shop, r *sim.Deed) {
			grant(s)
			s.Answered(r, "q", sim.Done)
		}, []string{"done, not stored"}},
		{"refused", func(s *shop, r *sim.Deed) { s.Answered(r, "p", sim.Undone) }, nil},
		{"done, and then refused", func(s *shop, r *sim.Deed) {
			grant(s)
			s.Answered(r, "p", sim.Undone)
		}, []string{"refused, but done"}},
		{"refused, and done late", func(s *shop, r *sim.Deed) {
			s.Answered(r, "p", sim.Undone)
			grant(s)
		}, []string{"refused, but done"}},
		{"refused after an unknown", func(s *shop, r *sim.Deed) {
			s.Answered(r, "p", sim.Unsure)
			s.Tried(r)
			s.Answered(r, "p", sim.Undone)
			grant(s)
		}, nil},
	} {
		s := newShop()
		s.Tried(s.deeds["R"])
		c.do(s, s.deeds["R"])
		if got := s.kinds(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, s.Violations(), c.want)
		}
	}
}

// Rule B5: what is claimed stays out of the journal until it is stored.
func TestLedgerJudgesClaimsInJournals(t *testing.T) {
	for _, stored := range []bool{true, false} {
		s := newShop()
		before := s.data["p"]
		s.does("p", "R")
		if stored {
			s.store(s.record("p"), row(receiptRow))
		}
		e := entry{token: "tp", epoch: 1, rev: 1, digest: before, effects: `{"set":{"/coins":10,"/items":{"R":true},"/log":["r:R"],"/steps":1}}`}
		s.journal(s.a, e)
		if got := s.kinds(); slices.Contains(got, "claim journaled") == stored {
			t.Errorf("stored: %v: %v", stored, s.Violations())
		}
	}
}
