package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// This file holds the players of the seasons: what they do on a server is done by an actor in
// that server's process, which a crash ends and a pause stops.

// Outing is what a player of the seasons does on a server.
type Outing struct {
	Every Span    // between two events
	Lose  float64 // chance that an event ends the streak
	Sync  float64 // chance that an event is followed by Sync
	Save  float64 // and by Save
	Look  float64 // and by a look at the boards
}

// Stay is a player of the seasons on a server.
type Stay struct {
	Server *Server
	Key    string
	Outing Outing
	Err    error
	Waited time.Duration

	Answered chan struct{} // closed when the load has ended
	Over     chan struct{} // closed when the stay has ended

	fleet *Fleet
	hold  Angler
	leave chan struct{}
}

// Angle has a player come to a server, and play the seasons until told to leave, or until the
// session ends.
func (f *Fleet) Angle(s *Server, key string, o Outing) *Stay {
	st := &Stay{
		Server: s, Key: key, Outing: o, fleet: f,
		Answered: make(chan struct{}), Over: make(chan struct{}), leave: make(chan struct{}),
	}
	f.contests++
	f.Go(s.Process, fmt.Sprintf("%s fishes %d", key, f.contests), st.run)
	return st
}

// Leave has the player leave.
func (st *Stay) Leave() {
	if !isClosed(st.leave) {
		close(st.leave)
	}
}

// Here tells that the player is, or is about to be, on a living server.
func (st *Stay) Here() bool { return st != nil && st.Server.Up() && !isClosed(st.Over) }

// AwaitOpen waits for the end of the load, and tells whether it opened the profile.
func (st *Stay) AwaitOpen() bool {
	st.await(st.Answered)
	return isClosed(st.Answered) && st.hold != nil
}

// AwaitOver waits for the end of the stay, or of the server.
func (st *Stay) AwaitOver() { st.await(st.Over) }

func (st *Stay) await(c <-chan struct{}) {
	select {
	case <-c:
	case <-st.Server.dead:
	case <-st.fleet.over:
	}
	st.fleet.Script.Yield()
}

// seasonal is the seasons of a server; nil: it has none.
func (s *Server) seasonal() Seasonal {
	h, _ := s.Host.(Seasonal)
	return h
}

func (st *Stay) run(a *Actor) {
	f, s, begun := st.fleet, st.Server, a.Now()
	hold, err := s.seasonal().Fish(s.Context(), st.Key)
	if !a.Yield() { // others may have been answered at the same moment
		return
	}
	st.Waited, st.Err = a.Now()-begun, err
	f.say(s.Process, "load of %s after %v: %v", st.Key, st.Waited, err)
	if err != nil {
		close(st.Answered)
		close(st.Over)
		return
	}
	st.hold = hold
	f.Ledger.Arrived(s.Process, st.Key, hold.Data(), st.Waited)
	close(st.Answered)
	for alive := a.Yield(); alive; alive = a.Alive() {
		leave, alive := a.AwaitFor(a.rng.within(st.Outing.Every), st.leave)
		switch {
		case !alive:
			return
		case leave:
			st.release(a)
			return
		case isClosed(hold.Done()):
			st.ended()
			return
		case st.Outing.Every.Max < idle:
			st.play(a)
		}
	}
}

// idle is a pace at which nothing happens.
const idle = time.Hour

// resting is the outing of somebody who only looks whether there is a title.
func resting() Outing { return Outing{Every: exactly(idle)} }

// ended takes in what the end of a session promises.
func (st *Stay) ended() {
	if end := st.hold.End(); end == Released || end == HandedOver {
		st.fleet.Ledger.Banked(st.Key, st.hold.Data(), st.fleet.Steps())
	}
	close(st.Over)
}

// play is one event, and what may follow.
func (st *Stay) play(a *Actor) {
	event := catch
	if a.rng.chance(st.Outing.Lose) {
		event = lose
	}
	look, sync, save := a.rng.chance(st.Outing.Look), a.rng.chance(st.Outing.Sync), a.rng.chance(st.Outing.Save)
	st.cast(event)
	if look {
		st.look(a)
	}
	if (sync || save) && a.Alive() {
		st.bank(a, save)
	}
}

// cast is one event.
func (st *Stay) cast(event string) {
	before := st.hold.Data()
	err := st.hold.Record(event)
	st.fleet.say(st.Server.Process, "%s of %s: %v", event, st.Key, err)
	if after := st.hold.Data(); err == nil {
		st.fleet.Ledger.Caught(st.Server.Process, st.Key, event, before, after)
	} else if !after.Equal(before) {
		st.fleet.Ledger.Violated("refused, but counted", fmt.Sprintf("%s on %s: %v", st.Key, st.Server.Name, err))
	}
}

// bank waits until what was caught is safe.
func (st *Stay) bank(a *Actor, save bool) {
	data, asked := st.hold.Data(), st.fleet.Steps()
	how := st.hold.Sync
	if save {
		how = st.hold.Save
	}
	if err := how(st.Server.Context()); a.Yield() && err == nil {
		st.fleet.Ledger.Banked(st.Key, data, asked)
	}
}

// look reads a board as the server shows it.
func (st *Stay) look(a *Actor) {
	boards := st.fleet.Settings.Seasons.Boards
	on := boards[a.rng.below(len(boards))].Name
	_, err := st.Server.seasonal().Look(st.Server.Context(), on, st.Key)
	if a.Yield() && err == nil {
		st.fleet.Ledger.Met("season board read")
	}
}

// release has the player leave.
func (st *Stay) release(a *Actor) {
	asked := st.fleet.Steps()
	err := st.hold.Release(st.Server.Context())
	if !a.Yield() {
		return
	}
	st.fleet.say(st.Server.Process, "release of %s: %v", st.Key, err)
	if err == nil {
		st.fleet.Ledger.Banked(st.Key, st.hold.Data(), asked)
	}
	close(st.Over)
}

// startSeasons has the ledger judge the seasons of the fleet.
func (f *Fleet) startSeasons() {
	if f.Settings.Seasons == nil {
		return
	}
	f.Ledger.Compete(*f.Settings.Seasons,
		func() time.Time {
			now, _ := f.records[Durable].Now(context.Background())
			return now
		},
		func(name string) (store.BoardInfo, error) { return f.boards.Info(context.Background(), name) },
	)
}

// listen has the ledger hear what a server tells of its seasons.
func (f *Fleet) listen(s *Server) {
	if h := s.seasonal(); h != nil {
		h.Hear(ear{f.Ledger, s.Process})
	}
}

// ear is that of a game on one server.
type ear struct {
	ledger *Ledger
	p      *Process
}

// Told implements Ear.
func (e ear) Told(key string, titles []season.Title) { e.ledger.Told(e.p, key, titles) }

// Late implements Ear.
func (e ear) Late(r season.Refused) { e.ledger.Late(e.p, r) }

// Over implements Ear.
func (e ear) Over(c season.Closed, r *season.Result) { e.ledger.Over(e.p, c, r) }

// season is the one that it is, and for how long it still is.
func (f *Fleet) season() (k int64, left time.Duration) {
	r := &f.Ledger.mu.reef
	now := r.clock()
	k = r.calendar.at(now)
	return k, r.calendar.end(k).Sub(now)
}

// untilEnd waits until so long after the end of the running season, or before it.
func (f *Fleet) untilEnd(after time.Duration) {
	if _, left := f.season(); left+after > 0 {
		f.Script.Sleep(left + after)
	}
}

// crowd are the players of a scenario.
func crowd(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("a%d", i)
	}
	return slices.Clip(out)
}
