package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// patience is how long a part of the store may take to answer all that it is asked.
const patience = 10 * time.Second

// checkedPart is a part of the store as it was found.
type checkedPart struct {
	Part      string           `json:"part"`
	Engine    string           `json:"engine,omitempty"`
	Version   string           `json:"version,omitempty"`
	Place     string           `json:"place,omitempty"`
	Abilities []string         `json:"abilities,omitempty"`
	Ahead     float64          `json:"aheadSeconds"` // its clock before this machine's
	Answer    float64          `json:"answerSeconds"`
	Write     float64          `json:"writeSeconds"`
	Settings  []checkedSetting `json:"settings,omitempty"`
	Problems  []checkedProblem `json:"problems,omitempty"`
	Error     string           `json:"error,omitempty"` // it does not answer
}

// checkedSetting is a setting of an engine.
type checkedSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// checkedProblem is what an operator should change.
type checkedProblem struct {
	What   string `json:"what"`
	Danger bool   `json:"danger,omitempty"`
}

// examine looks at every part of the store; one that does not answer hides none of the others.
func (t *storeTool) examine(ctx context.Context) []checkedPart {
	roles := t.st.Roles()
	parts := make([]checkedPart, len(roles))
	for i, role := range roles {
		bounded, cancel := context.WithTimeout(ctx, patience)
		found, err := t.st.Examine(bounded, role, clock.System().Now)
		cancel()
		parts[i] = partOf(found, err)
	}
	return parts
}

func partOf(x store.Examination, err error) checkedPart {
	p := checkedPart{
		Part: string(x.Role), Engine: x.Inspection.Engine, Version: x.Inspection.Version, Place: x.Inspection.Place,
		Ahead: x.Ahead.Round(time.Millisecond).Seconds(), Answer: x.Read.Round(time.Microsecond).Seconds(), Write: x.Write.Round(time.Microsecond).Seconds(),
	}
	if x.Role == store.RoleDurable || x.Role == store.RoleFast {
		p.Abilities = abilityWords(x.Abilities)
	}
	for _, s := range x.Inspection.Settings {
		p.Settings = append(p.Settings, checkedSetting(s))
	}
	for _, problem := range x.Inspection.Problems {
		p.Problems = append(p.Problems, checkedProblem(problem))
	}
	if err != nil {
		p.Error = err.Error()
	}
	return p
}

func abilityWords(a store.Abilities) (out []string) {
	for _, word := range []struct {
		name string
		has  bool
	}{{"durable", a.Durable}, {"shared", a.Shared}, {"multi-key", a.MultiKey}, {"scan", a.Scan}} {
		if word.has {
			out = append(out, word.name)
		}
	}
	return out
}

// answers tells whether a part was found well enough to go on with.
func answers(parts []checkedPart, role store.Role) bool {
	return slices.ContainsFunc(parts, func(p checkedPart) bool { return p.Part == string(role) && p.Error == "" })
}

func (p *checkedPart) dangers() (n int) {
	for _, problem := range p.Problems {
		if problem.Danger {
			n++
		}
	}
	return n
}

// printParts shows the parts in a table, then how their engines are set and what is wrong.
func (t *storeTool) printParts(parts []checkedPart) {
	rows := [][]string{{"PART", "ENGINE", "READ", "WRITE", "ABILITIES", "PLACE"}}
	for _, p := range parts {
		version, _, _ := strings.Cut(p.Version, " ") // the rest is how it was built
		engine := strings.TrimSpace(p.Engine + " " + version)
		rows = append(rows, []string{p.Part, orDash(engine), millis(p.Answer), millis(p.Write), orDash(strings.Join(p.Abilities, ", ")), orDash(p.Place)})
	}
	t.table(rows)
	for i, p := range parts {
		same := func(o checkedPart) bool {
			return o.Engine == p.Engine && o.Place == p.Place
		}
		if len(p.Settings) > 0 && !slices.ContainsFunc(parts[:i], same) {
			fmt.Fprintf(t.out, "%s: %s\n", p.Part, plain(settingsText(p.Settings)))
		}
	}
	for i, p := range parts {
		t.printProblems(p, parts[:i])
	}
}

// printProblems prints what is wrong with a part, but for what was said of one before.
func (t *storeTool) printProblems(p checkedPart, before []checkedPart) {
	if p.Error != "" {
		fmt.Fprintf(t.out, "%s: does not answer: %s\n", p.Part, plain(p.Error))
		return
	}
	if p.isRecords() {
		fmt.Fprintf(t.out, "%s: answers, %s\n", p.Part, p.clock())
	}
	for _, problem := range p.Problems {
		said := func(o checkedPart) bool {
			return o.Engine == p.Engine && o.Place == p.Place && slices.Contains(o.Problems, problem)
		}
		if slices.ContainsFunc(before, said) {
			continue
		}
		word := "warning"
		if problem.Danger {
			word = "DANGER"
		}
		fmt.Fprintf(t.out, "%s: %s: %s\n", p.Part, word, plain(problem.What))
	}
}

// isRecords tells that the part has a clock.
func (p *checkedPart) isRecords() bool {
	return p.Part == string(store.RoleDurable) || p.Part == string(store.RoleFast)
}

func settingsText(settings []checkedSetting) string {
	out := make([]string, len(settings))
	for i, s := range settings {
		out[i] = s.Name + " " + s.Value
	}
	return strings.Join(out, ", ")
}

func millis(seconds float64) string {
	if seconds == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ms", seconds*1000)
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// clock says how the clock of a part goes, as far as a second matters.
func (p *checkedPart) clock() string {
	switch ahead := time.Duration(p.Ahead * float64(time.Second)); {
	case ahead >= time.Second:
		return fmt.Sprintf("with a clock that is %v before this machine's", ahead)
	case ahead <= -time.Second:
		return fmt.Sprintf("with a clock that is %v behind this machine's", -ahead)
	}
	return "with the time of this machine"
}
