package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shoalworks/shoal/doc"
)

// Perform plays a script in a small language and answers it with what happened after each
// line. It is how the hand-over and the takeover are documented: see testdata. It must be
// called in a bubble of its own. Every call takes 100 ms, and a message 500 ms more.
//
//	start A B        start servers, and let them beat until they may judge
//	join A p1        load p1 on A, and wait for the answer
//	ask A p1         the same, without waiting
//	play A p1 3      three steps of play
//	save A p1        save, and wait for the answer
//	sync A p1        the same with Sync
//	leave A p1       release, and wait for the answer
//	crash A          end the process
//	pause A 60s      stop the process for a while, and let it go on
//	cut A fast 20s   cut it off from a part of the store: durable, fast or bus
//	lose A           the answer to the next write of A to a record is lost
//	deaf A           have it hear no asks: it can read no notes, and gets no messages
//	halt B 5s        once it has sealed a journal it stops for a while
//	buy A p1 R1      a platform delivers receipt R1 for p1 to A, and waits for the answer
//	gift A p1 p2 G1  p1 sends p2 a coin as gift G1, and waits for the answer
//	letter A p2 M1   A sends p2 a coin as mail M1, and waits for the answer
//	trade A p1 p2 T1 p1 gives p2 a coin in trade T1, and waits for the answer
//	edit A p1 E1     support gives p1 a coin on A as edit E1, and waits for the answer
//	begin buy …      the same without waiting, and the others too
//	forget           the fast store loses its memory
//	sleep 5s         let time pass
//	# words          a comment
//
// The lines of seasons are in stage_seasons.go.
func Perform(script string, wait func()) string {
	weather := AnchorWeather()
	for i := range weather {
		weather[i].Took, weather[i].Carry = exactly(100*time.Millisecond), exactly(500*time.Millisecond)
	}
	s := Anchor()
	s.Beat, s.DeadAfter = time.Second, 4*time.Second
	f := &Fleet{Lib: Ours{}, Settings: s, names: make(map[string]int), rng: newStream(1)}
	f.Ledger = NewLedger(func() time.Duration { return f.now() }, true, s)
	st := &stage{Fleet: f, holds: make(map[string]Hold), servers: make(map[string]*Server), claims: make(map[string]*Deed), anglers: make(map[string]Angler)}
	st.scribe = &scribe{Ledger: f.Ledger, out: &st.out, now: f.Ledger.now, tokens: make(map[string]string)}
	f.World = NewWorld(WorldOptions{Seed: 1, Wait: wait, Apart: true}, st.scribe)
	f.Weather, f.Refusing = weather, true
	f.Ledger.step = f.Steps
	f.Run(func(a *Actor) {
		f.Script = a
		for line := range strings.Lines(script) {
			st.perform(strings.TrimSpace(line))
		}
	})
	st.scribe.flush()
	for _, v := range f.Ledger.score().Violations {
		fmt.Fprintf(&st.out, "! %v\n", v)
	}
	return st.out.String()
}

// stage is a script that is being performed.
type stage struct {
	*Fleet
	out     strings.Builder
	scribe  *scribe
	holds   map[string]Hold // by "server key"
	servers map[string]*Server
	claims  map[string]*Deed
	anglers map[string]Angler // by "server key"
	asks    int
}

// perform does one line.
func (s *stage) perform(line string) {
	s.scribe.flush()
	fmt.Fprintln(&s.out, line)
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "#" {
		return
	}
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch server, key := s.servers[arg(1)], arg(2); words[0] {
	case "start":
		s.startAll(words[1:])
	case "join":
		s.load(server, key)
	case "ask":
		s.asks++
		s.Go(server.Process, fmt.Sprintf("ask %d", s.asks), func(*Actor) { s.load(server, key) })
	case "play":
		s.play(server, key, arg(3))
	case "save", "sync", "leave":
		s.store(words[0], server, key)
	case "crash":
		s.Script.Do(server.Crash)
	case "pause":
		s.pauseFor(server, lasting(key))
	case "cut":
		s.cutFor(server, lasting(arg(3)), map[string]Part{"durable": Durable, "fast": Fast, "bus": Bus}[key])
	case "lose":
		s.loseNext(server)
	case "deaf":
		s.Script.Do(func() {
			server.Mute = []string{notePrefix}
			server.Cut[Bus] = true
		})
	case "halt":
		s.onceSealed(0, func(p *Process, _ string) {
			if p == server.Process {
				s.halt(p, lasting(key))
			}
		})
	case "buy", "gift", "letter", "trade", "edit":
		s.claim(words[0], server, words[2:])
	case "begin":
		s.asks++
		s.Go(s.servers[key].Process, fmt.Sprintf("begin %d", s.asks), func(*Actor) { s.claim(words[1], s.servers[key], words[3:]) })
	case "sleep":
		s.Script.Sleep(lasting(arg(1)))
	default:
		if !s.season(words) {
			fmt.Fprintf(&s.out, "! no command: %s\n", words[0])
		}
	}
	s.Script.Yield()
}

func lasting(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic("sim: script: " + err.Error())
	}
	return d
}

func (s *stage) startAll(names []string) {
	s.scribe.quiet = true
	for _, name := range names {
		s.servers[name] = s.Start(name)
		s.scribe.names = append(s.scribe.names, named{s.servers[name].Host.ID(), s.servers[name].Name})
	}
	s.Script.Sleep(2 * s.Settings.Beat)
	s.scribe.quiet = false
}

func (s *stage) load(server *Server, key string) {
	begun := s.now()
	hold, err := server.Host.Load(server.Context(), key, How{})
	if server.Gone() {
		return
	}
	if err != nil {
		s.scribe.say(server.Process, "gets no %s after %v: %v", key, tenths(s.now()-begun), s.scribe.plain(err.Error()))
		return
	}
	t := s.Ledger.Opened(server.Process, key, hold)
	if h, ok := hold.(Claimant); ok {
		h.OnCommit(func(data doc.Value, revision uint64) { s.Ledger.Committed(t, data, revision) })
	}
	s.holds[server.Name+" "+key] = hold
	s.scribe.say(server.Process, "opens %s after %v: epoch %d, %d steps", key, tenths(s.now()-begun), hold.Epoch(), stepsOf(hold.Data()))
	go func() {
		select {
		case <-hold.Done():
		case <-server.dead:
			return
		}
		s.scribe.say(server.Process, "ends its session of %s: %v", key, [...]string{"", "released", "handed over", "lost", "closed"}[hold.End()])
	}()
}

func (s *stage) play(server *Server, key, count string) {
	n, err := strconv.Atoi(count)
	if err != nil {
		panic("sim: script: " + err.Error())
	}
	hold := s.holds[server.Name+" "+key]
	t := s.Ledger.tenureOf(server.Process, key)
	for range n {
		data, rev, err := hold.Transact(doc.Increment("/steps", 1), doc.Set("/at", doc.MustString(placeText(t.id, len(t.commits)+1))))
		if err != nil {
			s.scribe.say(server.Process, "cannot play %s: %v", key, s.scribe.plain(err.Error()))
			return
		}
		s.Ledger.Committed(t, data, rev)
	}
	s.scribe.say(server.Process, "has made %d steps of %s in memory", stepsOf(hold.Data()), key)
}

func (s *stage) store(verb string, server *Server, key string) {
	hold := s.holds[server.Name+" "+key]
	err := map[string]func() error{
		"save":  func() error { return hold.Save(server.Context()) },
		"sync":  func() error { return hold.Sync(server.Context()) },
		"leave": func() error { return hold.Release(server.Context()) },
	}[verb]()
	if err != nil {
		s.scribe.say(server.Process, "%s of %s: %v", verb, key, s.scribe.plain(err.Error()))
		return
	}
	if t := s.Ledger.tenureOf(server.Process, key); verb != "leave" {
		s.Ledger.Acknowledged(t, len(t.commits))
	}
	s.scribe.say(server.Process, "%s of %s is acknowledged", verb, key)
}

// loseNext has the answer to the next write of a server to a record be lost.
func (s *stage) loseNext(server *Server) {
	s.Script.Do(func() { server.deaf = true })
}

// tenureOf is the last session of a key on a process.
func (l *Ledger) tenureOf(p *Process, key string) *Tenure {
	l.mu.Lock()
	defer l.mu.Unlock()
	var last *Tenure
	for _, t := range l.pageLocked(key).tenures {
		if t.proc == p {
			last = t
		}
	}
	return last
}

func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
