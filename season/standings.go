package season

// Standings are how a closed season stands: its result without those who were disqualified.
// They are a value computed from the result and its corrections; the result never changes.
type Standings struct {
	Result *Result
	// Corrections is how many corrections they take into account.
	Corrections int
	Boards      []BoardStandings // in the order of the result
}

// BoardStandings are how one board of a closed season stands.
type BoardStandings struct {
	Board, Title, Order string
	// Total is how many entries the sealed board had, disqualified ones included.
	Total int64
	// Missing tells that the season was closed without this board ([Service.CloseWithout]).
	Missing bool
	// Top hold titles; a place's rank is its position. When the reserve is used up, Top has
	// fewer places than the result.
	Top     []Placed
	Reserve []Placed
	// Disqualified are those who were taken out, with the rank that the result has for them.
	Disqualified []Placed

	place map[string]int // key → index in Top
}
