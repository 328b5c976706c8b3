package season

import (
	"slices"

	"github.com/shoalworks/shoal/doc"
)

// Processed says which closed seasons a profile has been looked up in for titles: every
// season up to Through, and the later ones in Extra. Through moves over closed seasons only,
// so that a season that is closed late is never skipped.
type Processed struct {
	Through int64   // -1: none
	Extra   []int64 // above Through, in order
}

// maxExtra bounds Extra. A season beyond is not processed until the gap before it closes.
const maxExtra = 256

// Has tells whether season k has been processed.
func (p Processed) Has(k int64) bool {
	if k <= p.Through {
		return true
	}
	_, found := slices.BinarySearch(p.Extra, k)
	return found
}

// Full tells that season k cannot be marked before the gap below it has closed.
func (p Processed) Full(k int64) bool { return k > p.Through+1 && len(p.Extra) >= maxExtra }

// Mark is p with the closed season k processed.
func (p Processed) Mark(k int64) Processed {
	if p.Has(k) || p.Full(k) {
		return p
	}
	if k == p.Through+1 {
		return p.From(k + 1)
	}
	at, _ := slices.BinarySearch(p.Extra, k)
	return Processed{Through: p.Through, Extra: slices.Insert(slices.Clone(p.Extra), at, k)}
}

// From is p with every season before first processed, because there was none.
func (p Processed) From(first int64) Processed {
	if first-1 <= p.Through {
		return p
	}
	p.Through = first - 1
	extra := p.Extra
	for len(extra) > 0 && extra[0] <= p.Through+1 {
		p.Through = max(p.Through, extra[0])
		extra = extra[1:]
	}
	p.Extra = slices.Clone(extra)
	if len(p.Extra) == 0 {
		p.Extra = nil
	}
	return p
}

// value is the form in the block.
func (p Processed) value() doc.Value {
	members := map[string]doc.Value{"through": doc.Int(p.Through)}
	if len(p.Extra) > 0 {
		items := make([]doc.Value, len(p.Extra))
		for i, k := range p.Extra {
			items[i] = doc.Int(k)
		}
		members["extra"] = doc.List(items...)
	}
	return doc.MustObject(members)
}

// processedFrom reads the form in the block; ok is false when there is none.
func processedFrom(v doc.Value) (p Processed, ok bool) {
	through, ok := number(v, "through")
	if !ok {
		return Processed{}, false
	}
	p.Through = max(through, -1)
	extra, _ := v.Member("extra")
	for _, item := range extra.Items() {
		if k, ok := integer(item); ok && k > p.Through {
			p.Extra = append(p.Extra, k)
		}
	}
	slices.Sort(p.Extra)
	p.Extra = slices.Compact(p.Extra)
	return p, true
}
