package wrongclock

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Dial is the path of a file that says how wrong a clock is: a duration as Go writes it. Where
// there is no file the clock is right.
type Dial string

// Turn sets how much a clock is before the right time; negative is behind it. The clock follows
// within a few hundredths of a second.
func (d Dial) Turn(offset time.Duration) error {
	next := string(d) + ".next"
	if err := os.WriteFile(next, []byte(offset.String()+"\n"), 0o600); err != nil {
		return fmt.Errorf("wrongclock: turn: %w", err)
	}
	if err := os.Rename(next, string(d)); err != nil { // whole, or not at all
		return fmt.Errorf("wrongclock: turn: %w", err)
	}
	return nil
}

// read is what the dial says; ok is false when it says nothing.
func (d Dial) read() (offset time.Duration, ok bool) {
	text, err := os.ReadFile(string(d))
	if err != nil {
		return 0, false
	}
	offset, err = time.ParseDuration(strings.TrimSpace(string(text)))
	return offset, err == nil
}
