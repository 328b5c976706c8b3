package sim

import "time"

// Scenario is a script that is played with many seeds.
type Scenario struct {
	Name string
	Play func(f *Fleet)
	// Settings and Weather of its world. Default: those of the anchor world.
	Settings func(*Settings)
	Weather  func(*[parts]Weather)
	// Sound says that no fault of the scenario excuses a verdict on a living host.
	Sound bool
	// Few says that a run is long, and that a few seeds say enough.
	Few bool
	// Safe bounds, if set, how long a step may be in the memory of its server only, also after
	// the fast store has forgotten it.
	Safe time.Duration
	// Learn bounds, if set, how long a host may go on without hearing of a takeover.
	Learn time.Duration
}

// callTimeout is how long our library waits for one call.
const callTimeout = 10 * time.Second

// Options of one run.
type Options struct {
	WorldOptions
	Library  Library // nil: ours
	Scenario *Scenario
}

// Run plays a scenario once. It must be called in a bubble of its own.
func Run(o Options) (Score, *World) {
	if o.Library == nil {
		o.Library = Ours{}
	}
	settings, weather := Anchor(), AnchorWeather()
	if o.Scenario.Settings != nil {
		o.Scenario.Settings(&settings)
	}
	if o.Scenario.Weather != nil {
		o.Scenario.Weather(&weather)
	}
	seed := foldText(o.Seed, o.Scenario.Name)
	if o.Apart {
		seed = fold(seed, 2)
	}
	f := &Fleet{Lib: o.Library, Settings: settings, names: make(map[string]int), rng: newStream(fold(seed, 1))}
	f.Ledger = NewLedger(func() time.Duration { return f.now() }, o.Library.Exact(), settings)
	f.Ledger.tolerance = 2*weather[Fast].Took.Max + weather[Fast].Wait.Max
	o.Seed = seed
	f.World = NewWorld(o.WorldOptions, f.Ledger)
	f.Weather = weather
	f.startBoards()
	f.startSeasons()
	f.late = weather[Fast].Late > 0
	f.Ledger.step = f.Steps
	f.Ledger.say = func(format string, args ...any) { f.say(nil, format, args...) }

	var score Score
	f.Run(func(a *Actor) {
		f.Script = a
		o.Scenario.Play(f)
		score = f.scoreNow()
		f.quiet = true
		f.calm()
		f.finale()
	})
	last := f.scoreNow()
	score.Violations, score.Excused, score.Wrong, score.Learned = last.Violations, last.Excused, last.Wrong, last.Learned
	score.Events, score.StepsLost, score.Exposed, score.Unsafe = last.Events, last.StepsLost, last.Exposed, last.Unsafe
	score.Leaks, score.Journals, score.Steps, score.Hash = f.leaks, f.journals, f.Steps(), f.hash
	f.conclude(o.Scenario, &score)
	return score, f.World
}

// conclude checks what the scenario promises of the whole run.
func (f *Fleet) conclude(s *Scenario, score *Score) {
	if score.Tally.Unknown > 0 {
		score.Events["unknown outcome"] += int(score.Tally.Unknown)
	}
	complain := func(kind, text string) {
		score.Violations = append(score.Violations, Violation{f.now(), kind, text})
	}
	if s.Sound && score.Wrong > 0 {
		complain("wrong verdict", "a living host was judged dead, and no fault excuses it")
	}
	if unsafe := max(score.Unsafe, score.Exposed); s.Safe > 0 && unsafe > s.Safe {
		complain("not journaled", "a step was in the memory of its server only for "+unsafe.String()+", at most "+s.Safe.String()+" expected")
	}
	limit := s.Learn
	if !f.Apart() {
		limit += callTimeout + 2*time.Second // a save that was sent into the cut is on its way
	}
	if s.Learn > 0 && score.Learned > limit {
		complain("learns late", "a host that had lost a session heard of it after "+score.Learned.String()+", at most "+limit.String()+" expected")
	}
}
