package season

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shoalworks/shoal/internal/name"
)

// MaxCorrections is how many corrections a season takes; one more is ErrCorrections.
const MaxCorrections = 1000

const (
	correctionsFormat = 1
	maxBy             = 128  // bytes of an actor's name
	maxReason         = 1024 // bytes of a reason or a note
)

// corrections is the record season/<set>/<id>/corrections. It only ever grows.
type corrections struct {
	Format int          `json:"format"`
	Season string       `json:"season"`
	List   []Correction `json:"list"`
	// Erasing has what the result is about to call each player who is being erased. A ruling that
	// comes meanwhile is about that name too.
	Erasing map[string]string `json:"erasing,omitempty"`
}

// with is the record with a correction more.
func (c corrections) with(one Correction) corrections {
	one.Alias = c.Erasing[one.Key]
	c.List = append(slices.Clip(c.List), one)
	return c
}

// decodeCorrections reads the record of a season; a missing one has none.
func decodeCorrections(id string, data []byte) (corrections, error) {
	if data == nil {
		return corrections{Format: correctionsFormat, Season: id, List: []Correction{}}, nil
	}
	var c corrections
	if err := json.Unmarshal(data, &c); err != nil {
		return corrections{}, fmt.Errorf("season: decode corrections of %s: %w", id, err)
	}
	if c.Format > correctionsFormat {
		return corrections{}, fmt.Errorf("%w: corrections of format %d", ErrNewerFormat, c.Format)
	}
	if c.Format < 1 || c.Season != id {
		return corrections{}, fmt.Errorf("season: decode corrections of %s: format %d, season %q", id, c.Format, shown(c.Season))
	}
	return c, nil
}

// correctedRecord is season/<set>/corrected: per season, up to how many corrections there may
// be. It is raised before a correction is stored, so a reader that finds as many as it says, or
// no season in it, need not look at the season's own record. A promise may stay unfulfilled.
type correctedRecord struct {
	Format  int            `json:"format"`
	Seasons map[string]int `json:"seasons"`
	// Erased grows before and after results and corrections are rewritten, because a player was
	// erased: what was read of them before is read again.
	Erased int `json:"erased,omitempty"`
}

// decodeCorrected reads the index; a missing one is empty.
func decodeCorrected(data []byte) (correctedRecord, error) {
	if data == nil {
		return correctedRecord{Format: correctionsFormat}, nil
	}
	var c correctedRecord
	if err := json.Unmarshal(data, &c); err != nil {
		return correctedRecord{}, fmt.Errorf("season: decode the index of corrections: %w", err)
	}
	if c.Format > correctionsFormat {
		return correctedRecord{}, fmt.Errorf("%w: index of corrections of format %d", ErrNewerFormat, c.Format)
	}
	if c.Format < 1 {
		return correctedRecord{}, fmt.Errorf("season: decode the index of corrections: format %d", c.Format)
	}
	return c, nil
}

// promising is the index with up to n corrections of a season; it never takes one back.
func (c correctedRecord) promising(id string, n int) (next correctedRecord, changed bool) {
	if c.Seasons[id] >= n {
		return c, false
	}
	seasons := make(map[string]int, len(c.Seasons)+1)
	maps.Copy(seasons, c.Seasons)
	seasons[id] = n
	return correctedRecord{correctionsFormat, seasons, c.Erased}, true
}

// about tells whether a ruling concerns a board: those it names, or all.
func (r Ruling) about(board string) bool {
	return len(r.Boards) == 0 || slices.Contains(r.Boards, board)
}

// check tells what is wrong with a ruling by itself.
func (r Ruling) check() error {
	if err := name.CheckKey("key", r.Key); err != nil {
		return fmt.Errorf("%w: %w", ErrRuling, err)
	}
	if len(r.Boards) > maxBoards {
		return fmt.Errorf("%w: boards: at most %d expected, got %d", ErrRuling, maxBoards, len(r.Boards))
	}
	for i, board := range r.Boards {
		if slices.Contains(r.Boards[:i], board) {
			return fmt.Errorf("%w: boards: %q comes twice", ErrRuling, shown(board))
		}
	}
	if err := checkText("by", r.By, maxBy); err != nil {
		return err
	}
	return checkText("reason", r.Reason, maxReason)
}

// checkText: control characters are refused, so that a record's size is bounded by its texts'.
func checkText(field, text string, limit int) error {
	if text == "" || len(text) > limit || !utf8.ValidString(text) {
		return fmt.Errorf("%w: %s: 1 to %d bytes of valid UTF-8 expected, got %d", ErrRuling, field, limit, len(text))
	}
	for _, c := range text {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return fmt.Errorf("%w: %s: has the control character %U", ErrRuling, field, c)
		}
	}
	return nil
}

// concerns tells whether a ruling can be about a result: the boards that it names are the
// result's, and the player has a place on one of those that it is about.
func (r Ruling) concerns(res *Result) error {
	for _, board := range r.Boards {
		if !slices.ContainsFunc(res.Boards, func(b BoardResult) bool { return b.Board == board }) {
			return fmt.Errorf("%w: %q of %s", ErrNoBoard, shown(board), res.Season)
		}
	}
	for i := range res.Boards {
		if b := &res.Boards[i]; r.about(b.Board) && b.holds(r.Key) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s in %s", ErrNoPlace, shown(r.Key), res.Season)
}

// holds tells whether a player has a place among the titles or the reserve.
func (b *BoardResult) holds(key string) bool {
	if _, ok := b.place[key]; ok {
		return true
	}
	return slices.ContainsFunc(b.Reserve, func(p Placed) bool { return p.Key == key })
}

// holds tells whether a player has a place on any board.
func (r *Result) holds(key string) bool {
	for i := range r.Boards {
		if r.Boards[i].holds(key) {
			return true
		}
	}
	return false
}

// outOf applies corrections in their order: who is disqualified, for each board of the result.
func outOf(res *Result, list []Correction) []map[string]bool {
	o := make([]map[string]bool, len(res.Boards))
	for _, c := range list {
		for i := range res.Boards {
			if !c.about(res.Boards[i].Board) {
				continue
			}
			for _, key := range c.keys() {
				switch {
				case c.Reinstates:
					delete(o[i], key)
				case o[i] == nil:
					o[i] = map[string]bool{key: true}
				default:
					o[i][key] = true
				}
			}
		}
	}
	return o
}

// keys are those that a result may have for the player.
func (c Correction) keys() []string {
	if c.Alias == "" {
		return []string{c.Key}
	}
	return []string{c.Key, c.Alias}
}

// fits tells whether corrections are of a result: each is about somebody who has a place in it.
// Others are of after an erasure that the result is older than, or the other way round.
func fits(res *Result, list []Correction) bool {
	return !slices.ContainsFunc(list, func(c Correction) bool { return !slices.ContainsFunc(c.keys(), res.holds) })
}

// is tells whether two corrections are one that was made once.
func (c Correction) is(o Correction) bool {
	return c.Time.Equal(o.Time) && c.Reinstates == o.Reinstates && c.Key == o.Key && slices.Equal(c.Boards, o.Boards) &&
		c.By == o.By && c.Reason == o.Reason
}

// changes tells whether a correction would change how a result with corrections stands. One
// that does not is not stored: it is what a repeated ruling comes to.
func changes(res *Result, list []Correction, c Correction) bool {
	o := outOf(res, list)
	for i := range res.Boards {
		if b := &res.Boards[i]; c.about(b.Board) && b.holds(c.Key) && o[i][c.Key] == c.Reinstates {
			return true
		}
	}
	return false
}

// standingsOf is how a result stands with its corrections: the disqualified leave the lists,
// those below move up, and the reserve fills Top until it is used up.
func standingsOf(res *Result, list []Correction) *Standings {
	st := &Standings{Result: res, Corrections: len(list), Boards: make([]BoardStandings, len(res.Boards))}
	o := outOf(res, list)
	for i := range res.Boards {
		b := &res.Boards[i]
		st.Boards[i] = BoardStandings{
			Board: b.Board, Title: b.Title, Order: b.Order, Total: b.Total, Missing: b.Missing,
			Top: b.Top, Reserve: b.Reserve, place: b.place,
		}
		if len(o[i]) > 0 {
			st.Boards[i].without(o[i])
		}
	}
	return st
}

// without takes players out of the lists. A place's rank becomes its position; how many hold
// titles stays what the result says.
func (b *BoardStandings) without(out map[string]bool) {
	titles := len(b.Top)
	var in []Placed
	for _, p := range slices.Concat(b.Top, b.Reserve) {
		if out[p.Key] {
			b.Disqualified = append(b.Disqualified, p)
			continue
		}
		p.Rank = len(in) + 1
		in = append(in, p)
	}
	titles = min(titles, len(in))
	b.Top, b.Reserve = in[:titles:titles], in[titles:]
	b.place = make(map[string]int, titles)
	for i, p := range b.Top {
		b.place[p.Key] = i
	}
}

// title is a player's title on a board.
func (st *Standings) title(board int, key string) (Title, bool) {
	b, r := &st.Boards[board], st.Result
	at, ok := b.place[key]
	if !ok {
		return Title{}, false
	}
	p := b.Top[at]
	return Title{
		Key: TitleKey(b.Board, r.Season), Board: b.Board, Season: r.Season, Number: r.Number,
		Rank: p.Rank, Score: p.Score, Name: b.Title, Text: TitleText(p.Rank, b.Title, r.Number),
		Corrections: st.Corrections,
	}, true
}

// correction is a ruling with its time, as it is stored.
func correction(r Ruling, reinstates bool, now time.Time) Correction {
	r.Boards = slices.Clone(r.Boards)
	return Correction{Time: now.Round(0).UTC(), Reinstates: reinstates, Ruling: r}
}
