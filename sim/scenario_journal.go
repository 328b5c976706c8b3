package sim

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/store"
)

// This file holds the scenarios of the journal: it is sealed under a holder who lives, its
// sealer dies, the fast store forgets or goes back between the seal and the claim, it cannot
// be written, or is too large.

// syncing is a player whose game wants most steps to be safe.
func syncing() Plan { return Plan{Sync: 0.4, Save: 0.02} }

// robbed has a player play on A, and brings about that B takes the session over: A is deaf to
// asks, but lives, or is paused, or has crashed. It answers the servers, A and B among them.
func (f *Fleet) robbed(key string, servers int) (s []*Server, newcomer *Visit) {
	s = f.Servers(servers)
	f.Join(s[0], key, syncing()).AwaitOpen()
	f.sleep(10*time.Second, 40*time.Second)
	switch f.rng.below(4) {
	case 0:
		f.pauseFor(s[0], 40*time.Second)
	case 1:
		f.Crash(s[0])
	default:
		f.Script.Do(func() {
			s[0].Mute = []string{notePrefix}
			s[0].Cut[Bus] = true
		})
	}
	f.sleep(0, 2*time.Second)
	return s, f.Join(s[1], key, syncing())
}

// onceSealed has something happen soon after the first seal.
func (f *Fleet) onceSealed(within time.Duration, do func(p *Process, key string)) {
	done := false
	f.Ledger.onSeal = func(p *Process, key string) {
		if done {
			return
		}
		done = true
		f.schedule(f.now()+f.between(0, within), nil, f.rng.next(), func() bool {
			do(p, key)
			return false
		})
	}
}

// sealedHolder: a journal is sealed, and its sealer stops for a while before it claims. A
// holder who lives finds the seal, saves, and lets go.
func sealedHolder(f *Fleet) {
	f.onceSealed(0, func(p *Process, _ string) {
		f.Ledger.Met("pause")
		f.halt(p, f.between(0, 20*time.Second))
	})
	_, v := f.robbed(f.Key(), 2)
	v.AwaitOpen()
	f.Script.Sleep(50 * time.Second)
	depart(v)
}

// sealerCrashes: the one who has sealed the journal dies before it claims, or while it does.
func sealerCrashes(f *Fleet) {
	var s []*Server
	f.onceSealed(300*time.Millisecond, func(p *Process, _ string) {
		p.Crash()
		for _, server := range s {
			if server.Process == p {
				f.drop(server)
			}
		}
		f.Ledger.Met("sealer crashed")
	})
	key := f.Key()
	s, _ = f.robbed(key, 3)
	f.sleep(20*time.Second, 40*time.Second)
	v := f.Join(s[2], key, syncing())
	v.AwaitOpen()
	f.sleep(10*time.Second, 30*time.Second)
	depart(v)
}

// memoryLossSealed: the fast store forgets everything between the seal and the claim.
func memoryLossSealed(f *Fleet) {
	f.onceSealed(300*time.Millisecond, func(*Process, string) { f.forget() })
	_, v := f.robbed(f.Key(), 2)
	v.AwaitOpen()
	f.Script.Sleep(50 * time.Second)
	depart(v)
}

// oldJournal: between the seal and the claim the fast store goes back to an older journal, as
// after a failover to a replica that was behind. What is acknowledged on it then may be lost:
// a declared double fault.
func oldJournal(f *Fleet) {
	f.onceSealed(300*time.Millisecond, func(_ *Process, key string) { f.restore(key, 1+f.rng.below(3)) })
	_, v := f.robbed(f.Key(), 2)
	v.AwaitOpen()
	f.Script.Sleep(50 * time.Second)
	depart(v)
}

// restore puts the journal back that stood there some writes ago, with its version.
func (f *Fleet) restore(key string, ago int) {
	old, ok := f.Ledger.pastJournal(key, ago)
	if !ok {
		return
	}
	f.say(nil, "the journal of %s goes back by %d", key, ago)
	at := journalPrefix + key
	tx := store.Tx{{Key: at, Op: store.Put, Value: old.value, If: store.Any(), Version: old.version}}
	if err := f.records[f.part(Fast)].Commit(context.Background(), tx)[0]; err != nil {
		f.Ledger.Violated("restore", err.Error())
		return
	}
	f.Ledger.Reverted(key, old.value)
}

// journalDown: no journal can be written, and everything else works. Games that want a step
// to be safe get it saved; and what nobody asked for is saved now and then.
func journalDown(f *Fleet) {
	s := f.Servers(2)
	keys := []string{f.Key(), f.Key(), f.Key()}
	plans := []Plan{syncing(), sometimes(), {}}
	for i, key := range keys {
		f.Join(s[0], key, plans[i]).AwaitOpen()
	}
	f.sleep(5*time.Second, 20*time.Second)
	f.shutFor(f.between(40*time.Second, 90*time.Second), journalPrefix)
	f.sleep(30*time.Second, 100*time.Second)
	if f.rng.chance(0.7) {
		f.Crash(s[0])
	}
	for i, key := range keys {
		f.Join(s[1], key, plans[i]).AwaitOpen()
	}
	f.sleep(20*time.Second, 60*time.Second)
}

// shutFor keeps everybody from keys with a prefix for a while; the script goes on.
func (f *Fleet) shutFor(lasts time.Duration, prefix string) {
	f.Script.Do(func() {
		f.say(nil, "%s cannot be reached for %v", prefix, lasts)
		f.Shut = []string{prefix}
		f.schedule(f.now()+lasts, nil, uint64(lasts), func() bool {
			f.Shut = nil
			return false
		})
	})
}

// largeJournal: what has changed since the last save is often more than a journal takes.
func largeJournal(f *Fleet) { crashWith(f, Plan{Sync: 0.2, Save: 0.02}) }

func smallJournals(s *Settings) { s.JournalBytes = 300 }
