package season

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shoalworks/shoal/doc"
)

// Title is what a place among the best of a season earns, for good.
type Title struct {
	Key         string // "Fish@C1S2": board and season, so that the second one is another
	Board       string
	Season      string // the season's id
	Number      int64  // the season's number, k+1
	Rank        int    // from 1
	Score       int64
	Name        string // "SEA KING"
	Text        string // "#3 SEA KING (S2)"
	Corrections int    // how many corrections of the result it takes into account
}

// TitleKey is the key of a title in the block: board and season.
func TitleKey(board, season string) string { return board + "@" + season }

// TitleText is a title as players see it: "#3 SEA KING (S2)".
func TitleText(rank int, name string, number int64) string {
	return fmt.Sprintf("#%d %s (S%d)", rank, name, number)
}

func (t Title) value() doc.Value { return doc.MustObject(t.members()) }

func (t Title) members() map[string]doc.Value {
	return map[string]doc.Value{
		"rank": doc.Int(int64(t.Rank)), "score": doc.Int(t.Score), "number": doc.Int(t.Number),
		"name": must(doc.String(t.Name)), "text": must(doc.String(t.Text)),
		"corrections": doc.Int(int64(t.Corrections)),
	}
}

// titles reads the block's titles, by season, then board. What is no title is left out.
func (r *rules) titles(block doc.Value) []Title {
	member, _ := block.Member("titles")
	var out []Title
	for key, v := range member.Members() {
		if t, ok := titleFrom(key, v); ok {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Title) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Board, b.Board))
	})
	return out
}

// titleFrom reads a title of the block; ok is false when it is none.
func titleFrom(key string, v doc.Value) (t Title, ok bool) {
	board, season, ok := strings.Cut(key, "@")
	rank, okRank := number(v, "rank")
	if !ok || !okRank {
		return Title{}, false
	}
	t = Title{Key: key, Board: board, Season: season, Rank: int(rank)}
	t.Score, _ = number(v, "score")
	t.Number, _ = number(v, "number")
	corrections, _ := number(v, "corrections")
	t.Corrections = int(corrections)
	name, _ := v.Member("name")
	t.Name, _ = name.AsString()
	text, _ := v.Member("text")
	t.Text, _ = text.AsString()
	return t, true
}

// grants is what processing closed seasons does to a profile.
type grants struct {
	ops     []doc.Op
	titles  []Title       // those that the player never had before
	changes []TitleChange // by corrections
	owed    []string      // owed seasons that are settled with these seasons

	revoked  []Title // as whose reward was given, to be taken back
	rewarded []Title // whose reward is to be given
}

// occasion is what results are processed for: a player and what is known.
type occasion struct {
	key     string
	created int64               // the season in which the profile was made
	first   int64               // the set's first season
	results []*Standings        // of closed seasons, as they stand now
	settled map[int64]doc.Value // owed values that the boards have answered for
	// revocable: rewards can be taken back.
	revocable bool
}

// grant processes the results of closed seasons for one player: titles, the processed mark
// and, of these seasons, what is owed and settled. What is processed already grants nothing but
// what corrections have changed.
func (r *rules) grant(data doc.Value, o occasion) (grants, error) {
	block, err := r.block(data)
	if err != nil {
		return grants{}, err
	}
	var g grants
	before := r.processed(block, o.created)
	after := before.From(o.first)
	for _, st := range o.results {
		k := st.Result.K
		switch {
		case after.Has(k):
			r.retitle(&g, block, st, o)
		case !after.Full(k) && !r.knowsMore(block, st): // else it waits until this node knows as much
			after = after.Mark(k)
			r.entitle(&g, block, st, o)
		}
	}
	if after.Through != before.Through || len(after.Extra) != len(before.Extra) {
		g.ops = append(g.ops, doc.Set(r.processedAt, after.value()))
	}
	for _, st := range o.results {
		res := st.Result
		if sent, ok := o.settled[res.K]; ok && r.owes(block, res.Season, sent) {
			g.owed = append(g.owed, res.Season)
			g.ops = append(g.ops, doc.Unset(r.owedAt.Append(res.Season)))
		}
	}
	if len(g.ops) > 0 && block.IsNull() {
		// A path through null leads nowhere; a missing one is made on the way.
		g.ops = append([]doc.Op{doc.Set(r.path, doc.MustObject(nil))}, g.ops...)
	}
	return g, nil
}

// entitle grants the titles of a season that was not processed before, as it stands now. Whoever
// has a place in the result, the reserve's and the disqualified included, is marked with the
// corrections taken into account: those are the players whom later ones may concern.
func (r *rules) entitle(g *grants, block doc.Value, st *Standings, o occasion) {
	r.settle(g, block, st, o)
	if st.Result.holds(o.key) {
		g.ops = append(g.ops, doc.Set(r.correctedAt.Append(st.Result.Season), doc.Int(int64(st.Corrections))))
	}
}

// knowsMore tells that a block takes more corrections into account than these standings.
func (r *rules) knowsMore(block doc.Value, st *Standings) bool {
	n, ok := r.seen(block, st.Result.Season)
	return ok && n > st.Corrections
}

func has(object doc.Value, name string) bool {
	_, ok := object.Member(name)
	return ok
}

// owes tells whether the block owes exactly these values for the season.
func (r *rules) owes(block doc.Value, season string, values doc.Value) bool {
	owed, _ := block.Member("owed")
	now, ok := owed.Member(season)
	return ok && now.Equal(values)
}

// isIn tells whether the counters are those of season k.
func (r *rules) isIn(data doc.Value, k int64) bool {
	block, err := r.block(data)
	if err != nil {
		return false
	}
	member, _ := block.Member("season")
	id, _ := member.AsString()
	return id == r.cfg.ID(k)
}

// pay removes owed values that are settled, for seasons that need them no more.
func (r *rules) pay(data doc.Value, settled map[int64]doc.Value) ([]doc.Op, error) {
	block, err := r.block(data)
	if err != nil {
		return nil, err
	}
	var ops []doc.Op
	for k, values := range settled {
		if id := r.cfg.ID(k); r.owes(block, id, values) {
			ops = append(ops, doc.Unset(r.owedAt.Append(id)))
		}
	}
	return ops, nil
}

// shown cuts a text for a log line.
func shown(s string) string {
	if len(s) <= maxTitle {
		return s
	}
	s = s[:maxTitle]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
