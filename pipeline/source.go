package pipeline

// SourceKind says who is behind a change.
type SourceKind string

// Source says where a change comes from.
type Source struct {
	Kind  SourceKind // who: policies go by it
	Actor string     // a person or a service, for the record
	Note  string     // why, for the record
	// ID makes the transaction safe to repeat: the profile remembers the last 64 ids, and a
	// known one answers what it answered first. Empty: not remembered.
	ID string
}
