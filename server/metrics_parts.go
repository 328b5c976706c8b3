package server

import (
	"github.com/shoalworks/shoal/store"
)

// partSeries are the parts of the store.
func (s *Server) partSeries() *series[storePart] {
	rows := []row[storePart]{
		gauge("shoal_store_part_up", "1 while this part of the store answers the daemon, which asks every 5 seconds; 0 while it does not. Parts: durable (profiles, results), fast (heartbeats, notes, journals; absent when the durable part plays it), boards, bus.", func(p storePart) float64 { return flag(p.up()) }),
		gauge("shoal_store_part_seconds", "How long the last question to this part took to be answered, in seconds; of one that was not answered, how long was waited.", func(p storePart) float64 { return seconds(p.took) }),
		gauge("shoal_store_part_since_seconds", "For how long this part has been answering, or not answering, in seconds.", func(p storePart) float64 { return seconds(s.clock.Now().Sub(p.since)) }),
		counter("shoal_store_part_failures_total", "Questions to this part that were not answered within 2 seconds, or with an error.", func(p storePart) uint64 { return p.failures }),
	}
	return newSeries(rows, func(show func(storePart, ...string)) {
		for _, p := range s.parts.all() {
			show(p, string(p.role))
		}
	}, "part")
}

// partWords say what is not to be had while a part does not answer.
func partWords(role store.Role) string {
	switch role {
	case store.RoleDurable:
		return "nothing is saved; what is played is kept in the journal"
	case store.RoleFast:
		return "open sessions go on and are saved more often; takeovers wait"
	case store.RoleBoards:
		return "scores wait in memory"
	case store.RoleBus:
		return "hand-overs take longer"
	}
	return ""
}
