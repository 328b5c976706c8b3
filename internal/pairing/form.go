package pairing

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/store"
)

// Folder holds all that this package keeps: the mark and the doubts in the durable part, the
// sign in the fast part.
const (
	Folder      = "pairing/"
	markKey     = Folder + "fleet"
	signKey     = Folder + "fast"
	doubtFolder = Folder + "doubt/" // sorts before the mark: who scans both sees a doubt gone only with its outcome
)

// format is that of all forms; a later one is refused.
const format = 1

// Mark is what the durable part says of the fast part that belongs to it.
type Mark struct {
	Format int `json:"format"`
	// ID names this life of the fast part; its sign says the same.
	ID string `json:"id"`
	// Apart tells that another engine plays the fast part; else the durable part's own does.
	Apart bool `json:"apart,omitempty"`
	// Space is where in its engine an Apart one is: database and prefix, or schema.
	Space string `json:"space,omitempty"`
	// Place is the address of an Apart one as the process saw it that wrote this, for people.
	Place string `json:"place,omitempty"`
	// Bus is how messages go, where an engine has more than one way.
	Bus string `json:"bus,omitempty"`
	// Since is when this was written, by the durable part's clock.
	Since time.Time `json:"since"`
	// Before are the earlier ids, newest first, at most maxBefore.
	Before []string `json:"before,omitempty"`
}

// Sign is what the fast part says of itself.
type Sign struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
}

// doubt is the question of a process that found no sign: does anybody live who sees it? The
// first who does answers in the same record, so that its version changes.
type doubt struct {
	Format int `json:"format"`
	// All asks everybody who is alive to answer, whatever they see.
	All bool `json:"all,omitempty"`
	// Answer is the address of the fast part of who answers.
	Answer string `json:"answer,omitempty"`
	// Blind is that of one who is alive and does not reach it, so that it cannot tell.
	Blind string `json:"blind,omitempty"`
}

// encode is the stored form of v.
func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic("pairing: a form does not encode: " + err.Error())
	}
	return out
}

// decode reads a form. One of a later release is an error, and so is what is none.
func decode[T any](rec store.Record, formatOf func(*T) int) (*T, error) {
	if rec.Missing() {
		return nil, nil //nolint:nilnil // no record is no form, and no error
	}
	v := new(T)
	if err := json.Unmarshal(rec.Value, v); err != nil {
		return nil, fmt.Errorf("pairing: %s: %w", rec.Key, err)
	}
	if n := formatOf(v); n != format {
		return nil, fmt.Errorf("pairing: %s: format %d expected, got %d: a later release of Shoal may have written it", rec.Key, format, n)
	}
	return v, nil
}

func decodeMark(rec store.Record) (*Mark, error) {
	return decode(rec, func(m *Mark) int { return m.Format })
}

func decodeSign(rec store.Record) (*Sign, error) {
	return decode(rec, func(s *Sign) int { return s.Format })
}

func decodeDoubt(rec store.Record) (*doubt, error) {
	return decode(rec, func(d *doubt) int { return d.Format })
}

// seen is what both parts say, with the versions of it. A missing record has version 0.
type seen struct {
	mark        *Mark
	markVersion store.Version
	sign        *Sign
	signVersion store.Version
}

// read reads the sign first: when it is there, its mark was written before.
func (p Parts) read(ctx context.Context) (s seen, err error) {
	if s.sign, s.signVersion, err = p.readSign(ctx); err != nil {
		return s, err
	}
	recs, err := p.Durable.Get(ctx, markKey)
	if err != nil {
		return s, err
	}
	s.markVersion = recs[0].Version
	s.mark, err = decodeMark(recs[0])
	return s, err
}

func (p Parts) readSign(ctx context.Context) (*Sign, store.Version, error) {
	recs, err := p.Fast.Get(ctx, signKey)
	if err != nil {
		return nil, 0, err
	}
	sign, err := decodeSign(recs[0])
	return sign, recs[0].Version, err
}
