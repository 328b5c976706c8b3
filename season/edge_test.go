package season_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// put writes a record past every fault.
func (w *world) put(key, value string) {
	w.t.Helper()
	err := w.engine.Records().Commit(w.t.Context(), store.Tx{{
		Key: key, Op: store.Put, Value: []byte(value), If: store.Any(), Version: store.VersionFrom(uint64(len(value)) + 7),
	}})[0]
	if err != nil {
		w.t.Fatal(err)
	}
}

// What is stored, byte for byte: other releases and operators read it.
func TestTheStoredForms(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch", "coins")
		h.leaveStill(s)
		w.pastGrace(0)
		h.closeDue()
		for key, want := range map[string]string{
			"season/reef/first":  `{"format":1,"k":0,"season":"C1S1","epoch":"2000-01-01T00:00:00Z","length":"1h0m0s","perCycle":20}`,
			"season/reef/closed": `{"format":1,"through":0,"season":"C1S1"}`,
			"season/reef/C1S1/result": `{"format":1,"season":"C1S1","k":0,"number":1,"boards":[` +
				`{"board":"Fish","title":"SEA KING","order":"descending","total":1,"digest":"f23303cabe7846c88fea91b1b5a9ff0e43c53bc1463e42bff9cbb6c2dbc4c2c6","top":[{"rank":1,"key":"ada","score":1}],"reserve":[]},` +
				`{"board":"Coins","title":"GOLD SOVEREIGN","order":"descending","total":1,"digest":"2af18d4ac1e43d1b7a43d9e4ff7ae36b0f92d5c2df1dd7b0fe9ad2a4b1c5bdf5","top":[{"rank":1,"key":"ada","score":10}],"reserve":[]}]}`,
		} {
			got := string(w.raw(key))
			if strings.HasSuffix(key, "result") { // the digests are checked by decoding
				got, want = withoutDigests(got), withoutDigests(want)
			}
			if got != want {
				t.Errorf("%s\n got %s\nwant %s", key, got, want)
			}
		}
		if got := string(w.raw("season/reef/C1S1/boards")); !strings.HasPrefix(got, `{"format":1,"season":"C1S1","boards":{"Coins":{"generation":"`) {
			t.Errorf("register %s", got)
		}
		if got := string(w.raw("season/reef/C1S1/close")); !strings.HasPrefix(got, `{"format":1,"season":"C1S1","node":"a-`) {
			t.Errorf("close %s", got)
		}
		want := `{"seasons":{"reef":{"season":"C1S1","stats":{"bestStreak":1,"coins":10,"fish":1,"streak":1}}}}`
		if got := w.profiles.data("ada").String(); got != want {
			t.Errorf("profile\n got %s\nwant %s", got, want)
		}
	})
}

func withoutDigests(s string) string {
	parts := strings.Split(s, `"digest":"`)
	for i := range parts[1:] {
		_, parts[i+1], _ = strings.Cut(parts[i+1], `"`)
	}
	return strings.Join(parts, "")
}

// Records that cannot be read stop the close, and are left alone.
func TestForeignRecordsAreLeftAlone(t *testing.T) {
	for key, value := range map[string]string{
		"season/reef/C1S1/result": `{"format":2,"season":"C1S1"}`,
		"season/reef/C1S1/boards": `{"format":7}`,
		"season/reef/closed":      `"none"`,
		"season/reef/first":       `[]`,
	} {
		bubble(t, func(t *testing.T, w *world) {
			h := w.host("a", hostOptions{})
			s := h.join("ada")
			h.play(s, "catch")
			h.leaveStill(s)
			w.put(key, value)
			w.pastGrace(0)
			if closed, err := h.CloseDue(t.Context()); err == nil || len(closed) > 0 {
				t.Errorf("%s: closed %v, %v", key, closed, err)
			}
			if got := string(w.raw(key)); got != value {
				t.Errorf("%s became %s", key, got)
			}
			if strings.HasSuffix(key, "result") {
				if _, err := h.Result(t.Context(), "C1S1"); !errors.Is(err, season.ErrNewerFormat) {
					t.Errorf("result: %v", err)
				}
			}
		})
	}
}

// The result of another season under this one's key is no result.
func TestAMisplacedResultIsNotTaken(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		data, err := season.EncodeResult(fishResult(t, 4, "eve"))
		if err != nil {
			t.Fatal(err)
		}
		w.put("season/reef/C1S1/result", string(data))
		if _, err := h.Result(t.Context(), "C1S1"); err == nil || errors.Is(err, season.ErrNoResult) {
			t.Fatalf("result: %v", err)
		}
	})
}

// A profile whose block is something else is not touched, and its player can still play.
func TestAPlayerWithoutABlockIsNotTouched(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		w.profiles.put("eve", parse(t, `{"seasons":{"reef":"mine"}}`), time.Now())
		s := w.profiles.load("eve")
		if _, err := h.Joined(t.Context(), s); !errors.Is(err, season.ErrBlock) {
			t.Fatalf("join: %v", err)
		}
		if err := h.Record(s, season.Event{Name: "catch"}); !errors.Is(err, season.ErrBlock) {
			t.Fatalf("record: %v", err)
		}
		if _, err := h.View(s); !errors.Is(err, season.ErrBlock) || s.commits() != 0 {
			t.Fatalf("view: %v, %d commits", err, s.commits())
		}
		h.leave(s)
	})
}

// Times: the smaller, the better, up to the title.
func TestASeasonOfTheFastest(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Stats = []season.Stat{{Name: "fastest", Kind: season.Min, On: []string{"lap"}}}
		w.cfg.Boards = []season.Board{{Name: "Laps", Stat: "fastest", Title: "THE WIND", Order: store.Ascending}}
		h := w.host("a", hostOptions{})
		for key, laps := range map[string][]int64{"ada": {90, 70, 80}, "bob": {60, 100}, "cyd": {75}} {
			s := h.join(key)
			for _, lap := range laps {
				if err := h.Record(s, season.Event{Name: "lap", Amount: lap}); err != nil {
					t.Fatal(err)
				}
				h.window()
			}
		}
		if got := h.top("Laps"); !slices.Equal(got, []string{"bob:60", "ada:70", "cyd:75"}) {
			t.Fatalf("%v", got)
		}
		w.pastGrace(0)
		h.closeDue()
		h.wantResult("C1S1", "Laps", "bob:60", "ada:70", "cyd:75")
		if _, err := h.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v, err := h.View(h.players("bob")); err != nil || len(v.Titles) != 1 || v.Titles[0].Text != "#1 THE WIND (S1)" {
			t.Fatalf("%+v, %v", v.Titles, err)
		}
	})
}

// A release adds a board while the season runs, and drops another: the new one is filled from
// the profiles at the close, also with the values of those who did not play since.
func TestABoardIsAddedDuringASeason(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		old := w.host("old", hostOptions{})
		s := old.join("ada")
		old.play(s, "catch", "catch", "lose")
		old.leaveStill(s)
		w.cfg.Boards = []season.Board{{Name: "Fish", Stat: "fish"}, {Name: "Streak", Stat: "bestStreak"}}
		h := w.host("new", hostOptions{})
		bob := h.join("bob")
		h.play(bob, "catch")
		h.leaveStill(bob)
		if err := h.Inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.top("Streak"); !slices.Equal(got, []string{"ada:2", "bob:1"}) {
			t.Fatalf("while the season runs: %v", got)
		}
		cyd := old.join("cyd")
		old.play(cyd, "catch", "catch", "catch")
		old.leaveStill(cyd) // the old release goes on for a while
		w.pastGrace(0)
		h.closeDue()
		h.wantResult("C1S1", "Fish", "cyd:3", "ada:2", "bob:1")
		h.wantResult("C1S1", "Streak", "cyd:3", "ada:2", "bob:1")
		if r, err := h.Result(t.Context(), "C1S1"); err != nil || len(r.Boards) != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
	})
}

// Two sets on one node and one store do not meet.
func TestTwoSetsDoNotMeet(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		cfg := w.cfg
		cfg.Length = 20 * time.Minute
		race, err := season.NewStill(h.node, "race", cfg, season.Deps{Profiles: w.profiles})
		if err != nil {
			t.Fatal(err)
		}
		s := h.join("ada")
		if _, err := race.Joined(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		h.play(s, "catch", "catch")
		if err := race.Record(s, season.Event{Name: "catch"}); err != nil {
			t.Fatal(err)
		}
		h.window()
		if err := race.Window(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.until(26 * time.Minute)
		closed, err := race.CloseDue(t.Context())
		if err != nil || len(closed) != 1 || len(h.closeDue()) != 0 {
			t.Fatalf("closed %v, %v", closed, err)
		}
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:2"}) {
			t.Fatalf("%v", got)
		}
		r, err := race.Result(t.Context(), "C1S1")
		if err != nil || !slices.Equal(standings(r, "Fish"), []string{"ada:1"}) {
			t.Fatalf("%v, %v", r, err)
		}
	})
}

// What is owed for a season before the set's first has no board to go to: it is reported, and
// leaves the profile.
func TestOwedFromBeforeTheFirstSeasonIsReported(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Epoch = w.cfg.Epoch.Add(-5 * time.Hour)
		h := w.host("a", hostOptions{})
		w.profiles.put("ada", parse(t, `{"seasons":{"reef":{"season":"C1S3","stats":{"fish":7}}}}`), w.cfg.Epoch)
		s := h.join("ada")
		h.window()
		h.window()
		got := h.refused()
		if len(got) != 1 || got[0].Season != "C1S3" || got[0].Score != 7 || !errors.Is(got[0].Err, season.ErrNoSeason) {
			t.Fatalf("refused %+v", got)
		}
		if v, err := h.View(s); err != nil || v.Owed != nil || v.Season != "C1S6" {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

// Boards of closed seasons may be dropped: a late player's old values are then no news.
func TestDroppedBoardsOfClosedSeasonsAreQuiet(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch")
		h.leaveStill(s)
		w.pastGrace(0)
		h.closeDue()
		w.engine.Forget(memstore.Boards)
		late := h.join("ada")
		h.window()
		if v, err := h.View(late); err != nil || len(h.refused()) > 0 || v.Owed != nil || len(v.Titles) != 1 {
			t.Fatalf("refused %+v, view %+v, %v", h.refused(), v, err)
		}
		if _, err := w.engine.Boards().Info(t.Context(), season.BoardKey("reef", "Fish", "C1S1")); !errors.Is(err, store.ErrNoBoard) {
			t.Fatalf("the board of a closed season was made anew: %v", err)
		}
	})
}

// When closing is stuck for very long, the oldest owed season leaves the block; if its board
// has answered that is no loss, else it is reported.
func TestTooManyOwedSeasonsAreReported(t *testing.T) {
	for _, sent := range []bool{false, true} {
		bubble(t, func(t *testing.T, w *world) {
			w.cfg.CloseEvery = -1 // nobody closes anything
			h := w.host("a", hostOptions{})
			s := h.join("ada")
			for k := range season.MaxOwed + 3 {
				w.until(time.Duration(k)*time.Hour + time.Second)
				h.play(s, "catch")
				if sent {
					h.window()
				}
			}
			want := 2
			if sent {
				want = 0
			}
			if got := h.refused(); len(got) != want || want > 0 && (got[0].Season != "C1S1" || got[0].Board != "") {
				t.Fatalf("sent %v: refused %+v", sent, got)
			}
		})
	}
}

// A store without transactions over several keys is enough.
func TestASingleKeyStoreIsEnough(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.engine = memstore.New(&memstore.Options{SingleKey: true, Apart: true})
		h := w.host("a", hostOptions{loops: true})
		s := h.join("ada")
		h.play(s, "catch")
		w.until(time.Hour + 6*time.Minute)
		h.wantResult("C1S1", "Fish", "ada:1")
		if got := h.titles(); !slices.Equal(got, []string{"ada Fish@C1S1"}) {
			t.Fatalf("titles %v", got)
		}
		if _, err := doc.Parse(w.raw("season/reef/C1S1/boards"), nil); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNewRefusesWhatItCannotRun(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		_, err := season.New(h.node, "no/name", season.Config{}, season.Deps{})
		for _, want := range []string{"name: has", "epoch: is missing", "length: at least"} {
			if !errors.Is(err, season.ErrConfig) || !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %v", want, err)
			}
		}
		if got := h.Config(); got.Grace != 300*time.Second || got.Keep != 5 || got.Path != "/seasons/reef" || h.Name() != "reef" {
			t.Errorf("effective: %+v", got)
		}
		if in := h.Preview(w.cfg.Epoch.Add(90 * time.Minute)); in.ID != "C1S2" || in.Remaining != 30*time.Minute {
			t.Errorf("preview: %+v", in)
		}
		if now := h.Current(); now.K != 0 || fmt.Sprint(now.Remaining) != "1h0m0s" {
			t.Errorf("current: %+v", now)
		}
	})
}
