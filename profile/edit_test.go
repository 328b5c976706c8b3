package profile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// operator is the source of an edit with this id.
func operator(id string) profile.Source {
	return profile.Source{Kind: profile.SourceOperator, Actor: "ann", Note: "compensation", ID: id}
}

// edit adds ten coins.
func (s *server) edit(key, id string) (profile.Edited, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	return s.Edit(ctx, key, operator(id), doc.Increment("/coins", 10))
}

// An edit is made where the profile is, stored when it is answered, and nobody is kicked.
func TestEditWhereverTheProfileIs(t *testing.T) {
	for where, c := range map[profile.Where]struct{ within time.Duration }{profile.Here: {}, profile.Elsewhere: {}, profile.Nowhere: {}} {
		t.Run(where.String(), func(t *testing.T) {
			bothStores(t, func(t *testing.T, f *fleet) {
				a, b, s := journaled(t, f)
				var hooks atomic.Int32
				for _, n := range []*server{a, b} {
					n.OnLoad(func(context.Context, *profile.Session) { hooks.Add(1) })
				}
				editor, epoch := b, s.Epoch()
				switch where {
				case profile.Here:
					editor = a
				case profile.Nowhere:
					release(t, s)
					epoch++
				case profile.Elsewhere:
				}
				b.OnLeave(func(context.Context, *profile.Session) { hooks.Add(1) })
				var got profile.Commit
				s.OnCommit(func(c profile.Commit) { got = c })
				var out profile.Edited
				var err error
				if d := took(func() { out, err = editor.edit("u", "e1") }); d > c.within {
					t.Errorf("took %v", d)
				}
				if err != nil || out.Where != where || out.ID != "e1" || out.Repeated {
					t.Fatalf("%+v, %v", out, err)
				}
				synctest.Wait()
				if st := f.stored("u"); coins(f.storedData("u")) != 15 || st.Revision < out.Revision || st.Epoch != epoch || len(f.box("u")) != 0 {
					t.Errorf("stored %+v, box %v", st, f.box("u"))
				}
				if where != profile.Nowhere && (got.Source != operator("e1") || got.ID != "e1" || got.Revision != out.Revision || s.Reason() != 0) {
					t.Errorf("the commit: %+v, %v", got, s.Reason())
				}
				if hooks.Load() != 0 {
					t.Errorf("%d hooks ran", hooks.Load())
				}
				for _, n := range []*server{a, b} {
					again, err := n.edit("u", "e1")
					if err != nil || !again.Repeated || again.Revision != out.Revision || again.Where != 0 {
						t.Errorf("again: %+v, %v", again, err)
					}
					if _, err := n.Edit(t.Context(), "u", operator("e1"), doc.Increment("/coins", 11)); !errors.Is(err, profile.ErrRepeated) {
						t.Errorf("other operations: %v", err)
					}
				}
				if c := coins(f.storedData("u")); c != 15 {
					t.Errorf("%d coins", c)
				}
			})
		})
	}
}

// Refused operations tell why, wherever it is, and change nothing; another id may do better.
func TestARefusedEdit(t *testing.T) {
	for _, where := range []profile.Where{profile.Here, profile.Elsewhere, profile.Nowhere} {
		t.Run(where.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b, s := journaled(t, f)
				save(t, s)
				editor := b
				if where == profile.Here {
					editor = a
				}
				if where == profile.Nowhere {
					release(t, s)
				}
				revision := f.stored("u").Revision
				_, err := editor.Edit(t.Context(), "u", operator("e1"), doc.Increment("/coins", -10).AtLeast(doc.Int(0)))
				var refused *profile.EditRefusedError
				if where == profile.Elsewhere {
					if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "/coins") {
						t.Errorf("%v", err)
					}
				} else if !errors.Is(err, doc.ErrBounds) {
					t.Errorf("%v", err)
				}
				if errors.Is(err, store.ErrUnknown) {
					t.Errorf("refused for good, and it says: %v", err)
				}
				if st := f.stored("u"); coins(f.storedData("u")) != 5 || len(f.box("u")) != 0 || where == profile.Nowhere && st.Revision != revision || where == profile.Nowhere && st.Session != nil {
					t.Errorf("%+v", st)
				}
				if out, err := editor.edit("u", "e2"); err != nil || out.Where != where {
					t.Errorf("%+v, %v", out, err)
				}
			})
		})
	}
}

func TestEditOfNobody(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, _ := journaled(t, f)
		if _, err := a.edit("new", "e1"); !errors.Is(err, profile.ErrNoProfile) || !f.durable(profileKey("new")).Missing() {
			t.Errorf("%v", err)
		}
		for _, bad := range []string{"a/b", "ü"} {
			if _, err := a.edit("u", bad); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%v", err)
			}
			if _, err := a.edit(bad, "e1"); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%v", err)
			}
		}
		if out, err := a.edit("u", ""); err != nil || len(out.ID) != 36 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// The message to the holder and the one back are lost: notes and looks are slower, that is all.
func TestEditElsewhereWithoutMessages(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, _ := journaled(t, f)
		for _, n := range []*server{a, b} {
			n.faults.SetRule(always(func(c faultstore.Call) bool { return c.Op == "publish" }, faultstore.Fault{Kind: faultstore.Lose}))
		}
		var out profile.Edited
		var err error
		d := took(func() { out, err = b.edit("u", "e1") })
		if err != nil || out.Where != profile.Elsewhere || d > 1300*time.Millisecond {
			t.Errorf("%+v, %v after %v", out, err, d)
		}
	})
}

// The holder dies, or lets go, while the edit waits for it: the editor does it itself.
func TestEditWhoseHolderGoes(t *testing.T) {
	for name, goes := range map[string]func(a *server, s *profile.Session){
		"dies":     func(a *server, _ *profile.Session) { a.kill() },
		"releases": func(_ *server, s *profile.Session) { _ = s.Release(context.Background()) },
		"closes":   func(a *server, _ *profile.Session) { _, _ = a.node.Close(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b, s := journaled(t, f)
				time.Sleep(6 * time.Second)
				a.faults.SetRule(always(on("scan", "mail/"), faultstore.Fault{Kind: faultstore.FailBefore}))
				go func() { time.Sleep(2 * time.Second); goes(a, s) }()
				out, err := b.edit("u", "e1")
				if err != nil || out.Where != profile.Nowhere || coins(f.storedData("u")) != 15 || len(f.box("u")) != 0 {
					t.Errorf("%+v, %v, %v", out, err, f.box("u"))
				}
				f.free("u")
				next := b.load("u", nil)
				time.Sleep(time.Second)
				if coins(next.Data()) != 15 {
					t.Errorf("%v", next.Data())
				}
			})
		})
	}
}

// An edit that has no more time says that it may still be applied; and so it is. Asking again
// finds out.
func TestEditThatGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		a.faults.SetRule(always(on("scan", "mail/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := b.Edit(ctx, "u", operator("e1"), doc.Increment("/coins", 10))
		if store.OutcomeOf(err) != store.Unknown || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "may still be applied") {
			t.Errorf("%v", err)
		}
		if coins(s.Data()) != 5 || !slices.Equal(f.box("u"), []string{"e1"}) {
			t.Errorf("%v, %v", s.Data(), f.box("u"))
		}
		a.faults.SetRule(nil)
		time.Sleep(10 * time.Second)
		if v, _ := s.Stored(); coins(v) != 15 {
			t.Errorf("%v", v)
		}
		if out, err := b.edit("u", "e1"); err != nil || !out.Repeated || coins(s.Data()) != 15 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// A load on the node that edits a stored profile waits for the moment that it takes.
func TestALoadBesideAnEdit(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		release(t, s)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: time.Second}))
		edited := make(chan error, 1)
		go func() { _, err := a.edit("u", "e1"); edited <- err }()
		for _, wait := range []time.Duration{500 * time.Millisecond, time.Second} {
			time.Sleep(wait)
			if _, ok := a.Session("u"); ok {
				t.Error("the game can see the edit's session")
			}
		}
		s = a.load("u", nil)
		if err := <-edited; err != nil || coins(s.Data()) != 15 {
			t.Errorf("%v, %v", err, s.Data())
		}
		release(t, s)
		go func() { _, err := a.edit("u", "e2"); edited <- err }()
		time.Sleep(1500 * time.Millisecond)
		s = b.load("u", nil)
		if err := <-edited; err != nil || coins(s.Data()) != 25 {
			t.Errorf("%v, %v", err, s.Data())
		}
	})
}

// correct edits until it is told that the edit is made, from another node when this one dies.
func correct(t *testing.T, from, other *server, id string) {
	t.Helper()
	for try := 0; ; try++ {
		_, err := from.edit("u", id)
		if err == nil {
			return
		}
		if from.faults.Crashed() {
			from = other
		}
		if try == 20 {
			t.Fatalf("never made: %v", err)
		}
	}
}

// Every call of the editor, or of the holder, goes wrong in every way, and it dies before and
// after each of them; the editor asks until it is told. The edit is made once.
func TestEveryCallOfAnEditGoesWrongOnce(t *testing.T) {
	for _, where := range []profile.Where{profile.Here, profile.Elsewhere, profile.Nowhere} {
		for _, struck := range []string{"editor", "holder"} {
			if struck == "holder" && where != profile.Elsewhere {
				continue
			}
			t.Run(fmt.Sprint(where, " ", struck), func(t *testing.T) {
				inTurn(t, 12, aboutMail, func(t *testing.T, f *fleet, strike func(*server)) {
					a, b, s := journaled(t, f)
					c := f.start("c", journaling())
					time.Sleep(6 * time.Second)
					editor := b
					switch where {
					case profile.Here:
						editor = a
					case profile.Nowhere:
						release(t, s)
					case profile.Elsewhere:
					}
					if struck == "editor" {
						strike(editor)
					} else {
						strike(a)
					}
					correct(t, editor, c, "e1")
					if got := coins(f.storedData("u")); got != 15 {
						t.Errorf("told, and %d coins are stored", got)
					}
					time.Sleep(20 * time.Second)
					a.faults.Land()
					b.faults.Land()
					time.Sleep(5 * time.Second)
					if a.faults.Crashed() || where == profile.Nowhere {
						s = c.load("u", nil)
					}
					time.Sleep(2 * time.Second)
					if v, _ := s.Stored(); coins(v) != 15 {
						t.Errorf("%v", v)
					}
					correct(t, c, c, "e1")
					release(t, s)
					s = c.load("u", nil)
					time.Sleep(time.Second)
					if coins(s.Data()) != 15 || len(f.box("u")) != 0 {
						t.Errorf("%v, %v", s.Data(), f.box("u"))
					}
				})
			})
		}
	}
}
