// Package wrongclock is a local clock that somebody else sets while a program runs, forward and
// back, as an operator or a time server does to a machine's.
//
// A program looks at a [Clock]; whoever breaks it on purpose turns a [Dial], a small file that
// both know. A step moves the wall part of the times that the clock tells and leaves the
// monotonic part, and with it durations and timers, as it is: that is what Linux does. Only a
// daemon that is built with the tag chaos knows this package.
//
// # Concurrency
//
// A Clock and a Dial are safe for use from many goroutines. A Clock has none of its own: it
// looks at its dial again when it is asked for the time and has not looked for a while.
package wrongclock
