package pairing

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
)

var (
	redis  = Given{Apart: true, Space: "Redis, database 0, prefix shoal", Place: "redis://cache/0"}
	since  = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	apart  = &Mark{Format: 1, ID: "now", Apart: true, Space: redis.Space, Place: redis.Place, Since: since, Before: []string{"old", "older"}}
	one    = &Mark{Format: 1, ID: "now", Since: since, Bus: "listen", Before: []string{"old"}}
	direct = Given{Bus: "listen"}
)

func TestVerdicts(t *testing.T) {
	other := redis
	other.Space = "Redis, database 1, prefix shoal"
	moved := redis
	moved.Place = "redis://elsewhere/0"
	for _, c := range []struct {
		name string
		mark *Mark
		sign string
		g    Given
		want verdict
		says string
	}{
		{"first", nil, "", redis, create, ""},
		{"first, of one engine", nil, "", direct, create, ""},
		{"another store's fast part", nil, "x", redis, refuse, "the fast part redis://cache/0 belongs to another store"},
		{"another store's live part", nil, "x", direct, refuse, "the live part of this engine belongs to another store"},
		{"as ever", apart, "now", redis, fine, ""},
		{"as ever, by another name", apart, "now", moved, fine, ""},
		{"as ever, one engine", one, "now", direct, fine, ""},
		{"the fast part is left out", apart, "now", Given{Bus: "listen"}, refuse, "redis://cache/0 (Redis, database 0, prefix shoal), since 2026-05-01T12:00:00Z; none was given"},
		{"a fast part too many", one, "now", redis, refuse, "one engine for all parts, since 2026-05-01T12:00:00Z; redis://cache/0 was given"},
		{"a fast part too many, empty", one, "", redis, refuse, "one engine for all parts"},
		{"another database", apart, "", other, refuse, "redis://cache/0 was given, which is Redis, database 1"},
		{"another database that has the sign", apart, "now", other, refuse, "which is Redis, database 1"},
		{"another store's sign", apart, "x", redis, refuse, "its sign is x, and now was expected"},
		{"another store's sign in the live part", one, "x", direct, refuse, "its sign is x, and now was expected"},
		{"no sign", apart, "", redis, ask, ""},
		{"an earlier sign", apart, "older", redis, ask, ""},
		{"no sign, by another name", apart, "", moved, ask, ""},
		{"no sign of one engine", one, "", direct, restore, ""},
		{"an earlier sign of one engine", one, "old", direct, restore, ""},
		{"polling", one, "now", Given{Bus: "poll"}, refuse, "no pooler=transaction, and messages go by LISTEN and NOTIFY since 2026-05-01T12:00:00Z; this address has pooler=transaction"},
		{"another bus", one, "now", Given{}, refuse, "this address has a bus of another engine"},
	} {
		var sign *Sign
		if c.sign != "" {
			sign = &Sign{1, c.sign}
		}
		got, err := judge(c.mark, sign, c.g)
		if got != c.want || (err != nil) != (c.want == refuse) || err != nil && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "shoal store pair")) {
			t.Errorf("%s: %d, %v; want %d and %q", c.name, got, err, c.want, c.says)
		}
	}
}

func TestFindings(t *testing.T) {
	for _, c := range []struct {
		held string
		mark *Mark
		sign string
		want finding
	}{
		{"now", apart, "now", well},
		{"now", apart, "", forgotten},
		{"now", apart, "older", forgotten},
		{"now", apart, "x", strange},
		{"old", apart, "now", renewed},
		{"old", apart, "old", moved},
		{"old", apart, "", moved},
		{"old", apart, "x", moved},
		{"now", nil, "now", unmarked},
		{"now", nil, "", unmarked},
	} {
		var sign *Sign
		if c.sign != "" {
			sign = &Sign{1, c.sign}
		}
		if got := find(c.held, c.mark, sign); got != c.want {
			t.Errorf("held %s, sign %q: %d, want %d", c.held, c.sign, got, c.want)
		}
	}
}

// A mark remembers so many lives, newest first, and a change of the way of messages is none.
func TestTheNextMark(t *testing.T) {
	var m *Mark
	for i := range maxBefore + 3 {
		m = m.next(fmt.Sprint(i), redis, since.Add(time.Duration(i)*time.Second+time.Millisecond))
	}
	want := &Mark{Format: 1, ID: "18", Apart: true, Space: redis.Space, Place: redis.Place, Since: since.Add(18 * time.Second)}
	for i := 17; i >= 2; i-- {
		want.Before = append(want.Before, fmt.Sprint(i))
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	if got := m.next(m.ID, redis, since); !cmp.Equal(got.Before, m.Before) {
		t.Errorf("before: %v", got.Before)
	}
}

func TestWhatAChangeWouldDo(t *testing.T) {
	pooled := Given{Bus: "poll"}
	for _, c := range []struct {
		name  string
		now   seen
		g     Given
		want  string
		quiet bool
	}{
		{"nothing", seen{mark: apart, sign: &Sign{1, "now"}}, redis, "", false},
		{"first", seen{}, direct, "one engine for all parts, messages by LISTEN and NOTIFY, for the first time", false},
		{"add", seen{mark: one}, redis, "beats, journals, boards and messages in a fast part of their own, redis://cache/0 (Redis, database 0, prefix shoal) instead of: one engine", false},
		{"drop", seen{mark: apart, sign: &Sign{1, "old"}}, direct, "one engine for all parts, messages by LISTEN and NOTIFY instead of: beats", false},
		{"lost", seen{mark: apart}, redis, "the sign of this store is written into the fast part redis://cache/0 again", false},
		{"foreign", seen{mark: one, sign: &Sign{1, "x"}}, redis, "; the fast part redis://cache/0 is taken over from another store", false},
		{"bus", seen{mark: one, sign: &Sign{1, "now"}}, pooled, "the fleet will have pooler=transaction, with which messages are polled for instead of: it has no pooler=transaction", true},
		{"bus, and the sign is lost", seen{mark: one}, pooled, "messages by polling (pooler=transaction) instead of", false},
	} {
		got := stateOf(c.now, c.g)
		if (got.Change == "") != (c.want == "") || !strings.Contains(got.Change, c.want) || got.Quiet != c.quiet {
			t.Errorf("%s: %q, quiet %v; want %q, quiet %v", c.name, got.Change, got.Quiet, c.want, c.quiet)
		}
	}
}

// What a later release wrote, and what is no form, is refused.
func TestFormsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{`{"format":2,"id":"x"}`: "later release", `{"id":"x"}`: "format 1 expected, got 0", `[]`: "pairing/fleet"} {
		if _, err := decodeMark(recordOf(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if m, err := decodeMark(recordOf(`{"format":1,"id":"x","later":true}`)); err != nil || m.ID != "x" {
		t.Errorf("%+v, %v: members of later releases are passed over", m, err)
	}
}

func recordOf(text string) store.Record {
	return store.Record{Key: markKey, Value: []byte(text), Version: 1}
}

// Looks that take long, and processes that sleep, use up no more of the patience than two glances.
func TestPatience(t *testing.T) {
	for name, c := range map[string]struct {
		look time.Duration
		want int
	}{
		"quick":  {glance, int(Patience/glance) + 1},
		"slow":   {4 * glance, int(Patience/glance)/2 + 1},
		"asleep": {time.Hour, int(Patience/glance)/2 + 1},
	} {
		var p patience
		now, looks := time.Now(), 1
		for !p.ended(now) {
			now, looks = now.Add(c.look), looks+1
		}
		if looks != c.want {
			t.Errorf("%s: %d looks, want %d", name, looks, c.want)
		}
	}
}
