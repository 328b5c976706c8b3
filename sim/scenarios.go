package sim

import "time"

// Scenarios are all of them, in the order of the table.
func Scenarios() []*Scenario {
	return []*Scenario{
		{Name: "rejoin", Play: rejoin, Sound: true, Safe: journaled},
		{Name: "handoff", Play: handoff, Sound: true, Safe: journaled},
		{Name: "crash", Play: crash, Sound: true, Safe: journaled},
		{Name: "crashSynced", Play: crashSynced, Sound: true, Safe: journaled},
		{Name: "partitioned", Play: partitioned, Sound: true, Safe: journaled},
		{Name: "thirdRequester", Play: thirdRequester, Sound: true, Safe: journaled},
		{Name: "shutdown", Play: shutdownAll, Weather: slowly, Sound: true},
		{Name: "outage", Play: outage, Sound: true},
		{Name: "poison", Play: poison, Sound: true, Safe: journaled},
		{Name: "soup", Play: soup, Settings: everything, Sound: true, Safe: journaled},
		{Name: "overload", Play: overload, Settings: tight, Sound: true, Few: true},
		{Name: "leanAnswers", Play: leanAnswers, Settings: meagre, Weather: losing, Sound: true},
		{Name: "cost", Play: cost, Sound: true, Few: true, Safe: journaled},
		{Name: "costIdle", Play: costIdle, Sound: true, Few: true},
		{Name: "pausedHolder", Play: pausedHolder, Learn: 4 * time.Second},
		{Name: "lostAnswers", Play: lostAnswers, Weather: losing, Sound: true, Safe: 2 * journaled},
		{Name: "memoryLoss", Play: memoryLoss, Sound: true, Safe: 2 * journaled},
		{Name: "skewedClocks", Play: skewedClocks, Sound: true, Safe: journaled},
		{Name: "clockStep", Play: clockStep, Sound: true, Safe: journaled},
		{Name: "fastOutage", Play: fastOutage, Sound: true},
		{Name: "flapping", Play: flapping, Sound: true, Safe: journaled},
		{Name: "sameName", Play: sameName, Sound: true, Safe: journaled},
		{Name: "mixedReleases", Play: mixedReleases, Sound: true, Safe: journaled},
		{Name: "idleStolen", Play: idleStolen, Learn: 4 * time.Second},
		{Name: "sealedHolder", Play: sealedHolder},
		{Name: "sealerCrashes", Play: sealerCrashes},
		{Name: "memoryLossSealed", Play: memoryLossSealed},
		{Name: "oldJournal", Play: oldJournal},
		{Name: "journalDown", Play: journalDown, Sound: true, Safe: 35 * time.Second},
		{Name: "largeJournal", Play: largeJournal, Settings: smallJournals, Sound: true, Safe: journaled},
		{Name: "claimsSynced", Play: claimsSynced, Settings: versioned, Sound: true},
		{Name: "claimsLost", Play: claimsLost, Settings: versioned, Weather: unreliable},
		{Name: "boardsCalm", Play: boardsCalm, Settings: ranked, Sound: true},
		{Name: "boardsFaults", Play: boardsFaults, Settings: ranked, Weather: roughBoards},
		{Name: "boardsCrash", Play: boardsCrash, Settings: ranked, Weather: roughBoards, Sound: true},
		{Name: "boardsForget", Play: boardsForget, Settings: ranked, Weather: roughBoards},
		{Name: "boardsSealed", Play: boardsSealed, Settings: ranked, Weather: roughBoards, Sound: true},
		{Name: "seasonsSkewed", Play: seasonsSkewed, Settings: competing, Sound: true},
		{Name: "seasonsLastSecond", Play: seasonsLastSecond, Settings: competing, Sound: true},
		{Name: "seasonsClosers", Play: seasonsClosers, Settings: competing, Sound: true, Few: true},
		{Name: "seasonsFast", Play: seasonsFast, Settings: competing, Sound: true},
		{Name: "seasonsBlind", Play: seasonsBlind, Settings: competing, Sound: true},
		{Name: "seasonsForgotten", Play: seasonsForgotten, Settings: competing, Sound: true},
		{Name: "seasonsLost", Play: seasonsLost, Settings: competing, Weather: lossy},
		{Name: "seasonsDown", Play: seasonsDown, Settings: competing, Sound: true},
		{Name: "seasonsPaused", Play: seasonsPaused, Settings: competing},
		{Name: "seasonsAway", Play: seasonsAway, Settings: competing, Sound: true, Few: true},
		Lean(false),
		{Name: "seasonsSoup", Play: seasonsSoup, Settings: competing, Weather: roughBoards},
		{Name: "storm", Play: storm, Weather: stormy},
	}
}

// journaled is for how long a step may be in the memory of its server only: JournalEvery, a
// quarter of it until the journaler looks, a call that is under way, the append, and the save
// that follows the first one.
const journaled = 3500 * time.Millisecond
