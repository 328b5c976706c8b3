package profile

import (
	"sync/atomic"
	"time"
)

// Stats counts what a set has done since its start.
type Stats struct {
	Sessions     int           // open now
	Loading      int           // loads running now
	Disowned     int           // tokens being got rid of now
	Loads        uint64        // sessions opened
	Created      uint64        // of these, new players
	Granted      uint64        // of these, handed over to this node
	Takeovers    uint64        // of these, taken over
	Recovered    uint64        // of these, with commits replayed from a journal
	LoadErrors   uint64        // loads that opened nothing
	Outbid       uint64        // of these, because a newer load went before
	Released     uint64        // sessions ended by the game or by Close
	HandedOver   uint64        // sessions handed over to another node
	Lost         uint64        // sessions taken by another node
	Left         uint64        // sessions that Close could not store
	Commits      uint64        // accepted transactions
	Refused      uint64        // refused transactions
	Saves        uint64        // writes of sessions that landed, final ones included
	Renewals     uint64        // of these, without new data
	SaveErrors   uint64        // writes that were refused or stayed unknown
	Conflicts    uint64        // writes that found another version
	Unknowns     uint64        // writes whose answer was lost
	OverSoft     uint64        // transactions that brought data over SoftBytes
	Reports      uint64        // complaints of reporting guards about accepted transactions
	OverHard     uint64        // saves that kept what was stored, because data was over HardBytes
	Appends      uint64        // journals written
	AppendErrors uint64        // journals that were refused or stayed unknown
	JournalOver  uint64        // journals over JournalBytes: the session saved instead
	Sealed       uint64        // journals found sealed by a load that was taking the session over
	Reaped       uint64        // journaled sessions of dead nodes that were saved and freed
	Exposed      int           // sessions now with commits that neither a save nor the journal holds
	ExposedFor   time.Duration // for how long the longest of them has been
	Asks         uint64        // asks left for other nodes
	Freed        uint64        // records freed that named a token without a session
	Quarantine   uint64        // values copied to quarantine
	MailHandled  uint64        // mail dealt with, refused included
	MailRefused  uint64        // of these, for good
	MailFailed   uint64        // attempts at mail that left it in its box
	Panics       uint64        // of hooks, listeners, validators, guards, reactions, derived fields, migrations and handlers of mail
	Stuck        uint64        // hooks that did not return in time
	Migrated     uint64        // sessions opened whose data was of an older form than is written
	Unlowered    uint64        // saves in the newest form, because data would not have survived WriteVersion
	Audited      uint64        // entries of the audit log that were made
	Versions     uint64        // states kept as versions
	Trimmed      uint64        // old rows of the audit log, and old versions, that were removed
	BesideOff    uint64        // sessions whose saves do without both, because the store refuses them
	ReleasedHeld uint64        // sessions of other nodes that an operator has ended here
	Erased       uint64        // profiles that were erased here
	Slow         uint64        // calls of listeners that took longer than ListenerTimeout
	Watches      int           // open now
	Resyncs      uint64        // watches whose reader was too slow, so that it got a new snapshot
}

// counters are the counting half of Stats.
type counters struct {
	loads, created, granted, takeovers, recovered, loadErrors, outbid   atomic.Uint64
	released, handedOver, lost, left                                    atomic.Uint64
	commits, refused, saves, renewals, saveErrors, conflicts, unknowns  atomic.Uint64
	appends, appendErrors, journalOver, sealed, reaped                  atomic.Uint64
	overSoft, overHard, reports, asks, freed, quarantine, panics, stuck atomic.Uint64

	mailHandled, mailRefused, mailFailed atomic.Uint64

	migrated, unlowered atomic.Uint64

	slow, resyncs atomic.Uint64

	audited, versions, trimmed, besideOff atomic.Uint64
	releasedHeld, erased                  atomic.Uint64
	watches                               atomic.Int64
}

// Stats is the present count. The numbers are read one after the other.
func (s *Set) Stats() Stats {
	c := &s.stats
	out := Stats{
		Loads: c.loads.Load(), Created: c.created.Load(), Granted: c.granted.Load(),
		Takeovers: c.takeovers.Load(), Recovered: c.recovered.Load(), LoadErrors: c.loadErrors.Load(),
		Outbid: c.outbid.Load(), Released: c.released.Load(), HandedOver: c.handedOver.Load(),
		Lost: c.lost.Load(), Left: c.left.Load(), Commits: c.commits.Load(), Refused: c.refused.Load(),
		Saves: c.saves.Load(), Renewals: c.renewals.Load(), SaveErrors: c.saveErrors.Load(),
		Conflicts: c.conflicts.Load(), Unknowns: c.unknowns.Load(), OverSoft: c.overSoft.Load(),
		Appends: c.appends.Load(), AppendErrors: c.appendErrors.Load(), JournalOver: c.journalOver.Load(),
		Sealed: c.sealed.Load(), Reaped: c.reaped.Load(),
		MailHandled: c.mailHandled.Load(), MailRefused: c.mailRefused.Load(), MailFailed: c.mailFailed.Load(),
		OverHard: c.overHard.Load(), Reports: c.reports.Load(), Asks: c.asks.Load(), Freed: c.freed.Load(),
		Quarantine: c.quarantine.Load(), Panics: c.panics.Load(), Stuck: c.stuck.Load(),
		Migrated: c.migrated.Load(), Unlowered: c.unlowered.Load(),
		ReleasedHeld: c.releasedHeld.Load(), Erased: c.erased.Load(), Audited: c.audited.Load(), Versions: c.versions.Load(), Trimmed: c.trimmed.Load(), BesideOff: c.besideOff.Load(),
		Slow: c.slow.Load(), Watches: int(c.watches.Load()), Resyncs: c.resyncs.Load(),
	}
	s.mu.Lock()
	for _, sl := range s.mu.slots {
		if sl.session != nil {
			out.Sessions++
		} else {
			out.Loading++
		}
	}
	out.Disowned = len(s.mu.disowned)
	s.mu.Unlock()
	out.Exposed, out.ExposedFor = s.exposed()
	return out
}

// exposed counts the sessions with commits that neither a save nor the journal holds.
func (s *Set) exposed() (n int, longest time.Duration) {
	now := s.clk.Now()
	for _, sess := range s.Sessions() {
		sess.mu.Lock()
		since := sess.mu.journal.since
		sess.mu.Unlock()
		if !since.IsZero() {
			n++
			longest = max(longest, now.Sub(since))
		}
	}
	return n, longest
}
