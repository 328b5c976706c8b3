package profile_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

func TestReadShowsWhatIsStored(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		if _, err := b.Read(t.Context(), "u"); !errors.Is(err, profile.ErrNoProfile) {
			t.Errorf("read: %v", err)
		}
		s := a.load("u", nil)
		add(t, s, 5)
		save(t, s)
		add(t, s, 1)
		time.Sleep(2 * time.Second)
		v, err := b.Read(t.Context(), "u")
		if err != nil {
			t.Fatal(err)
		}
		if coins(v.Data) != 5 || v.Revision != 1 || v.Epoch != 1 || v.Holder == nil || v.Holder.Node != a.node.ID() || !v.Holder.Beating || v.Age != 2*time.Second || v.Bytes == 0 || v.Key != "u" {
			t.Errorf("%+v", v)
		}
		if s.Reason() != 0 {
			t.Errorf("the reader disturbed the holder: %v", s.Reason())
		}
		release(t, s)
		if v, err := b.Read(t.Context(), "u"); err != nil || v.Holder != nil || coins(v.Data) != 6 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

func TestReadShowsATakeover(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _ := held(t, f, nil)
		b := f.start("b", nil)
		time.Sleep(5500 * time.Millisecond)
		a.kill()
		b.load("u", nil)
		v, err := b.Read(t.Context(), "u")
		if err != nil || v.TookFrom == nil || v.TookFrom.Node != a.node.ID() || v.TookFrom.Evidence != "age" || v.TookFrom.Epoch != 1 || v.TookFrom.At.IsZero() {
			t.Errorf("%+v, %v", v.TookFrom, err)
		}
	})
}

func TestErasedProfileIsNone(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.plant(f.raw.Durable(), profileKey("u"), `{"format":1,"data":null,"epoch":4,"erased":"2026-08-11T12:00:00.000Z","revision":9,"session":null}`)
		a := f.start("a", &profile.Options{Template: doc.Must(map[string]any{"coins": 3})})
		if _, err := a.Read(t.Context(), "u"); !errors.Is(err, profile.ErrNoProfile) {
			t.Errorf("read: %v", err)
		}
		s := a.load("u", nil)
		if coins(s.Data()) != 3 || s.Epoch() != 5 || s.Revision() != 10 {
			t.Errorf("%v, epoch %d, revision %d", s.Data(), s.Epoch(), s.Revision())
		}
	})
}

func TestScan(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		for i := range 300 {
			s := a.load(fmt.Sprintf("u%03d", i), nil)
			add(t, s, int64(i))
			release(t, s)
		}
		f.plant(f.raw.Durable(), profileKey("u100x"), "foreign")
		f.plant(f.raw.Durable(), profileKey("u101x"), `{"format":1,"data":null,"epoch":4,"erased":"2026-08-11T12:00:00.000Z","revision":9,"session":null}`)
		f.plant(f.raw.Durable(), "profile/players2/other", `{"format":1,"data":{},"epoch":1,"revision":0,"session":null}`)
		var keys []string
		err := a.Scan(t.Context(), func(v profile.View) error {
			if fmt.Sprintf("u%03d", coins(v.Data)) != v.Key {
				t.Errorf("%s has %v", v.Key, v.Data)
			}
			keys = append(keys, v.Key)
			return nil
		})
		if err != nil || len(keys) != 300 {
			t.Fatalf("%d profiles, %v", len(keys), err)
		}
		enough := errors.New("enough")
		n := 0
		if err := a.Scan(t.Context(), func(profile.View) error {
			if n++; n == 10 {
				return enough
			}
			return nil
		}); !errors.Is(err, enough) || n != 10 {
			t.Errorf("%d, %v", n, err)
		}
		a.faults.SetRule(always(on("scan", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		if err := a.Scan(t.Context(), func(profile.View) error { return nil }); err == nil {
			t.Error("a failed scan is complete")
		}
	})
}

func TestStatsCount(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		a.load("v", nil)
		a.fails("v", nil, profile.ErrOpen)
		add(t, s, 1)
		_, _ = s.Transact(game, doc.Increment("/no/where", 1))
		a.faults.SetRule(nth(1, on("commit", "profile/"), faultstore.FailAfter))
		save(t, s)
		a.faults.SetRule(nth(1, on("commit", "profile/"), faultstore.FailBefore))
		add(t, s, 1)
		_ = s.Save(t.Context())
		release(t, s)
		want := profile.Stats{
			Sessions: 1, Loads: 2, Created: 2, LoadErrors: 1, Released: 1, Commits: 2, Refused: 1,
			Saves: 2, SaveErrors: 1, Unknowns: 1,
		}
		if d := cmp.Diff(want, a.Stats()); d != "" {
			t.Error(d)
		}
	})
}

func TestWordsForPeople(t *testing.T) {
	for want, got := range map[string]fmt.Stringer{
		"steal": profile.Steal, "wait": profile.Wait, "fail": profile.Fail, "no policy": profile.Policy(0),
		"created": profile.Created, "free": profile.Free, "granted": profile.Granted, "takeover": profile.TakenOver,
		"recovered": profile.Recovered, "not loaded": profile.How(0), "released": profile.Released,
		"handed over": profile.HandedOver, "lost": profile.Lost, "closed": profile.Closed, "live": profile.Reason(0),
	} {
		if got.String() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
