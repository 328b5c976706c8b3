package chaos

import (
	"slices"
	"time"
)

// claim is something that is to happen once: a receipt, a mail, a trade. The two players of a
// trade share one.
type claim struct {
	mail    bool
	acked   bool             // promised to be there, or to come if it is a mail
	seen    bool             // was found in a load, and was stored then
	refused bool             // promised never to be there
	since   time.Duration    // when the first of acked and seen was noted
	coins   map[string]int64 // what a trade moves, by player; nil: it is none
}

// demanded tells whether a claim must be found by a load that was asked for at a time.
func (c *claim) demanded(asked time.Duration) bool {
	return (c.acked || c.seen) && !c.mail && c.since <= asked
}

// note notes that a claim is demanded from now on.
func (c *claim) note(now time.Duration) {
	if !c.acked && !c.seen {
		c.since = now
	}
}

// Dealing notes that a trade is about to be asked for.
func (l *Ledger) Dealing(id, from, to string, coins int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &claim{coins: map[string]int64{from: -coins, to: coins}}
	l.accountLocked(from).claims[id], l.accountLocked(to).claims[id] = c, c
}

// Dealt notes that a trade, of which key is a party, was acknowledged.
func (l *Ledger) Dealt(id, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.accountLocked(key).claims[id]
	if !c.acked {
		c.note(l.now())
		c.acked = true
		l.mu.tally.Trades++
	}
}

// Refused notes that a trade was refused for certain, at the first time it was asked for.
func (l *Ledger) Refused(id, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.accountLocked(key).claims[id]
	c.refused = true
	if c.seen {
		l.violateLocked(key, "%s was refused, and has been seen", id)
	}
}

// claimsLocked checks what was claimed against what is found. Mail may have had its effect in
// memory, and have it anew after a crash; what an open session tells is not stored yet either.
func (l *Ledger) claimsLocked(key string, a *account, f Found) {
	coins := int64(0)
	for id, times := range f.Got {
		c := a.claims[id]
		switch {
		case c == nil:
			l.violateLocked(key, "%s was found and never sent", id)
			continue
		case c.refused:
			l.violateLocked(key, "%s was refused, and is in epoch %d", id, f.Epoch)
		case times != 1:
			l.violateLocked(key, "%s has had its effect %d times", id, times)
		}
		coins += c.coins[key]
		if !f.Live && !c.mail {
			c.note(l.now())
			c.seen = true
		}
	}
	for id, c := range a.claims {
		if _, ok := f.Got[id]; !ok && c.demanded(f.Asked) {
			l.violateLocked(key, "%s was acknowledged or seen, and is not in epoch %d", id, f.Epoch)
		}
	}
	if coins != f.Coins {
		l.violateLocked(key, "epoch %d has %d coins, and %d by its trades", f.Epoch, f.Coins, coins)
	}
}

// Claiming notes that something is about to be sent that is to happen once.
func (l *Ledger) Claiming(key, id string, mail bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accountLocked(key)
	if a.claims[id] == nil {
		a.claims[id] = &claim{mail: mail}
	}
}

// Claimed notes that it was acknowledged.
func (l *Ledger) Claimed(key, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.accountLocked(key).claims[id]
	if c.acked {
		return
	}
	c.note(l.now())
	c.acked = true
	if c.mail {
		l.mu.tally.Mails++
	} else {
		l.mu.tally.Receipts++
	}
}

// Waiting are the mails of a player that were acknowledged and are not in what was found.
func (l *Ledger) Waiting(key string, f Found) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for id, c := range l.accountLocked(key).claims {
		if _, ok := f.Got[id]; !ok && c.acked {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
