package main_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	main "github.com/shoalworks/shoal/examples/reef"
)

// TestASeasonToWatch plays a short season in real time. The program waits for what happens, and
// the season is long enough for a machine that stalls now and then: which season it is, and
// what comes too late for it, is not asked.
func TestASeasonToWatch(t *testing.T) {
	var out bytes.Buffer
	if err := main.Run(t.Context(), []string{"--fast", "--season", "8s", "--seasons", "1", "--players", "5"}, strings.NewReader(""), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		`Cycle \d+ Season \d+ \(C\d+S\d+\) ends in`,
		`C\d+S\d+ is over, and everybody goes home`,
		`(east|west)\S* has closed it`,
		`SEA KING +#1 [A-E][a-z]+ \d+  #2 [A-E][a-z]+ \d+  #3 [A-E][a-z]+ \d+\n`,
		`GOLD SOVEREIGN +#1 `, `GRAND MARINER +#1 `, `RELENTLESS KING +#1 `,
		`[A-E][a-z]+ +#1 SEA KING \(S\d+\), and 1000 coins`,
		`[A-E][a-z]+ +#3 RELENTLESS KING \(S\d+\), and 500 coins`,
		`[A-E][a-z]+ had a net, and is disqualified`,
		`loses #1 SEA KING \(S\d+\), and 1000 coins`,
		`was #2 SEA KING \(S\d+\), and is #1 SEA KING \(S\d+\): \+500 coins`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestARound plays two rounds in one folder: what is caught is kept.
func TestARound(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "reef")
	play := func(keys string) string {
		var out bytes.Buffer
		if err := main.Run(t.Context(), []string{"--store", folder, "--name", "Otto"}, strings.NewReader(keys), &out); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		return out.String()
	}
	first := play("\n\n\n\n\n\nq\n\n\n")
	if got := strings.Count(first, "You catch") + strings.Count(first, "It got away"); got != 6 {
		t.Errorf("%d casts, want 6:\n%s", got, first)
	}
	card := regexp.MustCompile(`(?s)Otto in C\d+S\d+, with \d+ coins.*Fish .*on the board .*rank \d+ of \d+`)
	if !card.MatchString(first) {
		t.Errorf("no card:\n%s", first)
	}
	stats := regexp.MustCompile(`Otto in C\d+S\d+, with (\d+) coins`)
	if again := play(""); stats.FindString(again) != stats.FindString(first) {
		t.Errorf("%q, and when he came back %q", stats.FindString(first), stats.FindString(again))
	}
}

func TestUnknownFlagsAreRefused(t *testing.T) {
	if err := main.Run(t.Context(), []string{"--slow"}, nil, new(bytes.Buffer)); err == nil {
		t.Error("taken")
	}
}
