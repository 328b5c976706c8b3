package board_test

import (
	"context"
	"errors"
	"math"
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// way is one way in for a score. It answers the number that was meant, as text, or none when
// it is no number.
type way struct {
	name string
	meta bool // it takes metadata
	send func(ctx context.Context, s *board.Service, name string, v word) (meant string, err error)
}

// word is what a caller may send, well formed or not.
type word struct {
	key, text string
	bits      uint64 // an int64, or a float64
	stamp     store.Stamp
	meta      []byte
	decimals  int
}

func (v word) score() int64 { return int64(v.bits) }

// units is a score as the number that it stands for.
func (v word) units(score int64) string {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(v.decimals)), nil)
	return new(big.Rat).SetFrac(big.NewInt(score), scale).RatString()
}

func (v word) entry() store.Submission {
	return store.Submission{Key: v.key, Score: v.score(), Meta: v.meta}
}

// number is a text as a number, in one spelling.
func number(text string) string {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return ""
	}
	return r.RatString()
}

var ways = []way{
	{"Submit", false, func(_ context.Context, s *board.Service, name string, v word) (string, error) {
		return v.units(v.score()), s.Submit(name, v.key, v.score())
	}},
	{"SubmitLast", false, func(_ context.Context, s *board.Service, name string, v word) (string, error) {
		return v.units(v.score()), s.SubmitLast(name, v.key, v.score(), v.stamp)
	}},
	{"SubmitDecimal", false, func(_ context.Context, s *board.Service, name string, v word) (string, error) {
		return number(v.text), s.SubmitDecimal(name, v.key, v.text)
	}},
	{"SubmitFloat", false, func(_ context.Context, s *board.Service, name string, v word) (string, error) {
		f := math.Float64frombits(v.bits)
		meant := number(strconv.FormatFloat(f, 'f', -1, 64))
		if f == math.Trunc(f) && !math.IsInf(f, 0) {
			meant = new(big.Rat).SetFloat64(f).RatString()
		}
		return meant, s.SubmitFloat(name, v.key, f)
	}},
	{"SubmitEntry", true, func(_ context.Context, s *board.Service, name string, v word) (string, error) {
		return v.units(v.score()), s.SubmitEntry(name, v.entry())
	}},
	{"SubmitDurable", true, func(ctx context.Context, s *board.Service, name string, v word) (string, error) {
		e := v.entry()
		e.Stamp = v.stamp
		if cfg, ok := s.Config(name); ok && cfg.Rule != store.Last {
			e.Stamp = store.Stamp{}
		}
		return v.units(v.score()), s.SubmitDurable(ctx, name, e)
	}},
	{"Merge", true, func(ctx context.Context, s *board.Service, name string, v word) (string, error) {
		cfg, _ := s.Config(name)
		b := store.Batch{Rule: cfg.Rule, Entries: []store.Submission{v.entry()}}
		switch cfg.Rule {
		case store.Sum:
			b.Source, b.N = "fuzz", 1
		case store.Last:
			b.Entries[0].Stamp = v.stamp
		case store.Best:
		}
		if _, err := s.Create(ctx, name, store.BoardSpec{Order: cfg.Order, Generation: "g"}); err != nil {
			return "", err
		}
		_, err := s.Merge(ctx, name, b)
		return v.units(v.score()), err
	}},
}

// wayBoards are boards with each rule, with and without decimals.
var wayBoards = boards{
	"Best": {}, "Best3": {Decimals: 3}, "Last": {Rule: store.Last}, "Last18": {Rule: store.Last, Decimals: 18},
	"Sum": {Rule: store.Sum}, "Sum1": {Rule: store.Sum, Decimals: 1}, "Time": {Order: store.Ascending, Min: ptr(-5), Max: ptr(5)},
}

// checkWay sends a word in one way to a board, and checks that it is either refused, with
// nothing stored, or read back exactly: key, number and metadata, by every read.
func checkWay(t *testing.T, s *board.Service, w way, name string, v word) {
	t.Helper()
	ctx := t.Context()
	cfg, _ := s.Config(name)
	v.decimals = cfg.Decimals
	if err := s.Drop(ctx, name); err != nil {
		t.Fatal(err)
	}
	meant, err := w.send(ctx, s, name, v)
	if e := s.FlushNow(ctx); e != nil {
		t.Fatalf("%s: what was accepted (%v) cannot be written: %v", w.name, err, e)
	}
	page, e := s.Top(ctx, name, 0)
	if e != nil {
		t.Fatal(e)
	}
	if err != nil {
		var bad *board.RefusedError
		if len(page.Entries) > 0 || !errors.As(err, &bad) && store.OutcomeOf(err) != store.NotDone {
			t.Fatalf("%s: refused with %v, stored %v", w.name, err, rows(page))
		}
		return
	}
	if len(page.Entries) != 1 || page.Entries[0].Key != v.key {
		t.Fatalf("%s: %q was accepted, stored %v", w.name, v.key, rows(page))
	}
	got := page.Entries[0]
	text, e := s.FormatScore(name, got.Score)
	if e != nil || meant == "" || number(text) != meant {
		t.Fatalf("%s: %q was meant, stored as %d, shown as %s", w.name, meant, got.Score, text)
	}
	if back, e := s.ParseScore(name, text); e != nil || back != got.Score {
		t.Fatalf("%s: %s is read as %d, want %d: %v", w.name, text, back, got.Score, e)
	}
	if w.meta && string(got.Meta) != string(v.meta) {
		t.Fatalf("%s: metadata %q, want %q", w.name, got.Meta, v.meta)
	}
	st, ok, e := s.Standing(ctx, name, v.key)
	if e != nil || !ok || st.Score != got.Score || st.Rank != 1 {
		t.Fatalf("%s: standing %+v, %v, %v", w.name, st, ok, e)
	}
	scores, e := s.Scores(ctx, name, v.key)
	if e != nil || scores[v.key].Score != got.Score {
		t.Fatalf("%s: scores %v, %v", w.name, scores, e)
	}
}

func wayService(tb testing.TB) *board.Service {
	tb.Helper()
	s := newScript()
	st, err := store.New(store.Parts{Durable: s.engine.Records(), Boards: s, Bus: s.engine.Bus()})
	if err != nil {
		tb.Fatal(err)
	}
	svc, err := board.NewOn(board.Host{ID: "n", Boards: st.Boards(), Now: time.Now, Logger: discard()}, &board.Options{FlushEvery: time.Hour, CacheFor: -1, Boards: wayBoards})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _, _ = svc.Close(context.WithoutCancel(tb.Context())) })
	return svc
}

// trickyNumbers are those that other systems store as garbage: case B11, case B12, case B13,
// case B14.
var trickyNumbers = []word{
	{text: "", bits: math.Float64bits(math.NaN())},
	{text: "NaN", bits: math.Float64bits(math.Inf(1))},
	{text: "1e300", bits: math.Float64bits(1e300)},
	{text: "-Inf", bits: math.Float64bits(math.Inf(-1))},
	{text: "-0", bits: math.Float64bits(math.Copysign(0, -1))},
	{text: "0", bits: 0},
	{text: "9007199254740993", bits: 1<<53 + 1},
	{text: "9007199254740992", bits: math.Float64bits(1<<53 + 2)},
	{text: "9223372036854775807", bits: math.MaxInt64},
	{text: "9223372036854775808", bits: 1 << 63},
	{text: "-9223372036854775808", bits: math.Float64bits(-1 << 63)},
	{text: "9.223372036854775807", bits: math.Float64bits(1 << 63)},
	{text: "-12.345", bits: math.Float64bits(12.345)},
	{text: "12.3456", bits: math.Float64bits(0.1)},
	{text: "+1", bits: math.Float64bits(5e-324)},
}

func TestEveryWayInIsReadBackExactly(t *testing.T) {
	s := wayService(t)
	keys := []string{"u1", "", "a/b", "a b", "ü", "a\x00b", string(make([]byte, 129))}
	metas := [][]byte{nil, {0, 255, '"'}, make([]byte, store.MaxMeta), make([]byte, store.MaxMeta+1)}
	for name := range wayBoards {
		for _, w := range ways {
			for i, v := range trickyNumbers {
				v.key, v.meta, v.stamp = "u1", metas[i%3], store.Stamp{Epoch: uint64(i), Revision: uint64(i)}
				checkWay(t, s, w, name, v)
			}
			for i, key := range keys {
				checkWay(t, s, w, name, word{key: key, text: "1", bits: 1, meta: metas[i%len(metas)], stamp: store.Stamp{Epoch: 1 << 63}})
			}
		}
	}
}

func FuzzEveryWayIn(f *testing.F) {
	for i, v := range trickyNumbers {
		f.Add(uint8(i), uint8(i/2), "u1", v.text, v.bits, uint64(i), uint64(i), []byte(v.text))
	}
	s := wayService(f)
	names := s.Boards()
	f.Fuzz(func(t *testing.T, w, name uint8, key, text string, bits, epoch, revision uint64, meta []byte) {
		v := word{key: key, text: text, bits: bits, stamp: store.Stamp{Epoch: epoch, Revision: revision}, meta: meta}
		checkWay(t, s, ways[int(w)%len(ways)], names[int(name)%len(names)], v)
	})
}
