package pairing

import (
	"fmt"
	"slices"
	"strings"
)

// stateOf says how a store is, and what a change to what is given would do.
func stateOf(now seen, g Given) State {
	m, s := now.mark, now.sign
	v, problem := judge(m, s, g)
	out := State{Mark: m, Signed: s != nil, Problem: problem, Lost: v == ask || v == restore}
	out.Foreign = s != nil && (m == nil || s.ID != m.ID && !slices.Contains(m.Before, s.ID))
	same := m != nil && m.Apart == g.Apart && m.Space == g.Space && s != nil && s.ID == m.ID
	out.Quiet = same && m.Bus != g.Bus
	out.Change = changeText(m, g, v, out)
	return out
}

// changeText says what a change would do, "" when there is nothing to do.
func changeText(m *Mark, g Given, v verdict, s State) string {
	if v == fine {
		return ""
	}
	var said []string
	add := func(text string, args ...any) { said = append(said, fmt.Sprintf(text, args...)) }
	switch {
	case m == nil:
		add("%s, for the first time", g.partsText())
	case s.Quiet:
		add("%s instead of: %s", busOf(g.Bus, "the fleet will have"), busOf(m.Bus, "it has"))
	case s.Problem == nil:
		add("the sign of this store is written into %s again", g.fastPart())
	default:
		add("%s instead of: %s", g.partsText(), m.Given().partsText())
	}
	if s.Foreign {
		add("%s is taken over from another store", g.fastPart())
	}
	return strings.Join(said, "; ")
}

// Given is what the mark asks for.
func (m *Mark) Given() Given {
	return Given{Apart: m.Apart, Space: m.Space, Place: m.Place, Bus: m.Bus}
}

// partsText says which engines play which parts.
func (g Given) partsText() string {
	text := "one engine for all parts"
	if g.Apart {
		text = fmt.Sprintf("beats, journals, boards and messages in a fast part of their own, %s (%s)", g.Place, g.Space)
	}
	if g.Bus != "" {
		text += ", messages by " + map[string]string{"listen": "LISTEN and NOTIFY", "poll": "polling (pooler=transaction)"}[g.Bus]
	}
	return text
}

// String says which engines play which parts, since when.
func (m *Mark) String() string { return fmt.Sprintf("%s, since %s", m.Given().partsText(), m.since()) }
