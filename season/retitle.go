package season

import (
	"cmp"
	"slices"

	"github.com/shoalworks/shoal/doc"
)

// This file says what corrections do to the titles of one player. The block remembers, of each
// season in whose result the player has a place, how many corrections its titles take into
// account ("corrected"), and of titles that were withdrawn the rank whose reward was kept, 0 when
// it was taken back ("withdrawn"). A title whose reward was given for another rank than it has
// now says for which ("paid").

// seen tells how many corrections of a season the block's titles take into account; ok is false
// when the season has not been processed, or the player has no place in its result.
func (r *rules) seen(block doc.Value, id string) (count int, ok bool) {
	member, _ := block.Member("corrected")
	n, ok := number(member, id)
	return int(n), ok
}

// outdated lists seasons with more corrections, by count, than the block's titles take into
// account, the newest first. Those without any are not looked at, whatever the block says.
func (r *rules) outdated(block doc.Value, count func(id string) int) (ks []int64) {
	member, _ := block.Member("corrected")
	for id, v := range member.Members() {
		n, ok := integer(v)
		known := int64(count(id))
		if k, isSeason := r.cfg.Parse(id); ok && isSeason && known > 0 && known > n {
			ks = append(ks, k)
		}
	}
	slices.SortFunc(ks, func(a, b int64) int { return cmp.Compare(b, a) })
	return ks
}

// retitle brings the titles of one season up to its corrections. It never goes back to fewer:
// another node may know of more than this one.
func (r *rules) retitle(g *grants, block doc.Value, st *Standings, o occasion) {
	id := st.Result.Season
	if n, ok := r.seen(block, id); !ok || n >= st.Corrections {
		return
	}
	for _, t := range r.settle(g, block, st, o) {
		g.changes = append(g.changes, TitleChange{After: t})
	}
	g.ops = append(g.ops, doc.Set(r.correctedAt.Append(id), doc.Int(int64(st.Corrections))))
}

// settle brings the titles of one season up to how it stands, and answers those that the player
// never had. What the block says of a title decides what becomes of its reward, whatever the marks
// say, which an edit may have taken away. Who has no place in the result is none of its business:
// the profile may be a copy of another's.
func (r *rules) settle(g *grants, block doc.Value, st *Standings, o occasion) (fresh []Title) {
	if !st.Result.holds(o.key) {
		return nil
	}
	held, _ := block.Member("titles")
	withdrawn, _ := block.Member("withdrawn")
	for i := range st.Boards {
		key := TitleKey(st.Boards[i].Board, st.Result.Season)
		was, isHeld := titleIn(held, key)
		due, isDue := st.title(i, o.key)
		switch {
		case isHeld && isDue:
			r.move(g, was, due, o.revocable)
		case isHeld:
			r.withdraw(g, was, o.revocable)
		case !isDue, has(held, key): // what is in a title's place and is none is left alone
		case has(withdrawn, key):
			r.giveBack(g, due, paidFor(withdrawn, due), o.revocable)
		default:
			fresh = append(fresh, due)
			g.titles = append(g.titles, due)
			g.rewarded = append(g.rewarded, due)
			g.ops = append(g.ops, doc.Set(r.titlesAt.Append(key), due.value()))
		}
	}
	return fresh
}

// paidFor is the rank whose reward was kept when a title was withdrawn, 0 when it was taken back.
// What cannot be read counts as kept.
func paidFor(withdrawn doc.Value, due Title) int {
	paid, ok := number(withdrawn, due.Key)
	if !ok {
		return due.Rank
	}
	return int(paid)
}

// move gives a held title the rank that it has now.
func (r *rules) move(g *grants, was granted, due Title, revocable bool) {
	if was.Title == due {
		return
	}
	paid := g.exchange(was.as(was.paid), due, revocable)
	if was.Rank != due.Rank {
		g.changes = append(g.changes, TitleChange{Before: was.Title, After: due})
	}
	g.ops = append(g.ops, doc.Set(r.titlesAt.Append(due.Key), granted{due, paid}.value()))
}

// withdraw takes a title back, and its reward if that can be.
func (r *rules) withdraw(g *grants, was granted, revocable bool) {
	paid := was.paid
	if revocable {
		g.revoked = append(g.revoked, was.as(paid))
		paid = 0
	}
	g.changes = append(g.changes, TitleChange{Before: was.Title})
	g.ops = append(g.ops, doc.Unset(r.titlesAt.Append(was.Key)),
		doc.Set(r.withdrawnAt.Append(was.Key), doc.Int(int64(paid))))
}

// giveBack gives a title that was withdrawn again, with its reward only if that was taken back.
// OnTitle has heard of it before.
func (r *rules) giveBack(g *grants, due Title, paid int, revocable bool) {
	if paid == 0 {
		g.rewarded = append(g.rewarded, due)
		paid = due.Rank
	} else {
		paid = g.exchange(due.as(paid), due, revocable)
	}
	g.changes = append(g.changes, TitleChange{After: due})
	g.ops = append(g.ops, doc.Unset(r.withdrawnAt.Append(due.Key)),
		doc.Set(r.titlesAt.Append(due.Key), granted{due, paid}.value()))
}

// exchange takes back the reward of a title as it was paid and gives that of what is due, if
// rewards can be taken back; else what was given is kept, and nothing is given again. It
// answers the rank whose reward the player has.
func (g *grants) exchange(was, due Title, revocable bool) (paid int) {
	if !revocable || was.Rank == due.Rank {
		return was.Rank
	}
	g.revoked = append(g.revoked, was)
	g.rewarded = append(g.rewarded, due)
	return due.Rank
}

// as is the title with another rank: that for which its reward was given.
func (t Title) as(rank int) Title {
	t.Rank, t.Text = rank, TitleText(rank, t.Name, t.Number)
	return t
}

// granted is a title in the block.
type granted struct {
	Title
	paid int // the rank whose reward was given
}

func (h granted) value() doc.Value {
	v := h.members()
	if h.paid != h.Rank {
		v["paid"] = doc.Int(int64(h.paid))
	}
	return doc.MustObject(v)
}

// titleIn reads one of a block's titles.
func titleIn(titles doc.Value, key string) (h granted, ok bool) {
	v, ok := titles.Member(key)
	if !ok {
		return granted{}, false
	}
	if h.Title, ok = titleFrom(key, v); !ok {
		return granted{}, false
	}
	h.paid = h.Rank
	if paid, ok := number(v, "paid"); ok {
		h.paid = int(paid)
	}
	return h, true
}
