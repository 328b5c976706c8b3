package sim

import "time"

// Scenarios are all of them, in the order of the table.
func Scenarios() []*Scenario {
	return []*Scenario{
		{Name: "rejoin", Play: rejoin, Sound: true},
		{Name: "handoff", Play: handoff, Sound: true},
		{Name: "crash", Play: crash, Sound: true},
		{Name: "crashSynced", Play: crashSynced, Sound: true},
		{Name: "partitioned", Play: partitioned, Sound: true},
		{Name: "thirdRequester", Play: thirdRequester, Sound: true},
		{Name: "shutdown", Play: shutdownAll, Weather: slowly, Sound: true},
		{Name: "outage", Play: outage, Sound: true},
		{Name: "poison", Play: poison, Sound: true},
		{Name: "soup", Play: soup, Sound: true},
		{Name: "overload", Play: overload, Settings: tight, Sound: true, Few: true},
		{Name: "leanAnswers", Play: leanAnswers, Settings: meagre, Weather: losing, Sound: true},
		{Name: "cost", Play: cost, Sound: true, Few: true},
		{Name: "costIdle", Play: costIdle, Sound: true, Few: true},
		{Name: "pausedHolder", Play: pausedHolder, Learn: 4 * time.Second},
		{Name: "lostAnswers", Play: lostAnswers, Weather: losing, Sound: true},
		{Name: "memoryLoss", Play: memoryLoss, Sound: true},
		{Name: "skewedClocks", Play: skewedClocks, Sound: true},
		{Name: "clockStep", Play: clockStep, Sound: true},
		{Name: "fastOutage", Play: fastOutage, Sound: true},
		{Name: "flapping", Play: flapping, Sound: true},
		{Name: "sameName", Play: sameName, Sound: true},
		{Name: "mixedReleases", Play: mixedReleases, Sound: true},
		{Name: "idleStolen", Play: idleStolen, Learn: 4 * time.Second},
		{Name: "sealedHolder", Play: sealedHolder},
		{Name: "sealerCrashes", Play: sealerCrashes},
		{Name: "memoryLossSealed", Play: memoryLossSealed},
		{Name: "oldJournal", Play: oldJournal},
		{Name: "journalDown", Play: journalDown, Sound: true},
		{Name: "largeJournal", Play: largeJournal, Settings: smallJournals, Sound: true},
		{Name: "storm", Play: storm, Weather: stormy},
	}
}
