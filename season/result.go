package season

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/shoalworks/shoal/store"
)

const resultFormat = 1

// Result is how a season ended. It is created once and never changes, but for a player who is
// erased ([Service.EraseKey]): racing closers compute
// the same bytes from the same sealed boards, so no time and no node is in it.
type Result struct {
	Format int    `json:"format"`
	Season string `json:"season"` // the id
	K      int64  `json:"k"`
	Number int64  `json:"number"`
	// Unplayed: no node ever opened boards for this season; every list is empty.
	Unplayed bool          `json:"unplayed,omitempty"`
	Boards   []BoardResult `json:"boards"` // in the order of the configuration
}

// BoardResult is the best of one board.
type BoardResult struct {
	Board  string `json:"board"`
	Title  string `json:"title"` // what the places of Top are called
	Order  string `json:"order"` // "descending" or "ascending"
	Total  int64  `json:"total"` // entries of the sealed board
	Digest string `json:"digest"`
	// Missing: an operator closed the season without this board, because it could not be read.
	Missing bool     `json:"missing,omitempty"`
	Top     []Placed `json:"top"`     // these get titles; a place's rank is its position
	Reserve []Placed `json:"reserve"` // these move up when somebody is disqualified

	place map[string]int // key → index in Top
}

// Placed is one place of a result.
type Placed struct {
	Rank  int    `json:"rank"` // from 1
	Key   string `json:"key"`
	Score int64  `json:"score"`
	// Name is the player's display name as the board had it; empty when there was none.
	Name string `json:"name,omitempty"`
}

// boardResult makes the result of a sealed board from its best entries in order.
func boardResult(b Board, page store.Page, top int) BoardResult {
	res := BoardResult{
		Board: b.Name, Title: b.Title, Order: b.Order.String(), Total: page.Total,
		Top: []Placed{}, Reserve: []Placed{},
	}
	if page.Info.Order != 0 { // a board keeps the order that it was made with
		res.Order = page.Info.Order.String()
	}
	for i, e := range page.Entries {
		p := Placed{Rank: i + 1, Key: e.Key, Score: e.Score, Name: nameOf(e.Meta)}
		if i < top {
			res.Top = append(res.Top, p)
		} else {
			res.Reserve = append(res.Reserve, p)
		}
	}
	res.Digest = res.digest()
	return res
}

// digest is the SHA-256 of "<rank> <score> <key>\n" of every place, in hex.
func (b *BoardResult) digest() string {
	h := sha256.New()
	var line []byte
	for _, list := range [][]Placed{b.Top, b.Reserve} {
		for _, p := range list {
			line = strconv.AppendInt(line[:0], int64(p.Rank), 10)
			line = strconv.AppendInt(append(line, ' '), p.Score, 10)
			line = append(append(append(line, ' '), p.Key...), '\n')
			h.Write(line)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// encode is the canonical form: the same result is the same bytes.
func (r *Result) encode() ([]byte, error) { return encodePlain("result", r) }

// encodePlain is the JSON of a record without the escapes for HTML, which would make a text six
// times as long.
func encodePlain(what string, record any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return nil, fmt.Errorf("season: encode %s: %w", what, err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// decodeResult reads a stored result and prepares it for lookups. A digest that does not fit
// its list is an error: a result is proof, not a guess.
func decodeResult(data []byte) (*Result, error) {
	r := new(Result)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("season: decode result: %w", err)
	}
	if r.Format > resultFormat {
		return nil, fmt.Errorf("%w: result of format %d", ErrNewerFormat, r.Format)
	}
	if r.Format < 1 || r.Season == "" || r.K < 0 {
		return nil, fmt.Errorf("season: decode result: format %d, season %q, k %d", r.Format, shown(r.Season), r.K)
	}
	for i := range r.Boards {
		if err := r.Boards[i].prepare(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// prepare checks a decoded board and indexes its places.
func (b *BoardResult) prepare() error {
	if b.Digest != b.digest() {
		return fmt.Errorf("season: decode result: board %q: the digest does not fit the list", shown(b.Board))
	}
	b.place = make(map[string]int, len(b.Top))
	for i, p := range b.Top {
		if p.Rank != i+1 {
			return fmt.Errorf("season: decode result: board %q: place %d has rank %d", shown(b.Board), i+1, p.Rank)
		}
		b.place[p.Key] = i
	}
	return nil
}

// Find returns the place of a player among the titles and the reserve of a board.
func (r *Result) Find(board, key string) (Placed, bool) {
	for i := range r.Boards {
		b := &r.Boards[i]
		if b.Board != board {
			continue
		}
		if at, ok := b.place[key]; ok {
			return b.Top[at], true
		}
		for _, p := range b.Reserve {
			if p.Key == key {
				return p, true
			}
		}
	}
	return Placed{}, false
}
