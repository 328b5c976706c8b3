package profile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

// plea is mail for the game.
func plea(id string) profile.Mail { return profile.Mail{ID: id, Kind: "plea", From: "bob"} }

var tenCoins = []doc.Op{doc.Increment("/coins", 10)}

// The first answer counts: it is stored with the memory of the mail, which is out of the box.
func TestMailIsAnsweredOnce(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		b.send("u", plea("m1"))
		b.send("u", plea("m2"))
		time.Sleep(2 * time.Second)
		if list, err := a.Mails(t.Context(), "u", "", 0); err != nil || len(list) != 2 {
			t.Fatalf("%v, %v", list, err)
		}
		var last profile.Commit
		s.OnCommit(func(c profile.Commit) { last = c })
		got, err := s.AnswerMail(t.Context(), "m1", tenCoins, "")
		if err != nil || got.Repeated || got.Refused != "" || got.Revision != s.Revision() {
			t.Fatalf("%+v, %v", got, err)
		}
		if last.Source.Kind != profile.SourceMail || last.Source.Actor != "bob" || last.Claim != "mail/m1" {
			t.Errorf("commit %+v", last)
		}
		if v, _ := s.Stored(); coins(v) != 15 || len(f.box("u")) != 1 {
			t.Errorf("stored %v, box %v", v, f.box("u"))
		}
		no, err := s.AnswerMail(t.Context(), "m2", nil, "no room")
		if err != nil || no.Refused != "no room" || len(f.box("u")) != 0 || coins(s.Data()) != 15 {
			t.Errorf("%+v, %v, box %v", no, err, f.box("u"))
		}
		release(t, s)
		s = b.load("u", nil)
		for _, was := range []struct {
			id  string
			out profile.Answered
		}{{"m1", got}, {"m2", no}} {
			was.out.Repeated = true
			for _, refuse := range []string{"", "changed my mind"} {
				if again, err := s.AnswerMail(t.Context(), was.id, nil, refuse); err != nil || again != was.out {
					t.Errorf("%s", cmp.Diff(was.out, again))
				}
			}
		}
		if coins(s.Data()) != 15 {
			t.Errorf("%v", s.Data())
		}
	})
}

func TestAnswersThatAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		b.send("u", plea("m1"))
		b.send("u", profile.Mail{ID: "m2", Ops: []doc.Op{doc.Increment("/coins", -100).AtLeast(doc.Int(0))}})
		time.Sleep(2 * time.Second)
		for _, c := range []struct {
			id     string
			ops    []doc.Op
			refuse string
			want   error
		}{
			{"m9", tenCoins, "", profile.ErrNoMail},
			{"", tenCoins, "", store.ErrInvalid},
			{"m1", tenCoins, "both", store.ErrInvalid},
			{"m1", []doc.Op{doc.Increment("/coins", -100).AtLeast(doc.Int(0))}, "", doc.ErrBounds},
			{"m2", tenCoins, "", store.ErrInvalid},
		} {
			if out, err := s.AnswerMail(t.Context(), c.id, c.ops, c.refuse); !errors.Is(err, c.want) || out != (profile.Answered{}) {
				t.Errorf("%s: %+v, %v, want %v", c.id, out, err, c.want)
			}
		}
		f.plant(f.raw.Durable(), "mail/players/u/m3", `{"format":9}`)
		if _, err := s.AnswerMail(t.Context(), "m3", nil, "what is it"); !errors.Is(err, profile.ErrNewerSchema) {
			t.Errorf("got %v", err)
		}
		if coins(s.Data()) != 5 || len(f.box("u")) != 3 {
			t.Errorf("%v, box %v", s.Data(), f.box("u"))
		}
		// Mail with operations that do not fit need not wait for ever.
		if out, err := s.AnswerMail(t.Context(), "m2", nil, "too poor"); err != nil || out.Refused != "too poor" {
			t.Errorf("%+v, %v", out, err)
		}
		if st := a.Stats(); st.MailHandled != 1 || st.MailRefused != 1 {
			t.Errorf("%+v", st)
		}
		release(t, s)
		if _, err := s.AnswerMail(t.Context(), "m1", tenCoins, ""); !errors.Is(err, profile.ErrEnded) {
			t.Errorf("got %v", err)
		}
	})
}

// A handler of this node and an answer from outside are at the same mail: it has one effect.
func TestAHandlerAndAnAnswerAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		asked, answer := make(chan struct{}), make(chan struct{})
		a.HandleMail("plea", func(context.Context, *profile.Session, profile.Mail) ([]doc.Op, error) {
			close(asked)
			<-answer
			return []doc.Op{doc.Increment("/coins", 100)}, nil
		})
		b.send("u", plea("m1"))
		<-asked
		if out, err := s.AnswerMail(t.Context(), "m1", tenCoins, ""); err != nil || out.Repeated {
			t.Errorf("%+v, %v", out, err)
		}
		close(answer)
		time.Sleep(5 * time.Second)
		if v, _ := s.Stored(); coins(v) != 15 || len(f.box("u")) != 0 {
			t.Errorf("%v, box %v", v, f.box("u"))
		}
	})
}

// Many at once ask for the same answer: one is first, and the others are told of it.
func TestAnswersAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, b, s := journaled(t, f)
		b.send("u", plea("m1"))
		firsts := make(chan bool)
		for range 8 {
			go func() {
				out, err := s.AnswerMail(t.Context(), "m1", tenCoins, "")
				if err != nil {
					t.Error(err)
				}
				firsts <- !out.Repeated
			}()
		}
		n := 0
		for range 8 {
			if <-firsts {
				n++
			}
		}
		if n != 1 || coins(s.Data()) != 15 {
			t.Errorf("%d were first: %v", n, s.Data())
		}
	})
}

// answer answers until it is told that it counts; another node takes the profile over when
// the holder dies.
func answer(t *testing.T, s *profile.Session, other *server, id, refuse string) *profile.Session {
	t.Helper()
	ops := tenCoins
	if refuse != "" {
		ops = nil
	}
	for try := 0; ; try++ {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		out, err := s.AnswerMail(ctx, id, ops, refuse)
		cancel()
		if err == nil {
			if out.Refused != refuse {
				t.Errorf("%s: %+v", id, out)
			}
			return s
		}
		if s.Reason() != 0 || try >= 2 {
			if next, ok := other.Session(s.Key()); ok {
				s = next
			} else if next, err := other.Load(t.Context(), s.Key(), nil); err == nil {
				s = next
			}
		}
		if try == 20 {
			t.Fatalf("never answered: %v", err)
		}
	}
}

// Every call of an answer goes wrong in every way, and the holder dies before and after each
// of them. Each mail has its effect once.
func TestEveryCallOfAnAnswerGoesWrongOnce(t *testing.T) {
	for _, refuse := range []string{"", "no"} {
		t.Run(fmt.Sprintf("refuse %q", refuse), func(t *testing.T) {
			inTurn(t, 4, aboutMail, func(t *testing.T, f *fleet, strike func(*server)) {
				a, b, s := journaled(t, f)
				c := f.start("c", journaling())
				b.send("u", plea("m1"))
				b.send("u", plea("m2"))
				time.Sleep(5 * time.Second)
				strike(a)
				s = answer(t, s, c, "m1", refuse)
				s = answer(t, s, c, "m2", "")
				a.faults.Land()
				time.Sleep(20 * time.Second)
				if a.faults.Crashed() {
					if s, _ = c.Session("u"); s == nil {
						s = c.load("u", nil)
					}
				}
				s = answer(t, s, c, "m1", refuse)
				want := int64(25)
				if refuse != "" {
					want = 15
				}
				if v, _ := s.Stored(); coins(v) != want || len(f.box("u")) != 0 {
					t.Errorf("%v, box %v", v, f.box("u"))
				}
				if n := strings.Count(string(f.durable(profileKey("u")).Value), `"m1"`); n != 1 {
					t.Errorf("remembered %d times", n)
				}
			})
		})
	}
}
