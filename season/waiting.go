package season

// WaitingError is why a season that is due could not be closed. What [Service.CloseDue] answers
// joins one for each.
type WaitingError struct {
	K      int64
	Season string // its id
	Err    error  // why
}

// Error names the season and the reason.
func (e *WaitingError) Error() string { return "season: close " + e.Season + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *WaitingError) Unwrap() error { return e.Err }
