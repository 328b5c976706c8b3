package sim

// Rivals are libraries written here from the published rules of others.
func Rivals() []Library { return nil }
