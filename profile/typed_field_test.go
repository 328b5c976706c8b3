package profile_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/codec"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

func TestFieldsReadAndWriteOnePlace(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", &profile.Options{Template: doc.Must(map[string]any{"coins": 1, "other": "x"})}).load("u", nil)
		coins, luck, name, vip := profile.Int("/coins"), profile.Float("/stats/luck"), profile.Text("/stats/name"), profile.Flag("/vip")
		good(t)(coins.Add(s, game, 4))
		good(t)(coins.AddWithin(s, game, -5, 0, 10))
		good(t)(luck.Set(s, game, 0.5))
		good(t)(luck.Add(s, game, 0.25))
		good(t)(name.Set(s, game, "Ann"))
		good(t)(vip.Set(s, game, true))
		good(t)(vip.SetFrom(s, game, true, false))
		good(t)(name.Unset(s, game))
		want := `{"coins":0,"other":"x","stats":{"luck":0.75},"vip":false}`
		if got := s.Data().String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		gotLuck, err := luck.Get(s)
		gotName, errName := name.Get(s)
		gotCoins, errCoins := coins.In(doc.Must(map[string]any{"coins": 7}))
		if err := errors.Join(err, errName, errCoins); err != nil || gotLuck != 0.75 || gotName != "" || gotCoins != 7 {
			t.Errorf("%v, %q, %v, %v", gotLuck, gotName, gotCoins, err)
		}
	})
}

// good ends the test if a change was refused.
func good(t *testing.T) func(profile.Commit, error) {
	t.Helper()
	return func(c profile.Commit, err error) {
		t.Helper()
		if err != nil || len(c.Edits) != 1 {
			t.Fatalf("%+v, %v", c, err)
		}
	}
}

func TestFieldsRefuse(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", &profile.Options{Template: doc.Must(map[string]any{
			"coins": math.MaxInt64, "name": 5, "list": []any{1, "x"}, "map": map[string]any{"a/b": "x"},
		})}).load("u", nil)
		before := s.Data()
		coins, list, bag := profile.Int("/coins"), profile.ListOf[int]("/list"), profile.MapOf[int]("/map")
		_, _, atErr := list.At(s, 1)
		_, _, memberErr := bag.At(s, "a/b")
		for _, c := range []struct {
			name string
			err  error
			want error
			path string
		}{
			{"wrong type", second(profile.Text("/name").Get(s)), profile.ErrSchema, "/name"},
			{"wrong type of an item", second(list.Get(s)), doc.ErrWrongType, "/list/1"},
			{"wrong type of one item", atErr, doc.ErrWrongType, "/list/1"},
			{"wrong type of a member", memberErr, doc.ErrWrongType, "/map/a~1b"},
			{"not a finite number", second(profile.Float("/f").Set(s, game, math.NaN())), doc.ErrNotFinite, "/f"},
			{"no UTF-8", second(profile.ListOf[string]("/texts").Append(s, game, "a", "\xff")), doc.ErrUTF8, ""},
			{"overflow", second(coins.Add(s, game, 1)), doc.ErrOverflow, ""},
			{"bounds", second(coins.AddWithin(s, game, -1, 0, 10)), doc.ErrBounds, ""},
			{"mismatch", second(coins.SetFrom(s, game, 1, 2)), doc.ErrMismatch, ""},
			{"no such item", second(list.SetAt(s, game, 2, 1)), doc.ErrIndex, ""},
			{"no item before the first", second(list.SetAt(s, game, -1, 1)), doc.ErrIndex, ""},
			{"nothing to remove", second(list.Remove(s, game, 9)), doc.ErrIndex, ""},
			{"a bad pointer", second(profile.Int("coins").Add(s, game, 1)), doc.ErrBadPath, ""},
			{"a bad pointer of a list", second(profile.ListOf[int]("list").Append(s, game, 1)), doc.ErrBadPath, ""},
			{"a bad pointer of a map", second(profile.MapOf[int]("map").Put(s, game, "x", 1)), doc.ErrBadPath, ""},
		} {
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: %v", c.name, c.err)
			}
			if at := (*codec.Error)(nil); c.path != "" && (!errors.As(c.err, &at) || at.Path.String() != c.path) {
				t.Errorf("%s: %v does not name %s", c.name, c.err, c.path)
			}
		}
		if _, err := profile.FieldOf[chan int]("/x").Get(s); err == nil {
			t.Error("a channel is no field")
		}
		if !s.Data().Equal(before) {
			t.Errorf("%s", s.Data())
		}
	})
}

func TestListsAndMaps(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, ts := fly(t, f)
		log, bag := profile.ListOf[trip]("/log"), profile.MapOf[int]("/bag")
		good(t)(log.Append(ts, game, trip{To: "a"}, trip{To: "c"}))
		good(t)(log.Insert(ts, game, 1, trip{To: "b"}))
		good(t)(log.SetAt(ts, game, 0, trip{To: "z", Days: 1}))
		good(t)(log.Remove(ts, game, 2))
		good(t)(bag.Put(ts, game, "a/b", 1))
		good(t)(bag.Put(ts, game, "c", 2))
		good(t)(bag.Delete(ts, game, "c"))
		want := pilot{Log: []trip{{To: "z", Days: 1}, {To: "b"}}, Bag: map[string]int{"a/b": 1}}
		if diff := cmp.Diff(want, ts.Value()); diff != "" {
			t.Error(diff)
		}
		item, there, err := log.At(ts, 1)
		if err != nil || !there || item.To != "b" || log.Len(ts) != 2 {
			t.Errorf("%+v, %v, %v, %d", item, there, err, log.Len(ts))
		}
		if _, there, err := log.At(ts, 2); there || err != nil {
			t.Errorf("%v, %v", there, err)
		}
		n, there, err := bag.At(ts, "a/b")
		if err != nil || !there || n != 1 || bag.Len(ts) != 1 {
			t.Errorf("%d, %v, %v, %d", n, there, err, bag.Len(ts))
		}
		if _, there, err := bag.At(ts, "c"); there || err != nil {
			t.Errorf("%v, %v", there, err)
		}
	})
}
