package main

import (
	"io"
	"log/slog"
	"reflect"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/season"
)

// Options is what a configuration makes of file, environment and flags.
func Options(path string, env []string, flags map[string]any) (store, listen string, opts *shoal.Options, err error) {
	c, err := readConfig(path, env, flags)
	if err != nil {
		return "", "", nil, err
	}
	opts, err = c.options(slog.New(slog.DiscardHandler))
	return c.Store, c.Listen, opts, err
}

// Keys are the keys that a configuration has: for all calls, and for /metrics only.
func Keys(path string, env []string) (api, metrics string, err error) {
	c, err := readConfig(path, env, nil)
	return c.APIKey, c.MetricsKey, err
}

// Shortened opens the proportions of a short season.
func Shortened(c season.Config, length time.Duration) season.Config { return shortened(c, length) }

// BoardMembers are the members of what the configuration says of boards.
func BoardMembers() (out []string) {
	for _, of := range []any{boardConfig{}, fromConfig{}, namesConfig{}, flushConfig{}} {
		t := reflect.TypeOf(of)
		for i := range t.NumField() {
			out = append(out, t.Field(i).Tag.Get("json"))
		}
	}
	return out
}

// KeyBefore opens keyBefore.
func KeyBefore(key string) string { return keyBefore(key) }

// Percent opens percent.
func Percent(x float64) string { return percent(x) }

// ExitCode is the exit code that an error of the library has.
func ExitCode(err error) int { return codeOf(byKind(err), io.Discard) }

// Addresses are where a configuration says that the parts of the store are.
func Addresses(path string, env []string, flags map[string]any) (shoal.Addresses, error) {
	c, err := readConfig(path, env, flags)
	return c.addresses(nil), err
}
