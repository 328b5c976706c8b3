package profile_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// longName is a release whose form is longer than the one that it stores.
func longName() *profile.Options {
	const long, short = "a_very_long_name_of_what_the_older_form_calls_n", "n"
	rename := func(from, to string) func(doc.Value) (doc.Value, error) {
		return func(v doc.Value) (doc.Value, error) {
			old, ok := v.Member(from)
			if !ok {
				return v, nil
			}
			return doc.Apply(v, doc.Set(doc.P(to).String(), old), doc.Unset(doc.P(from).String()))
		}
	}
	return &profile.Options{
		HardBytes: 1000, SoftBytes: -1, WriteVersion: 1, Template: doc.Must(map[string]any{}),
		Migrations: []profile.Migration{{To: 2, Up: rename(short, long), Down: rename(long, short)}},
	}
}

// A profile over the budget that shrinks in steps is stored at each step, and what it claims
// with one, though the older form in which it is stored is shorter than the one it has.
func TestAClaimOfAProfileOverTheBudgetInTheOlderForm(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.plant(f.raw.Durable(), profileKey("u"), `{"format":1,"data":{"n":1,"text":"`+strings.Repeat("x", 2000)+`"},"epoch":4,"revision":9,"schema":1,"session":null}`)
		a := f.start("a", longName())
		s := a.load("u", nil)
		text := func(n int) doc.Op { return doc.Set("/text", doc.MustString(strings.Repeat("x", n))) }
		if _, err := s.Transact(game, text(1900)); err != nil {
			t.Fatal(err)
		}
		a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Delay: time.Second}))
		saved := make(chan error, 1)
		go func() { saved <- s.Save(context.Background()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.Grant(ctx, "r1", game, text(1895))
		if first := <-saved; first != nil {
			t.Errorf("the first step: %v", first)
		}
		if err != nil {
			t.Errorf("the second: %v", err)
		}
		if row := !f.durable("receipt/players/r1").Missing(); row != (err == nil) {
			t.Errorf("told %v, and the receipt is stored: %v", err, row)
		}
	})
}
