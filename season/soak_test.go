package season_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store/memstore"
)

// soak is a fleet that lives through some seasons: players come, play, go, and move between
// nodes whose clocks are wrong; nodes restart; boards fail, lie, and lose their memory.
type soak struct {
	t     *testing.T
	w     *world
	rnd   *rand.Rand
	hosts []*host
	at    map[string]int      // player → host
	in    map[string]*session // players online
	model map[string]map[string]int64
	told  map[string]int
}

const soakPlayers = 5

func TestSeasonsOfAFleetsLife(t *testing.T) {
	for seed := range uint64(15) {
		bubble(t, func(t *testing.T, w *world) {
			w.cfg.Top = 2
			s := &soak{
				t: t, w: w, rnd: rand.New(rand.NewPCG(seed, 3)), at: make(map[string]int), in: make(map[string]*session),
				model: make(map[string]map[string]int64), told: make(map[string]int),
			}
			for i := range 3 {
				s.hosts = append(s.hosts, s.start(i))
			}
			w.profiles.onSync(nil)
			for time.Since(w.cfg.Epoch) < 4*time.Hour {
				s.step()
				time.Sleep(time.Duration(1+s.rnd.IntN(120)) * time.Second)
			}
			s.settle()
			s.check()
		})
	}
}

func (s *soak) start(i int) *host {
	h := s.w.host(fmt.Sprint("n", i), hostOptions{
		loops: true, skew: time.Duration(i-1) * 10 * time.Minute, deps: season.Deps{Reward: prize},
	})
	h.tap.set(randomFaults(s.rnd.Uint64(), 0.05))
	return h
}

func (s *soak) step() {
	key := fmt.Sprint("u", s.rnd.IntN(soakPlayers))
	host := s.rnd.IntN(len(s.hosts))
	switch what := s.rnd.IntN(40); {
	case what == 0:
		s.restart(host)
	case what == 1:
		s.w.engine.Forget(memstore.Boards)
	case what < 8:
		s.leave(key)
	case s.in[key] == nil:
		s.join(key, host)
	default:
		s.play(key)
	}
}

func (s *soak) join(key string, host int) {
	session := s.w.profiles.load(key)
	s.in[key], s.at[key] = session, host
	_, _ = s.hosts[host].Joined(s.t.Context(), session) // a store that does not answer delays titles
}

func (s *soak) play(key string) {
	session, h := s.in[key], s.hosts[s.at[key]]
	before, err := h.View(session)
	if err != nil {
		s.t.Fatal(err)
	}
	h.play(session, "catch")
	// Autosave: a change is in the record soon, and long before Grace is over.
	if err := session.save(); err != nil {
		s.t.Fatal(err)
	}
	if s.model[before.Season] == nil {
		s.model[before.Season] = make(map[string]int64)
	}
	s.model[before.Season][key]++
}

func (s *soak) leave(key string) {
	if session := s.in[key]; session != nil {
		s.hosts[s.at[key]].leave(session)
		delete(s.in, key)
	}
}

// restart releases a node's sessions, closes it, and starts another.
func (s *soak) restart(i int) {
	for _, key := range slices.Sorted(maps.Keys(s.in)) {
		if s.at[key] == i {
			s.leave(key)
		}
	}
	s.hear(s.hosts[i])
	stopNode(s.t, s.hosts[i])
	s.hosts[i] = s.start(i)
}

func (s *soak) hear(h *host) {
	for _, title := range h.titles() {
		s.told[title]++
	}
}

// settle ends the faults and lets every season close and every player load once more.
func (s *soak) settle() {
	for _, h := range s.hosts {
		h.tap.set(nil)
	}
	s.w.until(6 * time.Hour)
	for i := range soakPlayers {
		key := fmt.Sprint("u", i)
		s.leave(key)
		s.join(key, 0)
	}
	time.Sleep(2 * time.Minute)
	for _, h := range s.hosts {
		s.hear(h)
	}
}

// check compares results, titles and rewards with what was played.
func (s *soak) check() {
	want := make(map[string]int) // "<key> <title>"
	for k := range int64(4) {
		id := s.w.cfg.ID(k)
		r, err := s.hosts[0].Result(s.t.Context(), id)
		if err != nil {
			s.t.Fatal(err)
		}
		got := make(map[string]int64)
		for _, p := range append(slices.Clone(r.Boards[0].Top), r.Boards[0].Reserve...) {
			got[p.Key] = p.Score
		}
		if !maps.Equal(got, s.model[id]) {
			s.t.Errorf("season %s: the result has %v, played was %v", id, got, s.model[id])
		}
		for _, p := range r.Boards[0].Top {
			want[p.Key+" "+season.TitleKey("Fish", id)]++
		}
	}
	for title, n := range s.told {
		if n > 1 {
			s.t.Errorf("told %d times of %s", n, title)
		}
	}
	for i := range soakPlayers {
		s.checkPlayer(fmt.Sprint("u", i), want)
	}
	for _, h := range s.hosts {
		for _, r := range h.refused() {
			s.t.Errorf("refused %+v", r)
		}
	}
}

func (s *soak) checkPlayer(key string, want map[string]int) {
	v, err := s.hosts[0].View(s.in[key])
	if err != nil {
		s.t.Fatal(err)
	}
	var mine []string
	for title := range want {
		if owner, name, _ := strings.Cut(title, " "); owner == key {
			mine = append(mine, name)
		}
	}
	var held []string
	for _, title := range v.Titles {
		held = append(held, title.Key)
	}
	slices.Sort(mine)
	slices.Sort(held)
	if !slices.Equal(mine, held) {
		s.t.Errorf("%s holds %v, want %v", key, held, mine)
	}
	coins, _, _ := s.in[key].Data().Lookup("/coins")
	if paid := doc.Int(int64(100 * len(mine))); len(mine) > 0 && !coins.Equal(paid) {
		s.t.Errorf("%s was paid %v, want %v", key, coins, paid)
	}
	if len(v.Owed) > 0 {
		s.t.Errorf("%s still owes %v", key, v.Owed)
	}
}
