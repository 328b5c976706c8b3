package profile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// coinMail is mail that brings coins without a handler.
func coinMail(id string, n int64) profile.Mail {
	return profile.Mail{ID: id, From: "test", Note: "a present", Ops: []doc.Op{doc.Increment("/coins", n)}}
}

// send sends, or ends the test.
func (s *server) send(key string, m profile.Mail) profile.Sent {
	s.t.Helper()
	sent, err := s.Send(s.t.Context(), key, m)
	if err != nil {
		s.t.Fatalf("send %s to %s: %v", m.ID, key, err)
	}
	return sent
}

// box are the ids of the mail in a box, past all faults.
func (f *fleet) box(key string) []string {
	f.t.Helper()
	var out []string
	prefix := "mail/players/" + key + "/"
	for rec, err := range f.raw.Durable().Scan(context.Background(), store.Prefix(prefix)) {
		if err != nil {
			f.t.Fatal(err)
		}
		out = append(out, strings.TrimPrefix(rec.Key, prefix))
	}
	return out
}

// handledMail is what a record remembers of mail.
type handledMail struct {
	ID, Refused string
	Revision    uint64
}

func (f *fleet) handled(key string) []handledMail {
	f.t.Helper()
	var r struct{ Handled []handledMail }
	if err := json.Unmarshal(f.durable(profileKey(key)).Value, &r); err != nil {
		f.t.Fatal(err)
	}
	return r.Handled
}

func TestMailWaitsForTheNextLoad(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		_, b, s := journaled(t, f)
		release(t, s)
		sent := b.send("u", coinMail("", 10))
		if len(sent.ID) != 36 || sent.Repeated {
			t.Errorf("%+v", sent)
		}
		if again := b.send("u", coinMail(sent.ID, 10)); !again.Repeated {
			t.Errorf("%+v", again)
		}
		list, err := b.Mails(t.Context(), "u", "", 0)
		if err != nil || len(list) != 1 || list[0].ID != sent.ID || list[0].From != "test" || len(list[0].Ops) != 1 || list[0].At.IsZero() {
			t.Errorf("%+v, %v", list, err)
		}
		var got profile.Commit
		b.OnLoad(func(_ context.Context, s *profile.Session) { s.OnCommit(func(c profile.Commit) { got = c }) })
		s = b.load("u", nil)
		time.Sleep(time.Second)
		synctest.Wait()
		if v, _ := s.Stored(); coins(v) != 15 || len(f.box("u")) != 0 {
			t.Errorf("stored %v, box %v", v, f.box("u"))
		}
		if got.Source.Kind != profile.SourceMail || got.Source.Actor != "test" || got.Source.Note != "a present" {
			t.Errorf("source %+v", got.Source)
		}
		if h := f.handled("u"); len(h) != 1 || h[0].ID != sent.ID || h[0].Revision != got.Revision || h[0].Refused != "" {
			t.Errorf("remembered %+v", h)
		}
		if again := b.send("u", coinMail(sent.ID, 10)); !again.Repeated || len(f.box("u")) != 0 {
			t.Errorf("%+v, box %v", again, f.box("u"))
		}
	})
}

// A player who is online somewhere has it within a second and a bit, also when the message is
// lost, and in an instant when it is not.
func TestMailForAPlayerWhoIsOnline(t *testing.T) {
	for name, c := range map[string]struct {
		rule   faultstore.Rule
		within time.Duration
	}{
		"message": {nil, 10 * time.Millisecond},
		"lost":    {always(func(c faultstore.Call) bool { return c.Op == "publish" }, faultstore.Fault{Kind: faultstore.Lose}), 1100 * time.Millisecond},
		"no note": {always(on("commit", "note/"), faultstore.Fault{Kind: faultstore.Hang}), 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				_, b, s := journaled(t, f)
				time.Sleep(2300 * time.Millisecond)
				b.faults.SetRule(c.rule)
				b.send("u", coinMail("m1", 10))
				time.Sleep(c.within)
				synctest.Wait()
				if v, _ := s.Stored(); coins(v) != 15 || len(f.box("u")) != 0 || s.Reason() != 0 {
					t.Errorf("stored %v, box %v", v, f.box("u"))
				}
				time.Sleep(5 * time.Second)
				for _, key := range f.leftovers() {
					if strings.HasPrefix(key, "note/") {
						t.Errorf("left: %s", key)
					}
				}
			})
		})
	}
}

// While the fast store and the bus are down nobody can be told: the holder looks by itself
// when they are back.
func TestMailDuringAnOutageOfTheFastStore(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		time.Sleep(time.Second)
		for _, n := range []*server{a, b} {
			n.faults.Outage(faultstore.Fast|faultstore.Bus, true)
		}
		b.send("u", coinMail("m1", 10))
		time.Sleep(2 * time.Minute)
		if coins(s.Data()) != 5 {
			t.Errorf("told by whom? %v", s.Data())
		}
		for _, n := range []*server{a, b} {
			n.faults.Outage(faultstore.Fast|faultstore.Bus, false)
		}
		time.Sleep(3 * time.Second)
		if v, _ := s.Stored(); coins(v) != 15 {
			t.Errorf("stored %v", v)
		}
	})
}

// Mail is dealt with in the byte order of its ids; generated ones are in the order of sending.
func TestMailComesInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, b, s := journaled(t, f)
		release(t, s)
		var want []string
		for i := range 100 {
			want = append(want, b.send("u", profile.Mail{Kind: "note", Body: doc.Int(int64(i))}).ID)
		}
		if !slices.IsSorted(want) || !slices.Equal(want, f.box("u")) {
			t.Errorf("ids %v", want)
		}
		b.HandleMail("note", func(_ context.Context, _ *profile.Session, m profile.Mail) ([]doc.Op, error) {
			return []doc.Op{doc.AppendTo("/bag", m.Body)}, nil
		})
		s = b.load("u", nil)
		time.Sleep(time.Second)
		v, _ := s.Stored()
		bag, _, _ := v.Lookup("/bag")
		for i, item := range bag.Items() {
			if n, _ := item.AsInt(); n != int64(i) {
				t.Fatalf("%v", bag)
			}
		}
		if bag.Len() != 100 || len(f.box("u")) != 0 {
			t.Errorf("%d in the bag, %d in the box", bag.Len(), len(f.box("u")))
		}
	})
}

// case P20: a full box refuses the newest; nothing that is stored is lost.
func TestAFullBoxRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, b, s := journaled(t, f)
		release(t, s)
		for i := range profile.MaxBox {
			b.send("u", coinMail(fmt.Sprintf("m%04d", i), 1))
		}
		if _, err := b.Send(t.Context(), "u", coinMail("n", 1)); !errors.Is(err, profile.ErrBoxFull) {
			t.Errorf("%v", err)
		}
		if again := b.send("u", coinMail("m0007", 1)); !again.Repeated {
			t.Errorf("%+v", again)
		}
		if page, err := b.Mails(t.Context(), "u", "m0989", 20); err != nil || len(page) != 10 || page[0].ID != "m0990" {
			t.Errorf("%d, %v", len(page), err)
		}
		s = b.load("u", nil)
		time.Sleep(time.Minute)
		if v, _ := s.Stored(); coins(v) != 1005 || len(f.box("u")) != 0 {
			t.Errorf("stored %v, %d in the box", v, len(f.box("u")))
		}
		b.send("u", coinMail("n", 1))
		time.Sleep(time.Second)
		if coins(s.Data()) != 1006 {
			t.Errorf("%v", s.Data())
		}
	})
}

func TestMailForNobody(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, _ := journaled(t, f)
		if _, err := a.Send(t.Context(), "new", coinMail("m1", 10)); !errors.Is(err, profile.ErrNoProfile) || len(f.box("new")) != 0 {
			t.Errorf("%v", err)
		}
		m := coinMail("m1", 10)
		m.AllowMissing = true
		a.send("new", m)
		s := a.load("new", nil)
		time.Sleep(time.Second)
		if coins(s.Data()) != 10 {
			t.Errorf("%v", s.Data())
		}
	})
}

func TestBadMail(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		big := doc.MustString(strings.Repeat("x", profile.MaxMailBytes))
		for name, c := range map[string]struct {
			key  string
			mail profile.Mail
			want error
		}{
			"key":      {"a/b", coinMail("m", 1), store.ErrInvalid},
			"id":       {"u", coinMail("a/b", 1), store.ErrInvalid},
			"no kind":  {"u", profile.Mail{ID: "m"}, store.ErrInvalid},
			"kind":     {"u", profile.Mail{ID: "m", Kind: "a b"}, store.ErrInvalid},
			"reserved": {"u", profile.Mail{ID: "m", Kind: "shoal.edit"}, store.ErrInvalid},
			"from":     {"u", profile.Mail{ID: "m", Kind: "k", From: strings.Repeat("x", 129)}, store.ErrInvalid},
			"note":     {"u", profile.Mail{ID: "m", Kind: "k", Note: "\xff"}, store.ErrInvalid},
			"op":       {"u", profile.Mail{ID: "m", Ops: []doc.Op{{}}}, doc.ErrBadOp},
			"size":     {"u", profile.Mail{ID: "m", Kind: "k", Body: big}, profile.ErrTooLarge},
		} {
			if _, err := a.Send(t.Context(), c.key, c.mail); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := s.SendMail(t.Context(), game, c.key, c.mail, doc.Increment("/coins", -1)); !errors.Is(err, c.want) || coins(s.Data()) != 5 {
				t.Errorf("gift, %s: %v", name, err)
			}
		}
		if _, err := a.Mails(t.Context(), "a/b", "", 0); !errors.Is(err, store.ErrInvalid) {
			t.Error(err)
		}
	})
}

// One id is one mail: other content under it is refused while it waits.
func TestOtherMailUnderTheSameID(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		release(t, s)
		a.send("u", coinMail("m1", 10))
		if _, err := a.Send(t.Context(), "u", coinMail("m1", 11)); !errors.Is(err, profile.ErrRepeated) {
			t.Errorf("%v", err)
		}
	})
}

// Rows that are not understood stay, are reported, and hold nothing up.
func TestMailThatIsNotUnderstood(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		release(t, s)
		f.plant(f.raw.Durable(), "mail/players/u/a", `{"format":9}`)
		f.plant(f.raw.Durable(), "mail/players/u/b", `junk`)
		f.plant(f.raw.Durable(), "mail/players/u/c", `{"at":"2026-01-01T00:00:00.000Z","digest":"x","format":1,"id":"d","kind":"k"}`)
		a.send("u", coinMail("m1", 10))
		a.send("u", profile.Mail{ID: "m2", Kind: "unknown"})
		s = a.load("u", nil)
		time.Sleep(time.Minute)
		if got := f.box("u"); coins(s.Data()) != 15 || !slices.Equal(got, []string{"a", "b", "c", "m2"}) {
			t.Errorf("%v, %v", s.Data(), got)
		}
		list, err := a.Mails(t.Context(), "u", "", 0)
		if len(list) != 1 || !errors.Is(err, profile.ErrForeign) || !errors.Is(err, profile.ErrNewerSchema) {
			t.Errorf("%+v, %v", list, err)
		}
		a.send("u", coinMail("m3", 1))
		time.Sleep(time.Second)
		if n := strings.Count(a.log.String(), "mail waits in its box"); n != 4 {
			t.Errorf("said %d times:\n%s", n, a.log)
		}
	})
}

// A handler that fails, panics, or does not return, and operations that are refused: the mail
// stays and is tried again; later mail goes on.
func TestAHandlerThatFails(t *testing.T) {
	for name, handler := range map[string]func(n int) ([]doc.Op, error){
		"error":   func(int) ([]doc.Op, error) { return nil, errors.New("not today") },
		"panic":   func(int) ([]doc.Op, error) { panic("no") },
		"refused": func(int) ([]doc.Op, error) { return []doc.Op{doc.Increment("/nothing/there", 1)}, nil },
		"stuck": func(int) ([]doc.Op, error) {
			time.Sleep(7 * time.Second)
			return []doc.Op{doc.Increment("/coins", 1000)}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b, s := journaled(t, f)
				var calls atomic.Int32
				a.HandleMail("k", func(context.Context, *profile.Session, profile.Mail) ([]doc.Op, error) {
					if n := calls.Add(1); n < 4 {
						return handler(int(n))
					}
					return []doc.Op{doc.Increment("/coins", 10)}, nil
				})
				b.send("u", profile.Mail{ID: "m1", Kind: "k"})
				b.send("u", coinMail("m2", 1))
				time.Sleep(100*time.Millisecond + 5*time.Second)
				if coins(s.Data()) != 6 || !slices.Equal(f.box("u"), []string{"m1"}) {
					t.Errorf("%v, %v", s.Data(), f.box("u"))
				}
				time.Sleep(2 * time.Minute)
				if coins(s.Data()) != 16 || calls.Load() != 4 || len(f.box("u")) != 0 {
					t.Errorf("%v after %d calls, %v", s.Data(), calls.Load(), f.box("u"))
				}
			})
		})
	}
}

// It is given up by a session after some time, and tried again by the next; never dropped.
func TestMailThatAlwaysFails(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		var calls atomic.Int32
		a.HandleMail("k", func(context.Context, *profile.Session, profile.Mail) ([]doc.Op, error) {
			calls.Add(1)
			return nil, errors.New("never")
		})
		a.send("u", profile.Mail{ID: "m1", Kind: "k"})
		time.Sleep(time.Hour)
		if n := calls.Load(); n != profile.MaxMailAttempts {
			t.Errorf("%d calls", n)
		}
		release(t, s)
		s = a.load("u", nil)
		time.Sleep(time.Second / 2)
		if n := calls.Load(); n != profile.MaxMailAttempts+1 || !slices.Equal(f.box("u"), []string{"m1"}) {
			t.Errorf("%d calls, %v", n, f.box("u"))
		}
		a.HandleMail("k", func(context.Context, *profile.Session, profile.Mail) ([]doc.Op, error) {
			return nil, fmt.Errorf("%w: too old", profile.ErrMailRefused)
		})
		time.Sleep(time.Minute)
		if h := f.handled("u"); len(f.box("u")) != 0 || len(h) != 1 || !strings.Contains(h[0].Refused, "too old") || coins(s.Data()) != 5 {
			t.Errorf("%+v, %v, %v", h, f.box("u"), s.Data())
		}
	})
}

// A row that comes again after its mail was dealt with has no effect, and goes.
func TestMailThatComesAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		slow := &node.Options{Beat: 10 * time.Minute, AskEvery: 10 * time.Minute}
		a, b := f.startWith(slow, journaling()), f.startWith(slow, journaling())
		s := a.load("u", nil)
		b.send("u", coinMail("m1", 10))
		row := f.durable("mail/players/u/m1")
		time.Sleep(time.Second)
		f.plant(f.raw.Durable(), "mail/players/u/m1", string(row.Value))
		b.send("u", coinMail("m2", 1))
		time.Sleep(time.Second)
		if coins(s.Data()) != 11 || len(f.box("u")) != 0 {
			t.Errorf("%v, %v", s.Data(), f.box("u"))
		}
		// Days later, first seen by the next session: what is old is forgotten only then.
		time.Sleep(3 * profile.MailMemory)
		add(t, s, 1)
		release(t, s)
		if h := f.handled("u"); len(h) != 2 {
			t.Errorf("remembered %+v", h)
		}
		f.plant(f.raw.Durable(), "mail/players/u/m1", string(row.Value))
		s = b.load("u", nil)
		time.Sleep(time.Second)
		if coins(s.Data()) != 12 || len(f.box("u")) != 0 {
			t.Errorf("days later: %v, %v", s.Data(), f.box("u"))
		}
		release(t, s)
		if h := f.handled("u"); len(h) != 0 {
			t.Errorf("remembered %+v", h)
		}
	})
}

// Mail sent in the very moment in which the session moves is found by the next holder.
func TestMailDuringAHandOver(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, _ := journaled(t, f)
		a.OnLeave(func(context.Context, *profile.Session) { time.Sleep(500 * time.Millisecond) })
		loaded := make(chan *profile.Session, 1)
		go func() { loaded <- b.load("u", nil) }()
		time.Sleep(250 * time.Millisecond)
		a.send("u", coinMail("m1", 10))
		if s, ok := a.Session("u"); !ok || coins(s.Data()) != 5 {
			t.Error("a session that is leaving took mail")
		}
		next := <-loaded
		time.Sleep(time.Second)
		if v, _ := next.Stored(); coins(v) != 15 || len(f.box("u")) != 0 {
			t.Errorf("%v, %v", v, f.box("u"))
		}
	})
}
