package profile_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// development starts a node whose set writes nothing; a write to the live store fails the test,
// but for the node's own: its beats and marks.
func (f *fleet) development(t *testing.T, o profile.Options) *server {
	t.Helper()
	s := f.startWith(&node.Options{Name: "dev"}, &o)
	s.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
		if c.Write && c.Part != faultstore.Bus && !strings.HasPrefix(c.Keys[0], "node/") && !strings.HasPrefix(c.Keys[0], "mark/") {
			t.Errorf("the live store is written: %v", c)
		}
		return faultstore.Fault{}
	})
	return s
}

// play does with a profile what a game does.
func play(t *testing.T, s *server, key string, want int64) {
	t.Helper()
	sess := s.load(key, nil)
	if got := coins(sess.Data()); got != want {
		t.Errorf("%s begins with %d coins, want %d", key, got, want)
	}
	add(t, sess, 100)
	save(t, sess)
	if err := sess.Sync(t.Context()); err != nil {
		t.Errorf("sync: %v", err)
	}
	add(t, sess, 1)
	time.Sleep(5 * time.Minute) // autosaves, journals, reapers
	release(t, sess)
	again := s.load(key, nil)
	if got := coins(again.Data()); got != want+101 {
		t.Errorf("%s has %d coins when it is loaded again, want %d", key, got, want+101)
	}
	release(t, again)
	if v, err := s.Read(t.Context(), key); err != nil || coins(v.Data) != want+101 {
		t.Errorf("read: %v, %v", v, err)
	}
}

// Development cannot touch real players' data, whoever holds it, and does not even ask for it.
func TestCopyWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		live := f.start("live", &profile.Options{JournalEvery: time.Second})
		held, free := live.load("held", nil), live.load("free", nil)
		add(t, held, 7)
		add(t, free, 3)
		save(t, held)
		release(t, free)
		before := map[string][]byte{"held": f.durable(profileKey("held")).Value, "free": f.durable(profileKey("free")).Value}

		dev := f.development(t, profile.Options{Mode: profile.Copy, JournalEvery: 100 * time.Millisecond, ReapEvery: time.Second})
		play(t, dev, "held", 7)
		play(t, dev, "free", 3)
		play(t, dev, "new", 0)
		if got := scanned(t, dev); got["held"] != 108 || got["free"] != 104 || got["new"] != 101 || len(got) != 3 {
			t.Errorf("a scan shows %v", got)
		}
		if held.Reason() != 0 {
			t.Errorf("the live session ended: %v", held.Reason())
		}
		for key, value := range before {
			if !bytes.Equal(f.durable(profileKey(key)).Value, value) {
				t.Errorf("%s was changed", key)
			}
		}
		if !f.durable(profileKey("new")).Missing() {
			t.Error("a profile was made")
		}
		release(t, held)
	})
}

// Reading copies what is stored then; a scan shows what nobody has read as it is now.
func TestCopyShowsNoHolder(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		live := f.start("live", nil)
		held := live.load("held", nil)
		dev := f.development(t, profile.Options{Mode: profile.Copy})
		if v, err := dev.Read(t.Context(), "held"); err != nil || v.Holder != nil {
			t.Errorf("%+v, %v", v, err)
		}
		add(t, held, 5)
		save(t, held)
		if v, err := dev.Read(t.Context(), "held"); err != nil || coins(v.Data) != 0 {
			t.Errorf("the copy follows: %+v, %v", v, err)
		}
		release(t, held)
	})
}

func TestMemoryWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		live := f.start("live", nil)
		held := live.load("held", nil)
		add(t, held, 7)
		save(t, held)
		dev := f.development(t, profile.Options{Mode: profile.Memory})
		play(t, dev, "held", 0)
		if got := scanned(t, dev); len(got) != 1 {
			t.Errorf("a scan shows %v", got)
		}
		release(t, held)
	})
}

// A set for development may stand beside the live one of its name, and ends with the node.
func TestDevelopmentBesideLive(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", nil)
		dev, err := profile.New(s.node, "players", &profile.Options{Mode: profile.Copy})
		if err != nil {
			t.Fatal(err)
		}
		one := s.load("k", nil)
		two, err := dev.Load(t.Context(), "k", nil)
		if err != nil {
			t.Fatal(err)
		}
		add(t, one, 1)
		add(t, two, 50)
		if err := two.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
		release(t, one)
		if v, err := s.Read(context.Background(), "k"); err != nil || coins(v.Data) != 1 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

func TestModeIsChecked(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", nil)
		if _, err := profile.New(s.node, "others", &profile.Options{Mode: profile.Copy + 1, Template: doc.MustObject(nil)}); err == nil || !strings.Contains(err.Error(), "Mode") {
			t.Errorf("%v", err)
		}
	})
}

// scanned are the coins of all profiles.
func scanned(t *testing.T, s *server) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	if err := s.Scan(t.Context(), func(v profile.View) error {
		out[v.Key] = coins(v.Data)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}
