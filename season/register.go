package season

import (
	"encoding/json"
	"fmt"
)

const registerFormat = 1

// register is the durable record season/<set>/<id>/boards: which life of each board is valid.
//
// It is written in this order, each step a conditional write:
//
//  1. opening: created without generations, before any board is;
//  2. the boards are created, each with a random generation of its own;
//  3. the generation that a board answers with is added, once; only then may anything be
//     merged into it.
//
// So an acknowledged Merge went to the named generation, or to a board known to have lost its
// memory. From step 3 on, a generation is replaced only by a rebuild that began after the
// season's end and has been carried through (rebuild.go). A board without a generation at the
// close was never opened safely, and is rebuilt too. Without any register nobody ever tried
// to write: the closer creates it as unplayed, and whoever comes later finds the season over.
type register struct {
	Format   int                 `json:"format"`
	Season   string              `json:"season"`
	Unplayed bool                `json:"unplayed,omitempty"`
	Boards   map[string]boardReg `json:"boards,omitempty"`
}

// boardReg is what the register says of one board.
type boardReg struct {
	Generation string `json:"generation"`
	// Late: the board was added while the season ran, so that it lacks the values of players
	// who have not changed since. It is filled from the profiles like one that lost its memory.
	Late bool `json:"late,omitempty"`
	// Rebuilt: the generation was filled from the profiles after the season's end.
	Rebuilt bool `json:"rebuilt,omitempty"`
	// Refilled names a later, invalid generation that was filled from the profiles while the
	// season ran, so that players see a board. It is rebuilt again at the close.
	Refilled string `json:"refilled,omitempty"`
}

func newRegister(id string) register { return register{Format: registerFormat, Season: id} }

func (r register) encode() ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("season: encode register: %w", err)
	}
	return data, nil
}

func decodeRegister(data []byte) (register, error) {
	var r register
	if err := json.Unmarshal(data, &r); err != nil {
		return register{}, fmt.Errorf("season: decode register: %w", err)
	}
	if r.Format > registerFormat {
		return register{}, fmt.Errorf("%w: register of format %d", ErrNewerFormat, r.Format)
	}
	if r.Format < 1 {
		return register{}, fmt.Errorf("season: decode register: format %d", r.Format)
	}
	return r, nil
}

// valid tells whether a board of this generation may become the result.
func (r register) valid(board, generation string) bool {
	reg := r.Boards[board]
	return generation != "" && reg.Generation == generation && !reg.Late
}

// names tells whether a board of this generation may be written as it is: it is the named one.
func (r register) names(board, generation string) bool {
	return generation != "" && r.Boards[board].Generation == generation
}

// adding is r with the generations of boards that have none yet. A board that comes when
// others are named already is late, if it can be filled.
func (r register) adding(generations map[string]string, fillable bool) (next register, changed bool) {
	next = r.clone()
	late := false
	for _, reg := range r.Boards {
		late = late || fillable && reg.Generation != ""
	}
	for board, g := range generations {
		if next.Boards[board].Generation == "" {
			reg := next.Boards[board]
			reg.Generation, reg.Late = g, late
			next.Boards[board] = reg
			changed = true
		}
	}
	return next, changed
}

// with is r with another entry for a board.
func (r register) with(board string, reg boardReg) register {
	next := r.clone()
	next.Boards[board] = reg
	return next
}

func (r register) clone() register {
	boards := make(map[string]boardReg, len(r.Boards)+1)
	for board, reg := range r.Boards {
		boards[board] = reg
	}
	r.Boards = boards
	return r
}
