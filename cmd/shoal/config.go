package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
)

// config is what `shoal serve` runs with: flags over environment over file over defaults.
type config struct {
	Store  string `json:"store"`
	Fast   string `json:"fast"`
	Listen string `json:"listen"`
	Name   string `json:"name"`
	APIKey string `json:"apiKey"`

	MetricsKey string `json:"metricsKey"`

	Beat         span `json:"beat"`
	DeadAfter    span `json:"deadAfter"`
	CloseTimeout span `json:"closeTimeout"`

	Limits limitsConfig `json:"limits"`

	Sets    map[string]setConfig    `json:"sets"`
	Ranked  string                  `json:"ranked"`
	Flush   flushConfig             `json:"flush"`
	Names   *namesConfig            `json:"names"`
	Boards  map[string]boardConfig  `json:"boards"`
	Seasons map[string]seasonConfig `json:"seasons"`

	folder string // of the file, for the paths in it
}

// seasonConfig is a season's rules (see season.ParseConfig), and the set that plays it.
type seasonConfig struct {
	Set   string
	Rules season.Config
}

// UnmarshalJSON takes the member "set" out and leaves the rest to season.ParseConfig.
func (c *seasonConfig) UnmarshalJSON(data []byte) error {
	v, err := doc.Parse(data, nil)
	if err != nil {
		return err
	}
	set, ok := v.Member("set")
	if c.Set, _ = set.AsString(); !ok || c.Set == "" {
		return errors.New(`set: the name of the set of profiles that plays it expected, such as "players"`)
	}
	rules, err := doc.Apply(v, doc.Unset("/set"))
	if err != nil {
		return err
	}
	c.Rules, err = season.ParseConfig(rules.Encode())
	return err
}

// span is a duration in text form ("45s").
type span time.Duration

func (s span) duration() time.Duration { return time.Duration(s) }

// UnmarshalText reads "45s" or "1080h".
func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf(`a duration such as "45s" or "1080h" expected, got %q`, text)
	}
	*s = span(d)
	return nil
}

// environment lists the variables that set a member of the configuration.
func environment() map[string]string {
	return map[string]string{
		"SHOAL_STORE":       "store",
		"SHOAL_FAST":        "fast",
		"SHOAL_LISTEN":      "listen",
		"SHOAL_NAME":        "name",
		"SHOAL_API_KEY":     "apiKey",
		"SHOAL_METRICS_KEY": "metricsKey",
		"SHOAL_BEAT":        "beat",
		"SHOAL_DEAD_AFTER":  "deadAfter",
	}
}

// keyDelimiter cannot come up in a name, so that "a.b" is one name.
const keyDelimiter = "\x00"

// readConfig layers file, environment and flags. Unknown members and variables are errors.
func readConfig(path string, env []string, flags map[string]any) (config, error) {
	k := koanf.New(keyDelimiter)
	if path != "" {
		if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
			return config{}, fmt.Errorf("configuration %s: %w", path, err)
		}
	}
	variables, err := fromEnvironment(env)
	if err != nil {
		return config{}, err
	}
	for _, layer := range []map[string]any{variables, flags} {
		if err := k.Load(confmap.Provider(layer, ""), nil); err != nil {
			return config{}, fmt.Errorf("configuration: %w", err)
		}
	}
	raw, err := json.Marshal(k.Raw())
	if err != nil {
		return config{}, fmt.Errorf("configuration %s: %w", path, err)
	}
	var c config
	if err := jsonv2.Unmarshal(raw, &c, jsonv2.RejectUnknownMembers(true)); err != nil {
		return config{}, explain(path, err)
	}
	c.folder = filepath.Dir(path)
	c.applyDefaults()
	return c, nil
}

// explain names the member that the decoder stumbled over.
func explain(path string, err error) error {
	if path == "" {
		path = "flags and environment"
	}
	if e := (*jsonv2.SemanticError)(nil); errors.As(err, &e) {
		at := strings.ReplaceAll(strings.TrimPrefix(string(e.JSONPointer), "/"), "/", ".")
		if e.Err != nil {
			return fmt.Errorf("configuration %s: %s: %w", path, at, e.Err)
		}
		return fmt.Errorf("configuration %s: %s: %s expected, got %s", path, at, e.GoType, e.JSONValue)
	}
	return fmt.Errorf("configuration %s: %w", path, err)
}

func fromEnvironment(env []string) (map[string]any, error) {
	out := make(map[string]any)
	known := environment()
	var errs []error
	for _, pair := range env {
		key, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(key, "SHOAL_") || strings.HasPrefix(key, "SHOAL_COPY_") { // those are flags of store copy
			continue
		}
		member, ok := known[key]
		if !ok {
			errs = append(errs, fmt.Errorf("environment: %s is unknown; known are %s", key, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
			continue
		}
		out[member] = value
	}
	return out, errors.Join(errs...)
}

// applyDefaults fills in what nobody said: a set, two boards and a season to begin with.
func (c *config) applyDefaults() {
	if c.Store == "" {
		c.Store = "./game"
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:7077"
	}
	if c.Sets == nil {
		c.Sets = map[string]setConfig{"players": {}}
	}
	if c.Boards == nil {
		c.Boards = map[string]boardConfig{
			"Kills":    {},
			"BestTime": {Order: "ascending", Decimals: 3},
		}
	}
	if c.Seasons == nil {
		if _, ok := c.Sets["players"]; ok {
			c.Seasons = map[string]seasonConfig{"reef": {Set: "players", Rules: season.Reef()}}
		}
	}
}

// word finds the value that prints as text; no text is the zero value.
func word[T fmt.Stringer](text string, values ...T) (value T, ok bool) {
	if text == "" {
		return value, true
	}
	for _, v := range values {
		if v.String() == text {
			return v, true
		}
	}
	return value, false
}

// environ is the process's environment.
func environ() []string { return os.Environ() }
