// Package shoal keeps what players own and where they stand, for games that run on many
// servers and have no coordinator.
//
// It is the facade over three pillars, each usable alone: profiles (package profile), boards
// (package board) and seasons (package season). [Open] opens the store that the fleet shares,
// [Start] makes this process a node of the fleet and wires the pillars together: a loaded
// player gets the titles of closed seasons, a leaving one has its last values written.
//
//	st, err := shoal.Open(ctx, "./game")
//	…
//	node, err := shoal.Start(ctx, st, &shoal.Options{
//		Sets:    map[string]*profile.Options{"players": nil},
//		Boards:  map[string]board.Config{"Kills": {}},
//		Seasons: map[string]shoal.Season{"reef": {Set: "players", Rules: season.Reef()}},
//	})
//	…
//	session, err := node.Set("players").Load(ctx, "u_42", nil)
//
// # Guarantees
//
// One node at a time writes a profile. What Save acknowledged is in every later load. A title
// is granted once. See the packages for the exact words.
//
// # Concurrency
//
// A [Node] is safe for use from many goroutines. Close it before its store.
//
// # Errors
//
// Errors are those of the packages below, wrapped with what was being done.
package shoal
