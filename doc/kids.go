package doc

import (
	"cmp"
	"slices"
)

// kid is what was touched at one member of an object, or one item of a list: nil is all of it.
type kid[K cmp.Ordered] struct {
	at   K
	mark *mark
}

// kids are in order, each place once.
type kids[K cmp.Ordered] []kid[K]

// find is where the kid at a place is, or belongs.
func (ks kids[K]) find(at K) (int, bool) {
	lo, hi := 0, len(ks)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if ks[mid].at < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(ks) && ks[lo].at == at
}

// with are the kids and others, which are in order too, and at other places.
func (ks kids[K]) with(fresh kids[K]) kids[K] {
	i, k := len(ks)-1, len(fresh)-1
	ks = append(ks, fresh...)
	if i < 0 || k < 0 || ks[i].at < fresh[0].at {
		return ks
	}
	for at := len(ks) - 1; k >= 0; at-- { // from the end, where there is room
		if i >= 0 && ks[i].at > fresh[k].at {
			ks[at] = ks[i]
			i--
		} else {
			ks[at] = fresh[k]
			k--
		}
	}
	return ks
}

// before are the kids before a place.
func (ks kids[K]) before(at K) kids[K] {
	n, _ := ks.find(at)
	clear(ks[n:])
	return ks[:n]
}

// own are the same kids, in memory of their own.
func (ks kids[K]) own() kids[K] {
	out := slices.Clone(ks)
	for i := range out {
		out[i].mark = out[i].mark.own()
	}
	return out
}

func (ks kids[K]) count() (n int) {
	for i := range ks {
		n += ks[i].mark.count()
	}
	return n
}

// touch marks what differs between two values at the kid's place, and returns how many marks it
// created.
func (k *kid[K]) touch(x, y Value) int {
	if k.mark == nil {
		return 0
	}
	created := k.mark.touch(x, y)
	k.settle()
	return created
}

// settle forgets a mark that says no more than that all was touched.
func (k *kid[K]) settle() {
	if k.mark.whole {
		k.mark = nil
	}
}

// absorb adds the kids of others, and returns them all, and how many marks were created.
func (ks kids[K]) absorb(others kids[K]) (all kids[K], created int) {
	var fresh kids[K]
	for _, o := range others {
		i, found := ks.find(o.at)
		switch {
		case !found:
			fresh = append(fresh, kid[K]{o.at, o.mark.own()})
			created += o.mark.count()
		case ks[i].mark == nil:
		case o.mark == nil:
			ks[i].mark = nil
		default:
			created += ks[i].mark.absorb(o.mark)
			ks[i].settle()
		}
	}
	return ks.with(fresh), created
}

// sprouted is a kid at a place where nothing was touched so far; ok is false when nothing
// differs there. It answers how many marks were created, this one included.
func sprouted[K cmp.Ordered](at K, x, y Value) (k kid[K], created int, ok bool) {
	k.at = at
	switch {
	case x.same(y):
		return k, 0, false
	case x.kind != y.kind, x.kind < KindList:
		return k, 1, true
	}
	k.mark = new(mark)
	created = 1 + k.mark.touch(x, y)
	if k.mark.empty() {
		return k, 0, false
	}
	k.settle()
	return k, created, true
}
