package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/sim"
	"github.com/shoalworks/shoal/store"
)

// This file breaks, on purpose, what libraries and stores must do about seasons.

// seasoned is our library with a flaw in its settings, its stores or its sessions.
type seasoned struct {
	sim.Ours
	rules func(cfg *season.Config)
	parts func(p *sim.Process, parts store.Parts) store.Parts
	fish  func(p *sim.Process, a sim.Angler) sim.Angler
}

func (f seasoned) Start(ctx context.Context, p *sim.Process, name string, s sim.Settings) (sim.Host, error) {
	ours := f.Ours
	if f.parts != nil {
		ours.Parts = func(parts store.Parts) store.Parts { return f.parts(p, parts) }
	}
	if f.rules != nil && s.Seasons != nil {
		cfg := *s.Seasons
		f.rules(&cfg)
		s.Seasons = &cfg
	}
	h, err := ours.Start(ctx, p, name, s)
	reef, ok := h.(sim.Seasonal)
	if err != nil || !ok || f.fish == nil {
		return h, err
	}
	return flawedReef{reef, p, f.fish}, nil
}

type flawedReef struct {
	sim.Seasonal
	p    *sim.Process
	flaw func(p *sim.Process, a sim.Angler) sim.Angler
}

func (r flawedReef) Fish(ctx context.Context, key string) (sim.Angler, error) {
	a, err := r.Seasonal.Fish(ctx, key)
	if err != nil {
		return nil, err
	}
	return r.flaw(r.p, a), nil
}

// flawedAngler is a session whose Record does something else after it, or instead.
type flawedAngler struct {
	sim.Angler
	record func(event string) error
}

func (a flawedAngler) Record(event string) error { return a.record(event) }

// write changes the profile behind the back of the seasons.
func write(a sim.Angler, ops ...doc.Op) {
	if h, ok := a.(sim.Hold); ok {
		_, _, _ = h.Transact(ops...)
	}
}

// seasonOf is the season of a session's block, and what it owes.
func seasonOf(a sim.Angler) (id string, owed doc.Value) {
	block, _ := a.Data().Get(doc.P("seasons", "reef"))
	member, _ := block.Member("season")
	id, _ = member.AsString()
	owed, _ = block.Member("owed")
	return id, owed
}

// localSeason is the season that it is by a process's own clock.
func localSeason(p *sim.Process) int64 {
	epoch := time.Date(2031, 5, 17, 12, 0, 0, 0, time.UTC)
	return max(0, int64(p.Clock().Now().Sub(epoch)/(3*time.Minute)))
}

func idOf(k int64) string { return fmt.Sprintf("C%dS%d", k/3+1, k%3+1) }

// clocked is records with a clock of their own.
type clocked struct {
	store.Records
	now func() time.Time
}

func (c clocked) Now(context.Context) (time.Time, error) { return c.now(), nil }

func TestSeasonsByTheLocalClockAreCaught(t *testing.T) {
	library := seasoned{parts: func(p *sim.Process, parts store.Parts) store.Parts {
		parts.Durable = clocked{parts.Durable, p.Clock().Now}
		return parts
	}}
	caught(t, sim.Options{Library: library}, []string{"seasonsSkewed", "seasonsFast"}, "another season", "closed early")
}

func TestBlockThatGoesBackIsCaught(t *testing.T) {
	library := seasoned{fish: func(p *sim.Process, a sim.Angler) sim.Angler {
		return flawedAngler{a, func(event string) error {
			err := a.Record(event)
			if id, _ := seasonOf(a); err == nil && id != idOf(localSeason(p)) {
				write(a, doc.Set("/seasons/reef/season", doc.MustString(idOf(localSeason(p)))))
			}
			return err
		}}
	}}
	caught(t, sim.Options{Library: library}, []string{"seasonsSkewed"}, "block back")
}

// Every season that is over counts as looked up, as one would have it who remembers the last
// one only.
func TestHighWaterTitlesAreCaught(t *testing.T) {
	library := seasoned{fish: func(p *sim.Process, a sim.Angler) sim.Angler {
		if k := localSeason(p); k > 0 {
			through := doc.MustObject(map[string]doc.Value{"through": doc.Int(k - 1)})
			write(a, doc.Set("/seasons/reef/processed", through))
		}
		return a
	}}
	caught(t, sim.Options{Library: library}, []string{"seasonsLastSecond", "seasonsBlind"}, "titles")
}

func TestCloseWithoutGraceIsCaught(t *testing.T) {
	library := seasoned{rules: func(cfg *season.Config) { cfg.FlushEvery, cfg.Grace = 900*time.Millisecond, time.Second }}
	caught(t, sim.Options{Library: library}, []string{"seasonsLastSecond"}, "closed early")
}

func TestPageOfItsOwnForEveryReaderIsCaught(t *testing.T) {
	library := seasoned{rules: func(cfg *season.Config) { cfg.CacheFor = time.Millisecond }}
	caught(t, sim.Options{Library: library}, []string{"seasonsSkewed"}, "read too often")
}

// likeBefore is boards that are taken for what they were, whatever they have lost since.
type likeBefore struct {
	store.Boards
	mu    *sync.Mutex
	first map[string]string // generations
}

func (b likeBefore) as(board string, info store.BoardInfo, err error) (store.BoardInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && b.first[board] == "" {
		b.first[board] = info.Generation
	}
	if err == nil {
		info.Generation = b.first[board]
	}
	return info, err
}

func (b likeBefore) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	info, err := b.Boards.Create(ctx, board, spec)
	return b.as(board, info, err)
}

func (b likeBefore) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	info, err := b.Boards.Info(ctx, board)
	if errors.Is(err, store.ErrNoBoard) { // made anew, and nothing is amiss
		return b.Create(ctx, board, store.BoardSpec{Order: store.Descending, Generation: "g" + board})
	}
	return b.as(board, info, err)
}

func (b likeBefore) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	page, err := b.Boards.Page(ctx, board, offset, limit, mode)
	page.Info, err = b.as(board, page.Info, err)
	return page, err
}

func TestIgnoredGenerationsAreCaught(t *testing.T) {
	mu, first := new(sync.Mutex), make(map[string]string)
	library := seasoned{parts: func(_ *sim.Process, parts store.Parts) store.Parts {
		parts.Boards = likeBefore{parts.Boards, mu, first}
		return parts
	}}
	clear(first)
	caught(t, sim.Options{Library: library}, []string{"seasonsForgotten"}, "another result")
}

// hopeful is boards whose failed reads are empty lists.
type hopeful struct {
	store.Boards
	mu   *sync.Mutex
	last map[string]store.BoardInfo
}

func (b hopeful) instead(board string, info store.BoardInfo, err error, sealed bool) (store.BoardInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.last[board] = info
	} else if known, ok := b.last[board]; ok && !errors.Is(err, store.ErrNoBoard) {
		known.Sealed = known.Sealed || sealed
		return known, nil
	}
	return info, err
}

func (b hopeful) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	info, err := b.Boards.Create(ctx, board, spec)
	return b.instead(board, info, err, false)
}

func (b hopeful) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	info, err := b.Boards.Info(ctx, board)
	return b.instead(board, info, err, false)
}

func (b hopeful) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	info, err := b.Boards.Seal(ctx, board)
	return b.instead(board, info, err, true)
}

func (b hopeful) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	page, err := b.Boards.Page(ctx, board, offset, limit, mode)
	page.Info, err = b.instead(board, page.Info, err, true)
	return page, err
}

func TestEmptyListForAFailedReadIsCaught(t *testing.T) { // case S8
	library := seasoned{parts: func(_ *sim.Process, parts store.Parts) store.Parts {
		parts.Boards = hopeful{parts.Boards, new(sync.Mutex), make(map[string]store.BoardInfo)}
		return parts
	}}
	caught(t, sim.Options{Library: library}, []string{"seasonsBlind"}, "another result")
}

// sealless is boards that nobody seals.
type sealless struct{ store.Boards }

func (b sealless) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	info, err := b.Info(ctx, board)
	info.Sealed = true
	return info, err
}

func (b sealless) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	page, err := b.Boards.Page(ctx, board, offset, limit, mode)
	page.Info.Sealed = true
	return page, err
}

func TestResultOfABoardThatIsNotSealedIsCaught(t *testing.T) {
	library := seasoned{parts: func(_ *sim.Process, parts store.Parts) store.Parts {
		parts.Boards = sealless{parts.Boards}
		return parts
	}}
	caught(t, sim.Options{Library: library}, []string{"seasonsLastSecond"}, "no seal")
}

func TestOwedClearedBeforeTheBoardHasAnsweredIsCaught(t *testing.T) {
	library := seasoned{fish: func(_ *sim.Process, a sim.Angler) sim.Angler {
		return flawedAngler{a, func(event string) error {
			err := a.Record(event)
			if _, owed := seasonOf(a); owed.Len() > 0 {
				write(a, doc.Unset("/seasons/reef/owed"))
			}
			return err
		}}
	}}
	caught(t, sim.Options{Library: library}, []string{"seasonsSkewed"}, "counted elsewhere", "silently dropped")
	library = seasoned{parts: func(_ *sim.Process, parts store.Parts) store.Parts { // what failed is taken for written
		d := parts.Boards
		parts.Boards = merging{d, func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			changes, err := d.Merge(ctx, board, batch)
			if err != nil {
				return kept(batch), nil //nolint:nilerr // this is the flaw
			}
			return changes, nil
		}}
		return parts
	}}
	caught(t, sim.Options{Library: library}, []string{"seasonsSoup"}, "owed cleared", "silently dropped")
}

func TestCountersCarriedIntoTheNextSeasonAreCaught(t *testing.T) { // case S4
	library := seasoned{fish: func(_ *sim.Process, a sim.Angler) sim.Angler {
		return flawedAngler{a, func(event string) error {
			before, _ := seasonOf(a)
			err := a.Record(event)
			if after, _ := seasonOf(a); before != "" && after != before {
				write(a, doc.Increment("/seasons/reef/stats/fish", 1))
			}
			return err
		}}
	}}
	caught(t, sim.Options{Library: library}, []string{"seasonsLastSecond"}, "counted elsewhere", "nobody's catch")
}

// winner is somebody of whom the result has the key only.
type winner struct {
	season.Session
	key string
}

func (w winner) Key() string { return w.key }

func TestTitleToldBeforeItIsStoredIsCaught(t *testing.T) { // case S6
	library := seasoned{Ours: sim.Ours{Deps: func(d *season.Deps) {
		over, tell := d.OnClosed, d.OnTitle
		d.OnClosed = func(c season.Closed, r *season.Result) {
			over(c, r)
			for _, b := range r.Boards {
				for _, p := range b.Top {
					tell(context.Background(), winner{key: p.Key}, []season.Title{{
						Key: season.TitleKey(b.Board, r.Season), Board: b.Board, Season: r.Season, Rank: p.Rank,
					}})
				}
			}
		}
	}}}
	caught(t, sim.Options{Library: library}, []string{"seasonsLastSecond"}, "told too early", "told twice")
}

// each has every write of a kind of a season's records be made another.
func each(suffix string, change func(w *store.Write)) seasoned {
	return seasoned{parts: func(_ *sim.Process, parts store.Parts) store.Parts {
		r := parts.Durable
		parts.Durable = decorated{Records: r, commit: func(ctx context.Context, tx store.Tx) (error, bool) {
			if !strings.HasPrefix(tx[0].Key, "season/") || !strings.HasSuffix(tx[0].Key, suffix) {
				return nil, false
			}
			other := append(store.Tx(nil), tx...)
			change(&other[0])
			return r.Commit(ctx, other)[0], true
		}}
		return parts
	}}
}

func TestResultThatIsOverwrittenIsCaught(t *testing.T) { // case S2
	library := each("/result", func(w *store.Write) { w.If = store.Any() })
	caught(t, sim.Options{Library: library}, []string{"seasonsClosers"}, "result changed")
}

func TestClosedThroughBeyondWhatIsClosedIsCaught(t *testing.T) {
	library := each("/closed", func(w *store.Write) {
		var form map[string]any
		if json.Unmarshal(w.Value, &form) != nil {
			return
		}
		form["through"] = form["through"].(float64) + 1
		w.Value, _ = json.Marshal(form)
	})
	caught(t, sim.Options{Library: library}, []string{"seasonsLastSecond"}, "closed back")
}

func TestLateValuesThatNobodyReportsAreCaught(t *testing.T) { // case S3
	library := seasoned{Ours: sim.Ours{Deps: func(d *season.Deps) { d.OnRefused = nil }}}
	caught(t, sim.Options{Library: library}, []string{"seasonsPaused"}, "owed cleared", "silently dropped")
}

func TestRewardOutsideOfItsTitleIsCaught(t *testing.T) { // case S7
	library := seasoned{Ours: sim.Ours{Deps: func(d *season.Deps) { d.Reward = nil }}}
	caught(t, sim.Options{Library: library}, []string{"seasonsLastSecond"}, "reward")
}
