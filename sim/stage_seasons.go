package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// This file performs the lines of seasons, see [Perform], and writes down what is stored of
// them:
//
//	seasons          servers that start from now on run seasons of a minute
//	fish A a1        load a1 on A, for the seasons
//	catch A a1 3     three catches, in memory
//	depart A a1      release, and wait for the answer
//	due A B          A and B close what is due, at one moment
//	until 70s        let time pass until then
//	forget boards    the boards lose their memory

// shortSeasons last a minute, and are closed 20 s later.
func shortSeasons(s *Settings) {
	competing(s)
	rules := s.Seasons
	rules.Length, rules.Grace, rules.FlushEvery = time.Minute, 20*time.Second, 10*time.Second
	rules.FirstClose, rules.CloseEvery = 30*time.Minute, 30*time.Minute
	rules.Boards = rules.Boards[:1]
}

// season performs a line of seasons, or of what is forgotten, and tells whether it is one.
func (s *stage) season(words []string) bool {
	arg := func(i int) string { return slices.Concat(words, make([]string, 4))[i] }
	server, key := s.servers[arg(1)], arg(2)
	switch words[0] {
	case "seasons":
		shortSeasons(&s.Settings)
		s.startSeasons()
	case "fish":
		s.fish(server, key)
	case "catch":
		s.catches(server, key, arg(3))
	case "depart":
		err := s.anglers[server.Name+" "+key].Release(server.Context())
		s.scribe.say(server.Process, "has let %s go: %v", key, err)
	case "due":
		for _, name := range words[1:] {
			s.closeDue(s.servers[name])
		}
		s.Script.Sleep(5 * time.Second)
	case "until":
		s.Script.Sleep(lasting(arg(1)) - s.now())
	case "forget":
		s.forgetNow(arg(1))
	default:
		return false
	}
	return true
}

func (s *stage) fish(server *Server, key string) {
	a, err := server.seasonal().Fish(server.Context(), key)
	if err != nil {
		s.scribe.say(server.Process, "gets no %s: %v", key, err)
		return
	}
	s.anglers[server.Name+" "+key] = a
	s.Ledger.Arrived(server.Process, key, a.Data(), 0)
	s.scribe.say(server.Process, "opens %s: %s", key, blockWords(a.Data().String()))
}

func (s *stage) catches(server *Server, key, count string) {
	n, err := strconv.Atoi(count)
	if err != nil {
		panic("sim: script: " + err.Error())
	}
	a := s.anglers[server.Name+" "+key]
	for range n {
		before := a.Data()
		if err := a.Record(catch); err != nil {
			s.scribe.say(server.Process, "counts no catch of %s: %v", key, err)
			return
		}
		s.Ledger.Caught(server.Process, key, catch, before, a.Data())
	}
	s.scribe.say(server.Process, "has counted %d catches of %s in memory: %s", n, key, blockWords(a.Data().String()))
}

// blockWords is a player's block in words.
func blockWords(data string) string {
	var form struct {
		Coins   int64
		Seasons map[string]blockForm
	}
	if json.Unmarshal([]byte(data), &form) != nil {
		return data
	}
	b := form.Seasons[seasonSet]
	if b.Season == "" {
		return "nothing caught"
	}
	out := fmt.Sprintf("%d fish in %s", b.Stats[fish], b.Season)
	for _, id := range slices.Sorted(maps.Keys(b.Owed)) {
		out += fmt.Sprintf(", %d owed to %s", b.Owed[id][fish], id)
	}
	for _, key := range slices.Sorted(maps.Keys(b.Titles)) {
		out += fmt.Sprintf(", %s as %d", key, b.Titles[key].Rank)
	}
	return fmt.Sprintf("%s, %d coins", out, form.Coins)
}

// seasonLocked writes down a write that concerns seasons.
func (s *scribe) seasonLocked(p *Process, w store.Write) {
	rest, ok := strings.CutPrefix(w.Key, reefPrefix)
	id, what, _ := strings.Cut(rest, "/")
	switch {
	case strings.HasPrefix(w.Key, anglerPrefix):
		if rec, err := parseRecord(w.Value); err == nil {
			s.sayLocked(p, "stores %s: %s", w.Key[len(anglerPrefix):], blockWords(rec.data.String()))
		}
	case !ok:
	case rest == "first":
		s.sayLocked(p, "stores which season is the first")
	case rest == "closed":
		s.sayLocked(p, "stores through which season all are closed")
	case what == "boards":
		s.sayLocked(p, "stores which boards of %s count: %s", id, registerWords(w.Value))
	case what == "result":
		s.sayLocked(p, "stores the result of %s: %s", id, resultWords(w.Value))
	}
}

func registerWords(value []byte) string {
	var form registerForm
	if err := json.Unmarshal(value, &form); err != nil {
		return err.Error()
	}
	var out []string
	for board, b := range form.Boards {
		words := map[bool]string{true: board + ", rebuilt", false: board}
		out = append(out, words[b.Rebuilt])
	}
	switch {
	case form.Unplayed:
		return "none, nobody has played"
	case len(out) == 0:
		return "not known yet"
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func resultWords(value []byte) string {
	var form resultForm
	if err := json.Unmarshal(value, &form); err != nil {
		return err.Error()
	}
	out := ""
	for _, b := range form.Boards {
		out += b.Board
		for _, at := range b.Top {
			out += fmt.Sprintf(" %d. %s=%d", at.Rank, at.Key, at.Score)
		}
	}
	return out
}

// Ranked implements Watcher.
func (s *scribe) Ranked(p *Process, c *BoardCall) {
	s.Ledger.Ranked(p, c)
	board, id, ok := seasonBoard(c.Board)
	if !ok {
		return
	}
	switch c.Op {
	case "create":
		s.say(p, "makes the board %s of %s, or finds it", board, id)
	case "merge":
		out := ""
		for _, e := range c.Batch.Entries {
			out += fmt.Sprintf(" %s=%d", e.Key, e.Score)
		}
		s.say(p, "writes to %s of %s:%s", board, id, out)
	case "seal":
		s.say(p, "seals %s of %s", board, id)
	case "page":
		s.say(p, "reads %s of %s", board, id)
	}
}

// forgetNow has the fast store lose its memory, or the boards.
func (s *stage) forgetNow(what string) {
	if what == "boards" {
		s.forgetParts(memstore.Boards)
		return
	}
	s.Forget()
}
