package sim

import "context"

// claim does something that must happen exactly once. The same id again is the same deed.
func (s *stage) claim(verb string, server *Server, args []string) {
	id := args[len(args)-1]
	d := s.claims[id]
	if d == nil {
		d = staged(verb, id, args)
		s.claims[id] = d
		s.Ledger.Intended(d)
	}
	s.Ledger.Tried(d)
	answer := s.attempted(verb, server, d, args)
	if server.Gone() {
		answer = Unsure
	}
	s.Ledger.Answered(d, "", answer)
	s.scribe.say(server.Process, "%s %s: %s", verb, id, [...]string{"nobody knows", "done", "not done"}[answer])
}

// staged is the deed of a line.
func staged(verb, id string, args []string) *Deed {
	d := &Deed{id: id, hands: map[string]hand{}}
	switch key := args[0]; verb {
	case "buy":
		d.kind = receiptEntry
		d.hands[key] = hand{entry: receiptEntry + id, coins: 10, gets: []string{id}}
	case "gift":
		d.kind, d.to, d.letter = giftEntry, args[1], hand{entry: mailEntry + id, coins: 1}
		d.hands[key] = hand{entry: giftEntry + id, coins: -1}
	case "letter":
		d.kind, d.to, d.letter = mailEntry, key, hand{entry: mailEntry + id, coins: 1}
	case "trade":
		d.kind = tradeEntry
		d.hands[key] = hand{entry: tradeEntry + id, coins: -1}
		d.hands[args[1]] = hand{entry: tradeEntry + id, coins: 1}
	case "edit":
		d.kind = editEntry
		d.hands[key] = hand{entry: editEntry + id, coins: 1}
	}
	return d
}

func (s *stage) attempted(verb string, server *Server, d *Deed, args []string) Answer {
	hold := func(key string) Claimant {
		h, _ := s.holds[server.Name+" "+key].(Claimant)
		return h
	}
	ctx, key := context.WithoutCancel(server.Context()), args[0]
	switch verb {
	case "buy":
		return hold(key).Grant(ctx, d.id, d.hands[key].ops()...)
	case "gift":
		return hold(key).Gift(ctx, d.mail(), d.hands[key].ops()...)
	case "letter":
		return server.clearing().Send(ctx, d.mail())
	case "trade":
		return server.clearing().Trade(ctx, d.id, Side{hold(key), d.hands[key].ops()}, Side{hold(args[1]), d.hands[args[1]].ops()})
	}
	return server.clearing().Edit(ctx, key, d.id, d.hands[key].ops()...)
}
