package season

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file has the pure rules of erasing a player from what is kept of closed seasons. The place
// stays, with its score: others' titles depend on it. Who held it is forgotten: the key becomes
// an alias of chance, the name goes.

// maxErasing is how many erasures wait for seasons to be closed; one more is ErrErasing.
const maxErasing = 10_000

const (
	erasingFormat = 1
	aliasPrefix   = "erased-"
	erasedReason  = "(erased with the player)"
)

// anonymised is a result in which a player is called by an alias.
func (r *Result) anonymised(key, alias string) *Result {
	next := *r
	next.Boards = slices.Clone(r.Boards)
	for i := range next.Boards {
		b := &next.Boards[i]
		if !b.holds(key) {
			continue
		}
		b.Top, b.Reserve = renamed(b.Top, key, alias), renamed(b.Reserve, key, alias)
		b.Digest = b.digest()
	}
	return &next
}

// hasErased tells that somebody was erased from the result.
func (r *Result) hasErased() bool {
	erased := func(p Placed) bool { return strings.HasPrefix(p.Key, aliasPrefix) }
	return slices.ContainsFunc(r.Boards, func(b BoardResult) bool {
		return slices.ContainsFunc(b.Top, erased) || slices.ContainsFunc(b.Reserve, erased)
	})
}

func renamed(list []Placed, key, alias string) []Placed {
	list = slices.Clone(list)
	for i := range list {
		if list[i].Key == key {
			list[i].Key, list[i].Name = alias, ""
		}
	}
	return list
}

// aliasing is corrections in which those about a player, and those to come, are about an alias
// too. It answers the alias that they have already, if an erasure was cut short before.
func (c corrections) aliasing(key, alias string) (next corrections, is string) {
	if before, ok := c.Erasing[key]; ok {
		alias = before
	}
	next = c
	next.Erasing = maps.Clone(c.Erasing)
	if next.Erasing == nil {
		next.Erasing = make(map[string]string)
	}
	next.Erasing[key] = alias
	next.List = slices.Clone(c.List)
	for i := range next.List {
		if next.List[i].Key == key {
			next.List[i].Alias = alias
		}
	}
	return next, alias
}

// unnamed is corrections in which those about a player are about the alias only.
func (c corrections) unnamed(key string) corrections {
	next := c
	next.Erasing = maps.Clone(c.Erasing)
	delete(next.Erasing, key)
	next.List = slices.Clone(c.List)
	for i := range next.List {
		if one := &next.List[i]; one.Key == key && one.Alias != "" {
			one.Key, one.Alias, one.Reason = one.Alias, "", erasedReason
		}
	}
	return next
}

// names tells whether corrections name a player.
func (c corrections) names(key string) bool {
	_, ok := c.Erasing[key]
	return ok || slices.ContainsFunc(c.List, func(one Correction) bool { return one.Key == key })
}

// erasingRecord is season/<set>/erasing: who was erased while seasons were over and not closed.
// A closer may have read the boards before; so whoever finds or makes a result looks here, before
// the season counts as closed.
type erasingRecord struct {
	Format int       `json:"format"`
	List   []erasing `json:"list"`
}

// erasing is one erasure.
type erasing struct {
	Digest string `json:"digest"` // of set and key, see erasedDigest
	K      int64  `json:"k"`      // the last season that was over
}

func erasedDigest(set, key string) string {
	sum := sha256.Sum256([]byte(set + "\n" + key))
	return hex.EncodeToString(sum[:])
}

// decodeErasing reads the record; a missing one is empty.
func decodeErasing(data []byte) (erasingRecord, error) {
	e := erasingRecord{Format: erasingFormat}
	if data == nil {
		return e, nil
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return erasingRecord{}, fmt.Errorf("season: decode erasures: %w", err)
	}
	if e.Format > erasingFormat {
		return erasingRecord{}, fmt.Errorf("%w: erasures of format %d", ErrNewerFormat, e.Format)
	}
	if e.Format < 1 {
		return erasingRecord{}, fmt.Errorf("season: decode erasures: format %d", e.Format)
	}
	return e, nil
}

// adding is the record with one erasure more, without those whose seasons are all closed.
func (e erasingRecord) adding(x erasing, through int64) (next erasingRecord, changed bool, err error) {
	next = erasingRecord{Format: erasingFormat}
	for _, old := range e.List {
		if old.K > through && old.Digest != x.Digest {
			next.List = append(next.List, old)
		}
		if old.Digest == x.Digest {
			x.K = max(x.K, old.K)
		}
	}
	if len(next.List) >= maxErasing {
		return e, false, ErrErasing
	}
	next.List = append(next.List, x)
	return next, !slices.Equal(next.List, e.List), nil
}

// within lists the players of a result that were erased when its season was over.
func (e erasingRecord) within(set string, res *Result) (keys []string) {
	if len(e.List) == 0 {
		return nil
	}
	erased := make(map[string]bool, len(e.List))
	for _, x := range e.List {
		if x.K >= res.K {
			erased[x.Digest] = true
		}
	}
	for _, b := range res.Boards {
		for _, p := range slices.Concat(b.Top, b.Reserve) {
			if erased[erasedDigest(set, p.Key)] && !slices.Contains(keys, p.Key) {
				keys = append(keys, p.Key)
			}
		}
	}
	return keys
}
