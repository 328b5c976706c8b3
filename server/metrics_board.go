package server

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/board"
)

// maxShownBoards is how many boards have series of their own. The boards of the configuration
// come first, then those of seasons, each in the order of their names.
const maxShownBoards = 200

// boardSeries are single boards.
func (s *Server) boardSeries() *series[board.Counts] {
	rows := []row[board.Counts]{
		counter("shoal_board_submitted_total", "Scores that were accepted into the queue.", func(n board.Counts) uint64 { return n.Submitted }),
		counter("shoal_board_written_total", "Values that the store has acknowledged; several submits of one key may make one value.", func(n board.Counts) uint64 { return n.Written }),
		counter("shoal_board_write_failures_total", "Values that failed to be written, counted at each attempt. Each is tried again.", func(n board.Counts) uint64 { return n.Failed }),
		counter("shoal_board_dropped_total", "Values that were given up after too many attempts (MaxWriteAttempts): these scores are lost.", func(n board.Counts) uint64 { return n.Dropped }),
		counter("shoal_board_refused_total", "Submits that were refused, and values that the store will never take.", func(n board.Counts) uint64 { return n.Refused }),
		counter("shoal_board_removed_total", "Values that a removal took out of the queue.", func(n board.Counts) uint64 { return n.Removed }),
		gauge("shoal_board_queued_values", "Values that wait to be written now.", func(n board.Counts) float64 { return float64(n.Queued) }),
		gauge("shoal_board_writing_values", "Values that are being written now, or whose outcome is not known yet.", func(n board.Counts) float64 { return float64(n.InFlight) }),
		gauge("shoal_board_oldest_value_seconds", "Age, in seconds, of the oldest value that waits or is being written, give or take a flush window; 0 when there is none.", func(n board.Counts) float64 { return seconds(n.Oldest) }),
	}
	return newSeries(rows, func(show func(board.Counts, ...string)) {
		counts := s.boards.Stats().Boards
		for _, name := range shownBoards(slices.Collect(maps.Keys(counts))) {
			show(counts[name], name)
		}
	}, "board")
}

// shownBoards are the boards that have series of their own.
func shownBoards(names []string) []string {
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(flag(strings.HasPrefix(a, seasonBoards)), flag(strings.HasPrefix(b, seasonBoards))), cmp.Compare(a, b))
	})
	return names[:min(len(names), maxShownBoards)]
}

// boardsSeries are all boards together. There are no sums of counters: a board that is
// forgotten would take its share away again.
func (s *Server) boardsSeries() *series[board.Stats] {
	rows := []row[board.Stats]{
		gauge("shoal_boards", "Boards that this node has now.", func(n board.Stats) float64 { return float64(len(n.Boards)) }),
		gauge("shoal_boards_hidden", "Boards that have no series of their own, because only the first 200 have.", func(n board.Stats) float64 { return float64(max(0, len(n.Boards)-maxShownBoards)) }),
		gauge("shoal_boards_queued_values", "Values of all boards, hidden ones included, that wait to be written now.", func(n board.Stats) float64 { return float64(n.Total.Queued) }),
		gauge("shoal_boards_oldest_value_seconds", "Age, in seconds, of the oldest value of all boards, hidden ones included, that waits or is being written; 0 when there is none.", func(n board.Stats) float64 { return seconds(n.Total.Oldest) }),
		counter("shoal_boards_stray_submits_total", "Submits that were refused because there is no such board.", strays),
	}
	return newSeries(rows, func(show func(board.Stats, ...string)) { show(s.boards.Stats()) })
}

// strays are the refused submits that no board counts. The total is the sum of the same
// numbers, so that the rest is exact.
func strays(n board.Stats) uint64 {
	left := n.Total.Refused
	for _, b := range n.Boards {
		left -= b.Refused
	}
	return left
}

// moderationSeries is what this node knows and has done of bans and hides.
func (s *Server) moderationSeries() *series[board.ModerationStats] {
	rows := []row[board.ModerationStats]{
		gauge("shoal_board_bans", "Banned keys that this node knows of now.", func(n board.ModerationStats) float64 { return float64(n.Bans) }),
		gauge("shoal_board_moderation_marks", "Bans and hides of the fleet that are younger than ten minutes, or that not all boards follow yet.", func(n board.ModerationStats) float64 { return float64(n.Marks) }),
		counter("shoal_board_banned_submits_total", "Submits for banned keys, which were refused.", func(n board.ModerationStats) uint64 { return n.Refused }),
		counter("shoal_board_banned_values_total", "Values that waited to be written when their key was banned, and were taken out.", func(n board.ModerationStats) uint64 { return n.Purged }),
		counter("shoal_board_audit_entries_total", "Entries that this node has written to the audit log of boards.", func(n board.ModerationStats) uint64 { return n.Audited }),
		counter("shoal_board_moderation_looks_total", "How often this node has looked for bans and hides of others.", func(n board.ModerationStats) uint64 { return n.Looks }),
		counter("shoal_board_moderation_look_failures_total", "How many of these looks failed. While they do, a new ban reaches this node's queue late; the stored boards hide the key all the same.", func(n board.ModerationStats) uint64 { return n.Failed }),
	}
	return newSeries(rows, func(show func(board.ModerationStats, ...string)) { show(s.boards.Moderation()) })
}
