package season_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// call gives a profile a display name, as the game would.
func call(t *testing.T, s *session, name doc.Value) {
	t.Helper()
	if err := s.Change("game", func(doc.Value) ([]doc.Op, error) { return []doc.Op{doc.Set("/name", name)}, nil }); err != nil {
		t.Fatal(err)
	}
}

// leaders are a board's rows as "rank name(key):score".
func (h *host) leaders(board string) []string {
	h.w.t.Helper()
	time.Sleep(h.Config().CacheFor % time.Second)
	l, err := h.Leaders(h.w.t.Context(), board, 0)
	if err != nil {
		h.w.t.Fatalf("leaders of %s: %v", board, err)
	}
	out := []string{}
	for _, r := range l.Rows {
		out = append(out, fmt.Sprintf("%d %s(%s):%d", r.Rank, r.Name, r.Key, r.Score))
	}
	return out
}

// named are a result's places as "name(key)".
func (h *host) named(id, board string) (out []string) {
	h.w.t.Helper()
	r, err := h.Result(h.w.t.Context(), id)
	if err != nil {
		h.w.t.Fatal(err)
	}
	for _, b := range r.Boards {
		if b.Board == board {
			for _, p := range append(slices.Clone(b.Top), b.Reserve...) {
				out = append(out, fmt.Sprintf("%s(%s)", p.Name, p.Key))
			}
		}
	}
	return out
}

// A name goes to a board with the score, and a new one with the next score there.
func TestNamesTravelWithTheScores(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Name = "/name"
		h := w.host("a", hostOptions{})
		ada, bob, cyd := h.join("ada"), h.join("bob"), h.join("cyd")
		call(t, ada, doc.MustString("  Ada \u202e\n"))
		call(t, bob, doc.Int(7))
		h.play(ada, "catch", "catch", "catch", "coins")
		h.play(bob, "catch", "catch")
		h.play(cyd, "catch")
		h.window()
		if got := h.leaders("Fish"); !slices.Equal(got, []string{"1 Ada(ada):3", "2 (bob):2", "3 (cyd):1"}) {
			t.Fatalf("fish %q", got)
		}
		if page, err := h.Top(t.Context(), "Fish", 2); err != nil || season.NameOf(page.Entries[0].Entry) != "Ada" || season.NameOf(page.Entries[1].Entry) != "" {
			t.Fatalf("%+v, %v", page, err)
		}
		call(t, ada, doc.MustString("Countess"))
		h.play(ada, "catch")
		h.window()
		if got := h.leaders("Fish"); got[0] != "1 Countess(ada):4" {
			t.Fatalf("with the next score: %q", got)
		}
		if got := h.leaders("Coins"); got[0] != "1 Ada(ada):10" {
			t.Fatalf("the store replaces a name only with a score: %q", got)
		}
		call(t, ada, doc.Null())
		h.play(ada, "catch", "coins")
		h.window()
		if got := h.leaders("Coins"); got[0] != "1 (ada):20" {
			t.Fatalf("without a name again: %q", got)
		}
		l, err := h.Leaders(t.Context(), "Fish", 2)
		if err != nil || len(l.Rows) != 2 || l.Total != 3 || l.Season != "C1S1" || l.K != 0 || l.Title != "SEA KING" || l.Board != "Fish" {
			t.Fatalf("%+v, %v", l, err)
		}
	})
}

// A name that was sent with values that lose to newer ones is not shown with those.
func TestANameStaysWithItsScoreInTheOutbox(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Name = "/name"
		h := w.host("a", hostOptions{})
		old := h.join("ada")
		call(t, old, doc.MustString("old"))
		h.play(old, "catch")
		h.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "merge") {
				return refuse
			}
			return pass
		})
		_ = h.Window(t.Context()) // the values wait
		if err := old.save(); err != nil {
			t.Fatal(err)
		}
		stays := w.profiles.load("ada") // as from another node, that knows better
		call(t, stays, doc.MustString("new"))
		h.play(stays, "catch")
		_ = h.Window(t.Context())
		h.tap.set(nil)
		h.window()
		if got := h.leaders("Fish"); !slices.Equal(got, []string{"1 new(ada):2"}) {
			t.Fatalf("%q", got)
		}
	})
}

// The result has the names of the sealed board, for every closer the same.
func TestResultsKeepNames(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Name = "/name"
		h := w.host("a", hostOptions{})
		for i, key := range []string{"ada", "bob", "cyd", "dan"} {
			s := h.join(key)
			call(t, s, doc.MustString(strings.ToUpper(key)))
			h.play(s, slices.Repeat([]string{"catch"}, 4-i)...)
		}
		h.window()
		ada := h.players("ada")
		call(t, ada, doc.MustString("late")) // no score comes with it any more
		w.pastGrace(0)
		w.cfg.Name = "" // a closer that shows no names keeps those that are there
		b := w.host("b", hostOptions{})
		b.closeDue()
		h.closeDue()
		for _, x := range []*host{h, b} {
			if got := x.named("C1S1", "Fish"); !slices.Equal(got, []string{"ADA(ada)", "BOB(bob)", "CYD(cyd)", "DAN(dan)"}) {
				t.Fatalf("%q", got)
			}
		}
	})
}

// A board that lost its memory comes back with names.
func TestARebuiltBoardHasNames(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Name = "/name"
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		call(t, s, doc.MustString("Ada"))
		h.play(s, "catch")
		h.window()
		call(t, s, doc.MustString("Countess"))
		h.leave(s)
		if err := w.engine.Boards().Drop(t.Context(), season.BoardKey("reef", "Fish", "C1S1")); err != nil {
			t.Fatal(err)
		}
		w.pastGrace(0)
		h.closeDue()
		if got := h.named("C1S1", "Fish"); !slices.Equal(got, []string{"Countess(ada)"}) {
			t.Fatalf("%q", got)
		}
	})
}

func TestNamesAreCleaned(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"Ada":                      "Ada",
		" \t Ada  Byron \r\n":      "Ada  Byron",
		"a\x00b\x1fc\x7fd\u0085e":  "abcde",
		"x\u2028y\u2029z":          "xyz",
		"\u202eevil\u2066\u200f":   "evil",
		"👩\u200d🚀":                 "👩\u200d🚀",
		"\xff\xfe":                 "",
		"\n\n":                     "",
		strings.Repeat("魚", 100):   strings.Repeat("魚", 85),
		strings.Repeat("a", 256):   strings.Repeat("a", 256),
		strings.Repeat("a", 257):   strings.Repeat("a", 256),
		strings.Repeat("\n", 5000): "",
		// nothing can be seen
		"\u200b\u2060\ufeff":                 "",
		"\u3164":                             "",
		"\u2800 \u00ad":                      "",
		"\u200d\ufe0f":                       "",
		"\u115f\u1160\U000e0001":             "",
		"A\u200bda\ufeff":                    "Ada",
		"\u200d\u200bAda\u200d":              "Ada",
		"می\u200cخواهم":                      "می\u200cخواهم",
		"❤\ufe0f":                            "❤\ufe0f",
		"🏴\U000e0067\U000e0062\U000e007f":    "🏴\U000e0067\U000e0062\U000e007f",
		strings.Repeat("a", 253) + "\u200d👩": strings.Repeat("a", 253),
	} {
		if got := season.CleanName(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		got := season.CleanName(rapid.String().Draw(t, "text"))
		if len(got) > store.MaxMeta || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x00\u202e") || strings.TrimSpace(got) != got {
			t.Fatalf("%q", got)
		}
		if again := season.CleanName(got); again != got {
			t.Fatalf("%q, and once more %q", got, again)
		}
		if again := season.CleanName(got); again != got {
			t.Fatalf("%q became %q", got, again)
		}
	})
}
