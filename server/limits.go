package server

import (
	"errors"
	"fmt"
	"time"
)

// Limits of a [Server]. The zero value is the defaults.
type Limits struct {
	// BodyBytes is the largest request message, before and after decompression. A larger one
	// is refused with 413. Default 8 MiB, the largest value a store takes.
	BodyBytes int
	// HeaderBytes bounds the request line and headers together, and with them the length of
	// a GET. Default 64 KiB.
	HeaderBytes int
	// Calls is how many calls are worked on at once; more are refused with 503 at once, never
	// queued. Loads and watches do not count. Default 512.
	Calls int
	// Loads is how many loads are worked on at once, apart from the other calls: a load may
	// wait for minutes. Default 512.
	Loads int
	// Watches is how many watches there may be at once, apart from the other calls: a watch
	// goes on for as long as its session. Default 1024.
	Watches int
	// Streams is how many calls one HTTP/2 connection may have open. Default 250.
	Streams int
	// CallTimeout bounds every call except loads and watches. Default 30 s.
	CallTimeout time.Duration
	// LoadTimeout is the longest that a load may ask to wait. Default 150 s.
	LoadTimeout time.Duration
	// HeaderTimeout bounds the reading of a request's headers. Default 5 s.
	HeaderTimeout time.Duration
	// BodyTimeout bounds the reading of a request's body, and how long the reader of a watch
	// may take for one step. Default 30 s.
	BodyTimeout time.Duration
	// IdleTimeout is how long a connection may stay unused. Default 120 s.
	IdleTimeout time.Duration
	// CloseTimeout bounds the graceful end when Serve's context ends. Default 20 s.
	CloseTimeout time.Duration
}

// limitOf is how many items a request asks for: 1 to most, or otherwise when it does not say.
func limitOf(field string, n *int32, otherwise, most int) (int, error) {
	if n == nil {
		return min(otherwise, most), nil
	}
	if *n < 1 || int(*n) > most {
		return 0, refuse(badField, field, "1 to %d is expected, got %d", most, *n)
	}
	return int(*n), nil
}

// withDefaults fills in what is zero and reports everything that is wrong.
func (l Limits) withDefaults() (Limits, error) {
	var errs []error
	for _, n := range []struct {
		name  string
		field *int
		value int
	}{
		{"BodyBytes", &l.BodyBytes, 8 << 20},
		{"HeaderBytes", &l.HeaderBytes, 64 << 10},
		{"Calls", &l.Calls, 512},
		{"Loads", &l.Loads, 512},
		{"Watches", &l.Watches, 1024},
		{"Streams", &l.Streams, 250},
	} {
		if *n.field < 0 {
			errs = append(errs, fmt.Errorf("server: Limits.%s: more than 0 expected, got %d", n.name, *n.field))
		}
		if *n.field == 0 {
			*n.field = n.value
		}
	}
	for _, d := range []struct {
		name  string
		field *time.Duration
		value time.Duration
	}{
		{"CallTimeout", &l.CallTimeout, 30 * time.Second},
		{"LoadTimeout", &l.LoadTimeout, 150 * time.Second},
		{"HeaderTimeout", &l.HeaderTimeout, 5 * time.Second},
		{"BodyTimeout", &l.BodyTimeout, 30 * time.Second},
		{"IdleTimeout", &l.IdleTimeout, 120 * time.Second},
		{"CloseTimeout", &l.CloseTimeout, 20 * time.Second},
	} {
		if *d.field < 0 {
			errs = append(errs, fmt.Errorf("server: Limits.%s: more than 0 expected, got %v", d.name, *d.field))
		}
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return l, errors.Join(errs...)
}
