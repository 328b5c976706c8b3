package sim

import (
	"slices"

	"github.com/shoalworks/shoal/doc"
)

// holdings are what a player owns, and the log of the deeds that have made it so. All of it
// is in the data: a deed that is done twice, or by half, shows there.
type holdings struct {
	coins, earned int64    // earned is what of the coins play has brought
	items         []string // by id, in order
	log           []string // one entry for each deed, in their order
}

// The members of the data.
const (
	coinsAt  = "/coins"
	earnedAt = "/earned"
	itemsAt  = "/items/"
	logAt    = "/log"
)

func holdingsOf(data doc.Value) (h holdings) {
	number := func(name string) int64 {
		m, _ := data.Member(name)
		n, _ := m.AsInt()
		return n
	}
	h.coins, h.earned = number("coins"), number("earned")
	items, _ := data.Member("items")
	for id := range items.Members() {
		h.items = append(h.items, id)
	}
	slices.Sort(h.items)
	log, _ := data.Member("log")
	for _, entry := range log.Items() {
		text, _ := entry.AsString()
		h.log = append(h.log, text)
	}
	return h
}

// claims is how many deeds there were: none of them may be in a journal, and not in the record.
func (h holdings) claims() int { return len(h.log) }

// hand is what a deed does to one profile.
type hand struct {
	entry      string // in the log
	coins      int64
	gets, lets []string // items
}

// The kinds of entries.
const (
	receiptEntry = "r:" // a receipt was granted
	giftEntry    = "g:" // a gift was sent
	mailEntry    = "m:" // mail was handled
	tradeEntry   = "t:" // a trade was done
	editEntry    = "e:" // support has changed the profile
)

// ops are the operations of a hand. It counts as a step of play.
func (h hand) ops() []doc.Op {
	ops := []doc.Op{
		doc.Increment("/steps", 1), doc.Increment(coinsAt, h.coins), doc.AppendTo(logAt, doc.MustString(h.entry)),
	}
	for _, id := range h.lets {
		ops = append(ops, doc.CompareAndUnset(itemsAt+id, doc.Bool(true)))
	}
	for _, id := range h.gets {
		ops = append(ops, doc.Set(itemsAt+id, doc.Bool(true)))
	}
	return ops
}

// apply is what is owned after it.
func (h hand) apply(to holdings) holdings {
	out := holdings{coins: to.coins + h.coins, earned: to.earned, log: append(slices.Clip(to.log), h.entry)}
	for _, id := range to.items {
		if !slices.Contains(h.lets, id) {
			out.items = append(out.items, id)
		}
	}
	out.items = append(out.items, h.gets...)
	slices.Sort(out.items)
	return out
}
