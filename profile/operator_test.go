package profile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// A session of a living node is ended by an operator: what it had journaled is kept, it learns
// of its loss, and nothing is left behind.
func TestReleaseHeldEndsALivingSession(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		_, b, s := journaled(t, f)
		add(t, s, 1)
		syncNow(t, s)
		out, err := b.ReleaseHeld(t.Context(), "u", ann)
		if err != nil || !out.Recovered || out.From == nil || !strings.HasPrefix(out.From.Node, "a-") || out.Epoch != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		f.free("u")
		if got := f.stored("u"); coins(f.storedData("u")) != 6 || got.TookFrom == nil || got.TookFrom.Evidence != string(profile.EvidenceOperator) || got.Epoch != 1 {
			t.Errorf("%+v", got)
		}
		select {
		case <-s.Done():
		case <-time.After(2 * time.Second):
			t.Fatal("the old holder does not learn of it")
		}
		if s.Reason() != profile.Lost {
			t.Errorf("%v", s.Reason())
		}
		entries, err := b.Audit(t.Context(), "u", nil)
		if err != nil || len(entries) != 1 || entries[0].Source.Actor != "ann" || !strings.Contains(entries[0].Source.Note, "ended the session of a-") {
			t.Errorf("%+v, %v", entries, err)
		}
		time.Sleep(3 * time.Minute)
		if left := f.leftovers(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if next := b.load("u", nil); coins(next.Data()) != 6 || next.Loaded().How != profile.Free {
			t.Errorf("%v, %+v", next.Data(), next.Loaded())
		}
	})
}

func TestReleaseHeldLeavesOthersAlone(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		if _, err := a.ReleaseHeld(t.Context(), "u", ann); !errors.Is(err, profile.ErrNoProfile) {
			t.Errorf("%v", err)
		}
		s := a.load("u", nil)
		if _, err := a.ReleaseHeld(t.Context(), "u", ann); !errors.Is(err, profile.ErrOpen) || s.Reason() != 0 {
			t.Errorf("%v", err)
		}
		release(t, s)
		before := f.durable(profileKey("u")).Version
		if out, err := a.ReleaseHeld(t.Context(), "u", ann); err != nil || out.From != nil || f.durable(profileKey("u")).Version != before {
			t.Errorf("%+v, %v", out, err)
		}
		f.plant(f.raw.Durable(), profileKey("x"), `nonsense`)
		if _, err := a.ReleaseHeld(t.Context(), "x", ann); !errors.Is(err, profile.ErrForeign) {
			t.Errorf("%v", err)
		}
	})
}

// Every write goes wrong once, in every way: nothing acknowledged is lost, and asking again
// finishes it.
func TestEveryWriteOfAReleaseHeldGoesWrongOnce(t *testing.T) {
	for _, fault := range everyFault() {
		for n := 1; n <= 3; n++ {
			t.Run(fmt.Sprint(fault, n), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					_, b, s := journaled(t, f)
					add(t, s, 1)
					syncNow(t, s)
					b.faults.SetRule(faultstore.Nth(n, func(c faultstore.Call) bool {
						return c.Op == "commit" && (strings.HasPrefix(c.Keys[0], "profile/") || strings.HasPrefix(c.Keys[0], "journal/"))
					}, fault))
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					_, err := b.ReleaseHeld(ctx, "u", ann)
					b.faults.Land()
					if _, again := b.ReleaseHeld(t.Context(), "u", ann); again != nil {
						t.Errorf("%v, then %v", err, again)
					}
					f.free("u")
					time.Sleep(3 * time.Second)
					if coins(f.storedData("u")) != 6 || s.Reason() == 0 {
						t.Errorf("%v, %v", f.storedData("u"), s.Reason())
					}
				})
			})
		}
	}
}

// full is a player with everything that there can be of one: on node a, held.
func full(t *testing.T, f *fleet) (a, b *server, s *profile.Session) {
	t.Helper()
	o := journaling()
	o.VersionEvery = time.Minute
	a, b = f.start("a", o), f.start("b", o)
	s = a.load("u", nil)
	for range 3 {
		award(t, s, ann, 1)
		save(t, s)
		time.Sleep(2 * time.Minute)
	}
	if _, err := deliver(t.Context(), s, "paid"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Transact(profile.Source{ID: "secret-id"}); err != nil {
		t.Fatal(err)
	}
	add(t, s, 1)
	syncNow(t, s)
	f.plant(f.raw.Durable(), "quarantine/players/u", `{"secret":1}`)
	f.plant(f.raw.Durable(), "quarantine/journal/players/u", `{"secret":1}`)
	f.plant(f.raw.Durable(), "mail/players/u/m1", `{"secret":1}`)
	f.plant(f.raw.Durable(), "audit/players/v/00000000000000000001", `{"of":"another"}`)
	f.plant(f.raw.Durable(), "version/players/uu/00000000000000000001", `{"of":"another"}`)
	return a, b, s
}

// forgotten checks that nothing of the player is in any store but what Erase says.
func (f *fleet) forgotten(t *testing.T) {
	t.Helper()
	var left []string
	for _, part := range []store.Records{f.raw.Durable(), f.raw.Fast()} {
		for rec, err := range part.Scan(context.Background(), store.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			switch text := string(rec.Value); {
			case rec.Key == profileKey("u"):
				if !strings.Contains(text, `"erased":"`) || !strings.Contains(text, `"data":null`) || !strings.Contains(text, `"session":null`) || strings.Contains(text, "secret") || strings.Contains(text, "handled") {
					t.Errorf("the tombstone: %s", text)
				}
			case strings.HasPrefix(rec.Key, "receipt/"), strings.HasPrefix(rec.Key, "node/"), strings.Contains(text, `"of":"another"`):
			case strings.HasSuffix(rec.Key, "-erased") && !strings.Contains(text, "secret") && strings.Contains(text, `"actor":"ann"`):
			case strings.Contains(rec.Key, "u"):
				left = append(left, rec.Key)
			}
		}
	}
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestEraseLeavesNothingOfThePerson(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, a *server, s *profile.Session){
		"held elsewhere": func(*testing.T, *server, *profile.Session) {},
		"dead holder":    func(_ *testing.T, a *server, _ *profile.Session) { a.kill() },
		"free":           func(t *testing.T, _ *server, s *profile.Session) { release(t, s) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b, s := full(t, f)
				prepare(t, a, s)
				var hooked []string
				b.OnErase(func(_ context.Context, key string) error {
					hooked = append(hooked, key)
					return nil
				})
				steps := 0
				src := ann
				src.Note = "secret"
				out, err := b.Erase(t.Context(), "u", src, &profile.EraseOptions{Progress: func(profile.Erased) { steps++ }})
				if err != nil || !out.Done || !out.Found || len(out.Left) != 0 || out.Mail != 1 || out.Versions < 2 || out.Audit < 3 || out.Quarantine != 2 {
					t.Fatalf("%+v, %v", out, err)
				}
				if len(hooked) != 1 || steps < 7 {
					t.Errorf("%v, %d steps", hooked, steps)
				}
				epoch := f.stored("u").Epoch
				if _, err := b.Read(t.Context(), "u"); !errors.Is(err, profile.ErrNoProfile) {
					t.Errorf("%v", err)
				}
				time.Sleep(3 * time.Minute)
				f.forgotten(t)
				if s.Reason() == 0 && !a.faults.Crashed() {
					t.Error("the old holder does not know")
				}
				if out, err := b.Erase(t.Context(), "u", ann, nil); err != nil || !out.Done || out.Mail+out.Versions+out.Audit != 0 {
					t.Errorf("again: %+v, %v", out, err)
				}
				next := b.load("u", nil)
				if coins(next.Data()) != 0 || next.Epoch() != epoch+1 {
					t.Errorf("%v, epoch %d after %d", next.Data(), next.Epoch(), epoch)
				}
				if g, err := deliver(t.Context(), next, "paid"); err == nil && !g.Repeated {
					t.Errorf("the receipt was granted again: %+v", g)
				}
			})
		})
	}
}

func TestEraseHere(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := full(t, f)
		if out, err := a.Erase(t.Context(), "u", ann, nil); err != nil || !out.Done || s.Reason() != profile.Released {
			t.Errorf("%+v, %v, %v", out, err, s.Reason())
		}
		time.Sleep(3 * time.Minute)
		f.forgotten(t)
		if out, err := a.Erase(t.Context(), "nobody", ann, nil); err != nil || !out.Done || out.Found {
			t.Errorf("%+v, %v", out, err)
		}
		f.plant(f.raw.Durable(), profileKey("x"), `nonsense`)
		if out, err := a.Erase(t.Context(), "x", ann, nil); !errors.Is(err, profile.ErrForeign) || out.Done || string(f.durable(profileKey("x")).Value) != "nonsense" {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// An OnErase function that fails keeps the data, so that the request is not forgotten; the
// answer says what is left.
func TestAnEraseHookThatFails(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, b, _ := full(t, f)
		board, fails := errors.New("the board is down"), true
		b.OnErase(func(context.Context, string) error {
			if fails {
				return board
			}
			return nil
		})
		b.OnErase(func(context.Context, string) error {
			if fails {
				panic("never called")
			}
			return nil
		})
		out, err := b.Erase(t.Context(), "u", ann, nil)
		if !errors.Is(err, board) || out.Done || len(out.Left) != 3 || out.Left[2] != "the profile" || !strings.Contains(err.Error(), out.Left[0]) {
			t.Errorf("%+v, %v", out, err)
		}
		f.free("u")
		if coins(f.storedData("u")) == 0 {
			t.Error("the data is gone")
		}
		fails = false
		if out, err := b.Erase(t.Context(), "u", ann, nil); err != nil || !out.Done {
			t.Errorf("%+v, %v", out, err)
		}
		time.Sleep(3 * time.Minute)
		f.forgotten(t)
	})
}

// A holder that has not learned yet that the profile was taken goes on as if nothing were: it
// can leave nothing of the person behind.
func TestARobbedHolderBringsNothingBack(t *testing.T) {
	for name, journaled := range map[string]bool{"with a journal": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b, s := full(t, f)
				if !journaled {
					save(t, s)
					if err := f.raw.Fast().Commit(t.Context(), store.Tx{{Key: "journal/players/u", Op: store.Delete}})[0]; err != nil {
						t.Fatal(err)
					}
				}
				a.faults.SetRule(always(func(c faultstore.Call) bool { return c.Op == "scan" || c.Op == "deliver" }, faultstore.Fault{Kind: faultstore.FailBefore}))
				if out, err := b.Erase(t.Context(), "u", ann, nil); err != nil || !out.Done {
					t.Fatalf("%+v, %v", out, err)
				}
				if s.Reason() != 0 {
					t.Fatal("it has learned of it")
				}
				add(t, s, 1)
				_ = s.Sync(t.Context())
				if s.Reason() != profile.Lost {
					t.Errorf("%v", s.Reason())
				}
				a.faults.SetRule(nil)
				time.Sleep(15 * time.Minute)
				f.forgotten(t)
			})
		})
	}
}

// Every write of an Erase goes wrong once, in every way, and its node dies or not: erasing
// again, on another node, finishes it.
func TestEveryWriteOfAnEraseGoesWrongOnce(t *testing.T) {
	writes := func(c faultstore.Call) bool {
		return faultstore.Writes(c) && c.Op == "commit" && !strings.HasPrefix(c.Keys[0], "node/")
	}
	for _, fault := range everyFault() {
		for n := 1; n <= 14; n++ {
			t.Run(fmt.Sprint(fault, n), func(t *testing.T) {
				for _, dies := range []bool{false, true} {
					bubble(t, func(t *testing.T, f *fleet) { eraseAmongFaults(t, f, faultstore.Nth(n, writes, fault), dies) })
				}
			})
		}
	}
}

func eraseAmongFaults(t *testing.T, f *fleet, rule faultstore.Rule, dies bool) {
	t.Helper()
	_, b, s := full(t, f)
	c := f.start("c", journaling())
	time.Sleep(5 * time.Second)
	hit := false
	b.faults.SetRule(func(call faultstore.Call) faultstore.Fault {
		fault := rule(call)
		if hit = hit || fault != (faultstore.Fault{}); hit && dies && fault == (faultstore.Fault{}) && call.Op != "publish" {
			return faultstore.Fault{Kind: faultstore.Hang} // nothing reaches the store any more
		}
		return fault
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := b.Erase(ctx, "u", ann, nil)
	if err == nil != out.Done {
		t.Errorf("%+v, %v", out, err)
	}
	if dies {
		b.kill()
	}
	b.faults.Land()
	// It was robbed, and may not know: it goes on as if nothing were. It may be told right now.
	if _, err := s.Transact(game, doc.Increment("/coins", 1)); err == nil {
		_ = s.Sync(ctx)
	} else if s.Reason() == 0 {
		t.Fatalf("transact: %v", err)
	}
	if _, err := c.Erase(t.Context(), "u", ann, nil); err != nil {
		t.Fatal(err)
	}
	b.faults.SetRule(nil)
	time.Sleep(3 * time.Minute)
	f.forgotten(t)
	if next := c.load("u", nil); coins(next.Data()) != 0 {
		t.Errorf("%v", next.Data())
	}
}
