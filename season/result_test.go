package season_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// fishResult is a result in which the given players stand in order, three of them with titles.
func fishResult(t interface {
	Helper()
	Fatal(...any)
}, k int64, keys ...string,
) *season.Result {
	t.Helper()
	page := store.Page{Total: int64(len(keys))}
	for i, key := range keys {
		page.Entries = append(page.Entries, store.Standing{Entry: store.Entry{Key: key, Score: int64(100 - i)}, Rank: int64(i + 1)})
	}
	board := season.Board{Name: "Fish", Title: "SEA KING", Order: store.Descending}
	r, err := season.MakeResult(k, season.Reef().Calendar, board, page, 3)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResultKeepsTitlesAndReserve(t *testing.T) {
	r := fishResult(t, 1, "ada", "bob", "cyd", "dan", "eve")
	b := r.Boards[0]
	if r.Season != "C1S2" || r.Number != 2 || len(b.Top) != 3 || len(b.Reserve) != 2 || b.Total != 5 {
		t.Fatalf("%+v", r)
	}
	for i, key := range []string{"ada", "bob", "cyd", "dan", "eve"} {
		if p, ok := r.Find("Fish", key); !ok || p.Rank != i+1 || p.Score != int64(100-i) {
			t.Errorf("%s: %+v, %v", key, p, ok)
		}
	}
	if _, ok := r.Find("Fish", "zoe"); ok {
		t.Error("zoe has a place")
	}
	if _, ok := r.Find("Coins", "ada"); ok {
		t.Error("a place on a board that is not there")
	}
}

func TestResultIsOneSequenceOfBytes(t *testing.T) {
	a, err1 := season.EncodeResult(fishResult(t, 1, "ada", "bob", "<&>"))
	b, err2 := season.EncodeResult(fishResult(t, 1, "ada", "bob", "<&>"))
	if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Fatalf("%s\n%s\n%v %v", a, b, err1, err2)
	}
	back, err := season.DecodeResult(a)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := season.EncodeResult(back); err != nil || !bytes.Equal(a, c) {
		t.Fatalf("%s\n%s\n%v", a, c, err)
	}
}

// A result is proof, not a guess.
func TestADamagedResultIsRefused(t *testing.T) {
	good, err := season.EncodeResult(fishResult(t, 1, "ada", "bob", "cyd", "dan"))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"ada"`, `"eve"`},
		{`"score":97`, `"score":96`},
		{`"rank":2`, `"rank":3`},
		{`"format":1`, `"format":0`},
		{`"season":"C1S2"`, `"season":""`},
		{`"k":1`, `"k":-1`},
		{`{`, `[`},
	} {
		bad := strings.Replace(string(good), change[0], change[1], 1)
		if _, err := season.DecodeResult([]byte(bad)); err == nil {
			t.Errorf("taken: %s", bad)
		}
	}
	newer := strings.Replace(string(good), `"format":1`, `"format":2`, 1)
	if _, err := season.DecodeResult([]byte(newer)); !errors.Is(err, season.ErrNewerFormat) {
		t.Errorf("a newer format: %v", err)
	}
	if _, err := season.DecodeRegister([]byte(`{"format":9}`)); !errors.Is(err, season.ErrNewerFormat) {
		t.Errorf("a register of a newer format: %v", err)
	}
	if _, err := season.DecodeRegister([]byte(`{}`)); err == nil {
		t.Error("a register without a format is taken")
	}
}

func FuzzDecodeResult(f *testing.F) {
	for n := range 4 {
		keys := make([]string, n*2)
		for i := range keys {
			keys[i] = fmt.Sprint("u", i)
		}
		data, err := season.EncodeResult(fishResult(f, int64(n), keys...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"format":1,"season":"C1S1","unplayed":true,"boards":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := season.DecodeResult(data)
		if err != nil {
			return
		}
		again, err := season.EncodeResult(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := season.DecodeResult(again); err != nil {
			t.Fatalf("%v of %s", err, again)
		}
	})
}

func FuzzDecodeRegister(f *testing.F) {
	f.Add([]byte(`{"format":1,"season":"C1S1","boards":{"Fish":{"generation":"abc","rebuilt":true,"refilled":"def"}}}`))
	f.Add([]byte(`{"format":1,"season":"C1S1","unplayed":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		again, err := season.DecodeRegister(data)
		if err != nil {
			return
		}
		third, err := season.DecodeRegister(again)
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%s became %s, %v", again, third, err)
		}
	})
}

func TestTitlesAreKeyedByBoardAndSeason(t *testing.T) {
	r := rulesOf(t, season.Reef())
	data, titles, err := r.Grant(parse(t, `{}`), season.Occasion{Key: "cyd", Results: []*season.Result{
		fishResult(t, 1, "ada", "bob", "cyd"), fishResult(t, 2, "cyd"), fishResult(t, 3, "ada", "bob", "eve", "cyd"),
	}})
	if err != nil || len(titles) != 2 {
		t.Fatalf("%v, %v", titles, err)
	}
	if titles[0].Text != "#3 SEA KING (S2)" || titles[0].Key != "Fish@C1S2" || titles[1].Text != "#1 SEA KING (S3)" {
		t.Fatalf("%+v", titles)
	}
	want := parse(t, `{"seasons":{"reef":{
		"titles":{
			"Fish@C1S2":{"rank":3,"score":98,"name":"SEA KING","number":2,"text":"#3 SEA KING (S2)","corrections":0},
			"Fish@C1S3":{"rank":1,"score":100,"name":"SEA KING","number":3,"text":"#1 SEA KING (S3)","corrections":0}},
		"processed":{"through":-1,"extra":[1,2,3]},"corrected":{"C1S2":0,"C1S3":0,"C1S4":0}}}}`)
	if !data.Equal(want) {
		t.Fatalf("got  %s\nwant %s", data, want)
	}
	view, err := r.View(data, 4, 0)
	if err != nil || len(view.Titles) != 2 || view.Titles[0] != titles[0] || view.Titles[1] != titles[1] {
		t.Fatalf("read back %+v, %v", view.Titles, err)
	}
}

// Whatever results arrive in whatever order and however often: each title once, and the mark
// says what was looked at.
func TestGrantingIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rulesOf(t, season.Reef())
		created, first := rapid.Int64Range(0, 4).Draw(t, "created"), rapid.Int64Range(0, 4).Draw(t, "first")
		data := parse(t, rapid.SampledFrom([]string{`{}`, `{"seasons":{"reef":null}}`, `{"seasons":{"reef":{"season":"C1S1"}}}`}).Draw(t, "start"))
		got, seen := make(map[string]int), make(map[int64]bool)
		for range rapid.IntRange(1, 8).Draw(t, "loads") {
			var results []*season.Result
			for _, k := range rapid.SliceOfNDistinct(rapid.Int64Range(0, 9), 0, 4, rapid.ID[int64]).Draw(t, "seasons") {
				// The player wins the even seasons.
				keys := []string{"other", "me"}
				if k%2 == 1 {
					keys = []string{"other", "third", "fourth", "me"}
				}
				results = append(results, fishResult(t, k, keys...))
				seen[k] = true
			}
			next, titles, err := r.Grant(data, season.Occasion{Key: "me", Created: created, First: first, Results: results})
			if err != nil {
				t.Fatal(err)
			}
			for _, title := range titles {
				got[title.Key]++
			}
			data = next
		}
		for k := range int64(10) {
			want := 0
			if k%2 == 0 && seen[k] && k >= created && k >= first {
				want = 1
			}
			key := season.TitleKey("Fish", season.Reef().ID(k))
			if got[key] != want {
				t.Fatalf("title %s was granted %d times, want %d", key, got[key], want)
			}
			view, err := r.View(data, 20, created)
			if err != nil {
				t.Fatal(err)
			}
			if looked := seen[k] || k < created; looked && !view.Processed.Has(k) {
				t.Fatalf("season %d is not processed: %+v", k, view.Processed)
			} else if !looked && k >= first && view.Processed.Has(k) {
				t.Fatalf("season %d counts as processed: %+v", k, view.Processed)
			}
		}
	})
}

func TestOwedLeavesWithTheResultWhenItIsSettled(t *testing.T) {
	r := rulesOf(t, season.Reef())
	data := parse(t, `{"seasons":{"reef":{"season":"C1S3","stats":{},"owed":{"C1S1":{"fish":1},"C1S2":{"fish":2}}}}}`)
	settled := map[int64]doc.Value{0: parse(t, `{"fish":1}`), 1: parse(t, `{"fish":1}`)} // of C1S2 an older state
	got, _, err := r.Grant(data, season.Occasion{Key: "u", Results: []*season.Result{fishResult(t, 0), fishResult(t, 1)}, Settled: settled})
	want := parse(t, `{"seasons":{"reef":{"season":"C1S3","stats":{},"owed":{"C1S2":{"fish":2}},"processed":{"through":1}}}}`)
	if err != nil || !got.Equal(want) {
		t.Fatalf("got %s, %v", got, err)
	}
}
