package season

// The keys of a season set: records in the durable store, and boards. An id never is "first",
// "closed", "corrected" or "erasing", because ids begin with a capital C.

func firstKey(set string) string           { return "season/" + set + "/first" }
func closedKey(set string) string          { return "season/" + set + "/closed" }
func correctedKey(set string) string       { return "season/" + set + "/corrected" }
func erasingKey(set string) string         { return "season/" + set + "/erasing" }
func registerKey(set, id string) string    { return "season/" + set + "/" + id + "/boards" }
func resultKey(set, id string) string      { return "season/" + set + "/" + id + "/result" }
func closeKey(set, id string) string       { return "season/" + set + "/" + id + "/close" }
func correctionsKey(set, id string) string { return "season/" + set + "/" + id + "/corrections" }

// BoardKey is the name of a season's board in the board store: season/<set>/<board>/<id>.
func BoardKey(set, board, id string) string { return "season/" + set + "/" + board + "/" + id }
