package server

import (
	"slices"

	"github.com/shoalworks/shoal/profile"
)

// setNumbers are those of a set of profiles, with the ways of loading that its Stats have
// only as a rest.
type setNumbers struct {
	profile.Stats

	free, takenOver uint64
}

func newSetNumbers(st profile.Stats, free, takenOver *rising) setNumbers {
	return setNumbers{
		Stats: st, free: free.from(st.Loads, st.Created, st.Granted, st.Takeovers),
		takenOver: takenOver.from(st.Takeovers, st.Recovered),
	}
}

// setSeries are the sets of profiles.
func (s *Server) setSeries() *series[setNumbers] {
	free, takenOver := make(map[string]*rising), make(map[string]*rising)
	for _, name := range s.setNames {
		free[name], takenOver[name] = new(rising), new(rising)
	}
	rows := slices.Concat(sessionRows(), loadRows(), endRows(), saveRows(), journalRows(), keepingRows(), mailRows(), careRows())
	return newSeries(rows, func(show func(setNumbers, ...string)) {
		for _, name := range s.setNames {
			show(newSetNumbers(s.sets[name].Stats(), free[name], takenOver[name]), name)
		}
	}, "set")
}

func sessionRows() []row[setNumbers] {
	return []row[setNumbers]{
		gauge("shoal_profile_sessions", "Sessions that are open on this node now.", func(s setNumbers) float64 { return float64(s.Sessions) }),
		gauge("shoal_profile_loads_running", "Loads that are under way now.", func(s setNumbers) float64 { return float64(s.Loading) }),
		gauge("shoal_profile_disowned_tokens", "Tokens of given-up loads whose claim may still land, and that this node is getting rid of now.", func(s setNumbers) float64 { return float64(s.Disowned) }),
		gauge("shoal_profile_exposed_sessions", "Sessions that have changes now which neither a save nor the journal holds: a crash would lose them.", func(s setNumbers) float64 { return float64(s.Exposed) }),
		gauge("shoal_profile_exposed_seconds", "For how long, in seconds, the longest exposed session has been exposed; 0 when none is. About JournalEvery when all is well.", func(s setNumbers) float64 { return seconds(s.ExposedFor) }),
	}
}

// keepingRows are what is kept of the past, and who follows the present.
func keepingRows() []row[setNumbers] {
	return []row[setNumbers]{
		counter("shoal_profile_audit_entries_total", "Entries of the audit log that were made.", func(s setNumbers) uint64 { return s.Audited }),
		counter("shoal_profile_versions_total", "States of profiles that were kept as versions.", func(s setNumbers) uint64 { return s.Versions }),
		counter("shoal_profile_trimmed_total", "Old rows of the audit log, and old versions, that were removed.", func(s setNumbers) uint64 { return s.Trimmed }),
		counter("shoal_profile_sessions_unlogged_total", "Sessions that are saved without audit log and versions, because the store refuses those.", func(s setNumbers) uint64 { return s.BesideOff }),
		gauge("shoal_profile_watches", "Watches of sessions that are open now.", func(s setNumbers) float64 { return float64(s.Watches) }),
		counter("shoal_profile_watch_resyncs_total", "Watches whose reader was too slow, so that it got a new snapshot in the place of commits.", func(s setNumbers) uint64 { return s.Resyncs }),
	}
}

func mailRows() []row[setNumbers] {
	return []row[setNumbers]{
		counter("shoal_profile_mail_handled_total", "Mail that was dealt with, refused mail included.", func(s setNumbers) uint64 { return s.MailHandled }),
		counter("shoal_profile_mail_refused_total", "Mail that was refused for good; it is among the handled.", func(s setNumbers) uint64 { return s.MailRefused }),
		counter("shoal_profile_mail_failures_total", "Attempts to deal with mail that left it in its box. It is tried again.", func(s setNumbers) uint64 { return s.MailFailed }),
	}
}

func loadRows() []row[setNumbers] {
	return append(parted("shoal_profile_loads_total", "Loads that opened a session, by how: created (a new player), free, granted (handed over to this node), takeover, recovered (a takeover that replayed a journal).", "how", []parting[setNumbers]{
		{"created", func(s setNumbers) uint64 { return s.Created }},
		{"free", func(s setNumbers) uint64 { return s.free }},
		{"granted", func(s setNumbers) uint64 { return s.Granted }},
		{"takeover", func(s setNumbers) uint64 { return s.takenOver }},
		{"recovered", func(s setNumbers) uint64 { return s.Recovered }},
	}),
		counter("shoal_profile_load_failures_total", "Loads that opened no session.", func(s setNumbers) uint64 { return s.LoadErrors }),
		counter("shoal_profile_loads_outbid_total", "Loads that opened no session because a newer load of the same profile went first; they are among the failures.", func(s setNumbers) uint64 { return s.Outbid }),
		counter("shoal_profile_asks_total", "Asks that this node's loads left for the nodes that held the profile.", func(s setNumbers) uint64 { return s.Asks }),
	)
}

func endRows() []row[setNumbers] {
	return append(parted("shoal_profile_sessions_ended_total", "Sessions that ended, by how: released (by the game or at the node's end), handed_over (to a node that asked), lost (another node has taken it).", "how", []parting[setNumbers]{
		{"released", func(s setNumbers) uint64 { return s.Released }},
		{"handed_over", func(s setNumbers) uint64 { return s.HandedOver }},
		{"lost", func(s setNumbers) uint64 { return s.Lost }},
	}),
		counter("shoal_profile_sessions_left_total", "Sessions that could not be stored before the node ended; they are among the released.", func(s setNumbers) uint64 { return s.Left }),
	)
}

func saveRows() []row[setNumbers] {
	return []row[setNumbers]{
		counter("shoal_profile_commits_total", "Transactions that were accepted.", func(s setNumbers) uint64 { return s.Commits }),
		counter("shoal_profile_commits_refused_total", "Transactions that were refused; nothing changed.", func(s setNumbers) uint64 { return s.Refused }),
		counter("shoal_profile_saves_total", "Saves that landed in the durable store, final ones included.", func(s setNumbers) uint64 { return s.Saves }),
		counter("shoal_profile_saves_renewing_total", "Saves that landed and had no new data, only to renew the session; they are among the saves.", func(s setNumbers) uint64 { return s.Renewals }),
		counter("shoal_profile_save_failures_total", "Saves that were refused by the store, or whose outcome stayed unknown. Each is tried again.", func(s setNumbers) uint64 { return s.SaveErrors }),
		counter("shoal_profile_write_conflicts_total", "Writes of records that found another version than the one they expected.", func(s setNumbers) uint64 { return s.Conflicts }),
		counter("shoal_profile_write_unknowns_total", "Writes of records whose answer was lost; a read decides what became of them.", func(s setNumbers) uint64 { return s.Unknowns }),
		counter("shoal_profile_reports_total", "Complaints of reporting guards about transactions that were accepted.", func(s setNumbers) uint64 { return s.Reports }),
		counter("shoal_profile_over_soft_limit_total", "Transactions that brought a profile over the size from which growing is reported (SoftBytes).", func(s setNumbers) uint64 { return s.OverSoft }),
		counter("shoal_profile_over_hard_limit_total", "Saves that kept what was stored, because the profile was over its largest size (HardBytes).", func(s setNumbers) uint64 { return s.OverHard }),
	}
}

func journalRows() []row[setNumbers] {
	return []row[setNumbers]{
		counter("shoal_profile_appends_total", "Journals that were written to the fast store.", func(s setNumbers) uint64 { return s.Appends }),
		counter("shoal_profile_append_failures_total", "Journals that were refused by the store, or whose outcome stayed unknown. After two in a row the session is saved instead.", func(s setNumbers) uint64 { return s.AppendErrors }),
		counter("shoal_profile_journals_too_large_total", "Journals that would have been larger than JournalBytes; the session was saved instead.", func(s setNumbers) uint64 { return s.JournalOver }),
		counter("shoal_profile_journals_sealed_total", "Journals of this node's sessions that were found sealed by a load that was taking the session over.", func(s setNumbers) uint64 { return s.Sealed }),
		counter("shoal_profile_reaped_total", "Journaled sessions of dead nodes that this node saved and freed.", func(s setNumbers) uint64 { return s.Reaped }),
	}
}

func careRows() []row[setNumbers] {
	return []row[setNumbers]{
		counter("shoal_profile_sessions_released_elsewhere_total", "Sessions of other nodes that an operator has ended from here.", func(s setNumbers) uint64 { return s.ReleasedHeld }),
		counter("shoal_profile_erased_total", "Profiles that were erased here.", func(s setNumbers) uint64 { return s.Erased }),
		counter("shoal_profile_freed_total", "Records that named a token without a session and were freed.", func(s setNumbers) uint64 { return s.Freed }),
		counter("shoal_profile_quarantined_total", "Stored values that were no profile, or no journal that fits, and were copied to quarantine.", func(s setNumbers) uint64 { return s.Quarantine }),
		counter("shoal_profile_panics_total", "Panics of the game's own functions: hooks, listeners, validators, guards, reactions, derived fields, migrations and handlers of mail.", func(s setNumbers) uint64 { return s.Panics }),
		counter("shoal_profile_stuck_hooks_total", "Hooks of the game that did not return in time.", func(s setNumbers) uint64 { return s.Stuck }),
		counter("shoal_profile_slow_listeners_total", "Calls of the game's listeners that took longer than ListenerTimeout.", func(s setNumbers) uint64 { return s.Slow }),
		counter("shoal_profile_migrated_total", "Sessions opened whose data was of an older form than is written.", func(s setNumbers) uint64 { return s.Migrated }),
		counter("shoal_profile_unlowered_total", "Saves in the newest form of data, because it would not have survived the older one that is to be written.", func(s setNumbers) uint64 { return s.Unlowered }),
	}
}
