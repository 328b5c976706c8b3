package pairing

import "github.com/shoalworks/shoal/internal/address"

// Given is what a process was told of the fast part.
type Given struct {
	Apart bool   // another engine plays it
	Space string // of an Apart one: where in its engine
	Place string // of an Apart one: its address without secrets
	Bus   string // how messages go; "" where the engine has but one way
}

// GivenBy is what the addresses of a store and of its fast part say; fast is "" when there is
// but one engine.
func GivenBy(durable, fast string) Given {
	if fast == "" || fast == durable {
		return Given{Bus: address.Bus(durable)}
	}
	return Given{Apart: true, Space: address.Space(fast), Place: address.Redacted(fast), Bus: address.Bus(fast)}
}
