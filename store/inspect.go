package store

import "context"

// Inspector is what a driver's parts (Records, Boards, Bus) may offer beside their contract: a
// look at the engine behind them, for operators.
type Inspector interface {
	// Inspect asks the engine what it is and how it is set. An engine that does not answer is an
	// error; a setting that endangers data is a Problem of the answer.
	Inspect(ctx context.Context) (Inspection, error)
}

// Inspection is what an engine says of itself.
type Inspection struct {
	Engine   string    // "PostgreSQL", "Redis", "SQLite", "memory"
	Version  string    // as the engine says it
	Place    string    // where it is, without secrets: a folder, or host:port and database
	Settings []Setting // those that matter to Shoal, in a fixed order
	Problems []Problem // what an operator should change; worst first
}

// Setting is one of the engine's settings, in the engine's own words.
type Setting struct {
	Name, Value string
}

// Problem is a setting or a state that an operator should change.
type Problem struct {
	What   string // what was found, and what was expected
	Danger bool   // data that Shoal calls safe may be lost; else it is only slower or less sure
}
