package sim

import (
	"context"
	"fmt"
	"time"
)

// This file holds those who claim: a platform that sells, players who give and trade, a studio
// that writes to its players, and its support. Each deed has an actor of its own, outside of
// all servers: it goes on when they crash.

// Bustle is how likely each of them has something to do, at each move of a soup.
type Bustle struct {
	Receipt, Gift, Letter, Trade, Edit float64
	Contest                            Contest
}

// busy is the usual bustle.
func busy() Bustle { return Bustle{Receipt: 0.5, Gift: 0.4, Letter: 0.2, Trade: 0.4, Edit: 0.2} }

// stir begins what there is to do.
func (f *Fleet) stir(b Bustle, keys []string) {
	if b == (Bustle{}) || f.servers[0].clearing() == nil {
		return
	}
	key, other := keys[f.rng.below(len(keys))], keys[f.rng.below(len(keys))]
	for _, do := range []struct {
		chance float64
		begin  func()
	}{
		{b.Receipt, func() { f.Buy(key, other) }},
		{b.Gift, func() { f.Give(key, other) }},
		{b.Letter, func() { f.Write(other) }},
		{b.Trade, f.Barter},
		{b.Edit, func() { f.Support(other) }},
	} {
		if f.rng.chance(do.chance) {
			do.begin()
		}
	}
	if f.Settings.Boards != nil {
		f.contend(b.Contest)
	}
}

// deed makes one, and tells the ledger.
func (f *Fleet) deed(kind string, fill func(d *Deed)) *Deed {
	f.deeds++
	d := &Deed{kind: kind, id: fmt.Sprintf("%d", f.deeds), hands: map[string]hand{}}
	fill(d)
	f.Ledger.Intended(d)
	return d
}

func (d *Deed) name() string { return d.word() + " " + d.id }

// open is the latest session of a key that takes part in anything; nil: there is none.
func (f *Fleet) open(key string, except *Visit) *Visit {
	for i := len(f.visits) - 1; i >= 0; i-- {
		if v := f.visits[i]; v.Key == key && v != except && v.playing() {
			return v
		}
	}
	return nil
}

// playing tells that the session is open as far as its server knows.
func (v *Visit) playing() bool {
	_, ok := v.Hold.(Claimant)
	return v.Open() && ok && v.Server.Up() && !isClosed(v.Over) && !isClosed(v.Hold.Done())
}

// attempt has a server try, and waits for the answer for a while. Of a server that is gone
// there is none, and nobody knows. It answers Unsure as well while it is under way.
func (f *Fleet) attempt(a *Actor, s *Server, d *Deed, key string, call func(ctx context.Context) Answer) Answer {
	f.Ledger.Tried(d)
	ctx, cancel := context.WithCancel(s.Context())
	done, answer := make(chan struct{}), Unsure
	go func() {
		defer cancel()
		got := call(ctx)
		if s.Gone() {
			got = Unsure
		}
		f.Ledger.Answered(d, key, got)
		answer = got
		close(done)
	}()
	f.say(s.Process, "%s is tried", d.name())
	a.Yield() // some answers come without a call
	if closed, _ := a.AwaitFor(time.Duration(1+a.rng.below(20))*time.Second, done); closed {
		f.say(s.Process, "%s: %v", d.name(), [...]string{"unknown", "done", "not done"}[answer])
		return answer
	}
	if a.rng.chance(0.5) {
		cancel()
	}
	return Unsure
}

// Buy has a player buy something: the platform delivers the receipt until it hears that it is
// granted, and now and then once more; to the server where the player is, to another one that
// believes so, to both, or for another player.
func (f *Fleet) Buy(key, other string) {
	d := f.deed(receiptEntry, func(d *Deed) {
		d.hands[key] = hand{entry: receiptEntry + d.id, coins: int64(10 + f.rng.below(90)), gets: []string{"r" + d.id}}
		if other != key && f.rng.chance(0.05) {
			d.hands[other] = hand{entry: receiptEntry + d.id, coins: 1, gets: []string{"x" + d.id}}
		}
	})
	f.Go(nil, d.name(), func(a *Actor) {
		for !f.quiet {
			to := key
			if len(d.hands) > 1 && a.rng.chance(0.5) {
				to = other
			}
			v := f.open(to, nil)
			if v == nil {
				a.Sleep(a.rng.within(Span{time.Second, 5 * time.Second}))
				continue
			}
			if w := f.open(to, v); w != nil && a.rng.chance(0.5) {
				f.Go(nil, d.name()+" at "+w.Server.Name+a.Now().String(), func(b *Actor) { f.deliver(b, w, d) })
			}
			if f.deliver(a, v, d) == Done && !a.rng.chance(0.4) {
				return
			}
			a.Sleep(a.rng.within(Span{0, 10 * time.Second}))
		}
	})
}

// deliver has a session grant a receipt.
func (f *Fleet) deliver(a *Actor, v *Visit, d *Deed) Answer {
	h, ok := v.Hold.(Claimant)
	if !ok {
		return Undone
	}
	return f.attempt(a, v.Server, d, v.Key, func(ctx context.Context) Answer {
		return h.Grant(ctx, d.id, d.hands[v.Key].ops()...)
	})
}

// Give has a player give something to another one, who is somewhere or nowhere. When nobody
// knows whether it was sent it is sent again, from the session that there is then.
func (f *Fleet) Give(from, to string) {
	v := f.open(from, nil)
	if v == nil || from == to {
		return
	}
	d := f.deed(giftEntry, func(d *Deed) {
		coins := int64(1 + f.rng.below(9))
		d.hands[from] = hand{entry: giftEntry + d.id, coins: -coins}
		d.to, d.letter = to, hand{entry: mailEntry + d.id, coins: coins}
		if items := holdingsOf(v.Hold.Data()).items; len(items) > 0 {
			item := items[f.rng.below(len(items))]
			mine := d.hands[from]
			mine.lets, d.letter.gets = []string{item}, []string{item}
			d.hands[from] = mine
		}
	})
	f.Go(nil, d.name(), func(a *Actor) {
		for tries := 0; tries < 10 && !f.quiet; tries++ {
			if v := f.open(from, nil); v != nil {
				answer := f.attempt(a, v.Server, d, from, func(ctx context.Context) Answer {
					h, _ := v.Hold.(Claimant)
					return h.Gift(ctx, d.mail(), d.hands[from].ops()...)
				})
				if answer != Unsure && !a.rng.chance(0.1) {
					return
				}
			}
			a.Sleep(a.rng.within(Span{0, 10 * time.Second}))
		}
	})
}

func (d *Deed) mail() Mail { return Mail{ID: d.id, To: d.to, Ops: d.letter.ops()} }

// Write has the studio write to a player, from any server, until it hears that it is sent.
func (f *Fleet) Write(to string) {
	d := f.deed(mailEntry, func(d *Deed) {
		d.to, d.letter = to, hand{entry: mailEntry + d.id, coins: int64(f.rng.below(20)), gets: []string{"m" + d.id}}
	})
	f.Go(nil, d.name(), func(a *Actor) {
		for !f.quiet {
			if s := f.anyServer(a); s != nil {
				answer := f.attempt(a, s, d, "", func(ctx context.Context) Answer { return s.clearing().Send(ctx, d.mail()) })
				if answer == Done && !a.rng.chance(0.3) {
					return
				}
			}
			a.Sleep(a.rng.within(Span{0, 10 * time.Second}))
		}
	})
}

// anyServer draws one that is up; nil: there is none.
func (f *Fleet) anyServer(a *Actor) *Server {
	var up []*Server
	for _, s := range f.servers {
		if s.Up() {
			up = append(up, s)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return up[a.rng.below(len(up))]
}

func (s *Server) clearing() Clearing {
	c, _ := s.Host.(Clearing)
	return c
}

// Barter has two or three players trade who are on one server: each gives the next one coins,
// and an item, if there is one. When nobody knows whether they have, they try again.
func (f *Fleet) Barter() {
	s, here := f.crowd()
	if len(here) < 2 {
		return
	}
	n := min(2+f.rng.below(2), len(here))
	first := f.rng.below(len(here))
	d := f.deed(tradeEntry, func(*Deed) {})
	sides, hands := make([]Side, n), make([]hand, n)
	for i := range hands {
		hands[i].entry = tradeEntry + d.id
	}
	for i := range hands {
		next, coins := &hands[(i+1)%n], int64(1+f.rng.below(5))
		v := here[(first+i)%len(here)]
		hands[i].coins -= coins
		next.coins += coins
		if items := holdingsOf(v.Hold.Data()).items; len(items) > 0 {
			item := items[f.rng.below(len(items))]
			hands[i].lets, next.gets = append(hands[i].lets, item), append(next.gets, item)
		}
	}
	for i, h := range hands {
		v := here[(first+i)%len(here)]
		d.hands[v.Key], sides[i] = h, Side{v.Hold, h.ops()}
	}
	f.Go(nil, d.name(), func(a *Actor) {
		for range 3 {
			answer := f.attempt(a, s, d, "", func(ctx context.Context) Answer { return s.clearing().Trade(ctx, d.id, sides...) })
			if answer != Unsure || !s.Up() {
				return
			}
			a.Sleep(a.rng.within(Span{0, 10 * time.Second}))
		}
	})
}

// crowd are the players of a server where there is more than one, if there is one.
func (f *Fleet) crowd() (*Server, []*Visit) {
	var crowds [][]*Visit
	for _, s := range f.servers {
		var here []*Visit
		for _, v := range f.visits {
			if v.Server == s && v.playing() {
				here = append(here, v)
			}
		}
		if len(here) > 1 {
			crowds = append(crowds, here)
		}
	}
	draw := f.rng.next()
	if len(crowds) == 0 {
		return nil, nil
	}
	here := crowds[draw%uint64(len(crowds))]
	return here[0].Server, here
}

// Support has an operator change a profile, which is open on the operator's server, on
// another one, or nowhere. When nobody knows whether it has, the operator asks again.
func (f *Fleet) Support(key string) {
	d := f.deed(editEntry, func(d *Deed) {
		d.hands[key] = hand{entry: editEntry + d.id, coins: int64(f.rng.below(20))}
	})
	f.Go(nil, d.name(), func(a *Actor) {
		for tries := 0; tries < 10 && !f.quiet; tries++ {
			if s := f.anyServer(a); s != nil {
				f.Ledger.Met("edit " + f.from(s, key))
				answer := f.attempt(a, s, d, "", func(ctx context.Context) Answer {
					return s.clearing().Edit(ctx, key, d.id, d.hands[key].ops()...)
				})
				if answer != Unsure {
					return
				}
			}
			a.Sleep(a.rng.within(Span{0, 10 * time.Second}))
		}
	})
}

// from is where a profile is open, as seen from a server.
func (f *Fleet) from(s *Server, key string) string {
	switch v := f.open(key, nil); {
	case v == nil:
		return "nowhere"
	case v.Server == s:
		return "here"
	}
	return "elsewhere"
}

// settle has the platform deliver what it has not heard of, to the sessions that there are
// after all faults, and waits until all mail is handled.
func (f *Fleet) settle(visits []*Visit) {
	for _, v := range visits {
		for _, d := range f.Ledger.unheard(v.Key) {
			if v.playing() && f.deliver(f.Script, v, d) != Done {
				f.Ledger.Violated("cannot be granted", fmt.Sprintf("receipt %s of %s, after the faults", d.id, v.Key))
			}
		}
	}
	for range 6 {
		if len(f.Ledger.waiting(15*time.Second)) == 0 {
			return
		}
		f.Script.Sleep(10 * time.Second)
	}
	for _, text := range f.Ledger.waiting(15 * time.Second) {
		f.Ledger.Violated("mail lost", text)
	}
}
