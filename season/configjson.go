package season

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// ParseConfig reads a configuration from JSON. Durations are strings ("45s", "1080h"), the
// epoch is RFC 3339, kinds and orders are their names. Unknown members are errors that name
// them, and everything wrong with the form is reported, joined. What the values mean is
// checked by [Config.Validate].
//
//	{"epoch": "2026-08-11T00:00:00Z", "length": "1080h",
//	 "stats":  [{"name": "fish", "kind": "sum", "on": ["catch"], "each": 1}],
//	 "boards": [{"name": "Fish", "stat": "fish", "title": "SEA KING",
//	             "rewards": [{"to": 3, "ops": [{"op": "increment", "path": "/coins", "by": 100}]}]}],
//	 "name": "/name"}
//
// Operations are in the form of [doc.Op].
func ParseConfig(data []byte) (Config, error) {
	v, err := doc.Parse(data, nil)
	if err != nil {
		return Config{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	p := new(complaints)
	c := readConfig(v, p)
	if err := errors.Join(p.errs...); err != nil {
		return Config{}, err
	}
	return c, nil
}

// UnmarshalJSON is [ParseConfig].
func (c *Config) UnmarshalJSON(data []byte) error {
	parsed, err := ParseConfig(data)
	if err == nil {
		*c = parsed
	}
	return err
}

// MarshalJSON is the form that [ParseConfig] reads; what is zero is left out.
func (c Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(configJSON{
		Epoch: textTime(c.Epoch), Length: textSpan(c.Length), PerCycle: c.PerCycle,
		Stats: statsJSON(c.Stats), Boards: boardsJSON(c.Boards),
		Grace: textSpan(c.Grace), FlushEvery: textSpan(c.FlushEvery),
		FirstClose: textSpan(c.FirstClose), CloseEvery: textSpan(c.CloseEvery),
		Top: c.Top, Keep: c.Keep, CacheFor: textSpan(c.CacheFor), Name: c.Name, Path: c.Path,
	})
}

type configJSON struct {
	Epoch      string      `json:"epoch,omitempty"`
	Length     string      `json:"length,omitempty"`
	PerCycle   int         `json:"perCycle,omitempty"`
	Stats      []statJSON  `json:"stats,omitempty"`
	Boards     []boardJSON `json:"boards,omitempty"`
	Grace      string      `json:"grace,omitempty"`
	FlushEvery string      `json:"flushEvery,omitempty"`
	FirstClose string      `json:"firstClose,omitempty"`
	CloseEvery string      `json:"closeEvery,omitempty"`
	Top        int         `json:"top,omitempty"`
	Keep       int         `json:"keep,omitempty"`
	CacheFor   string      `json:"cacheFor,omitempty"`
	Name       string      `json:"name,omitempty"`
	Path       string      `json:"path,omitempty"`
}

type statJSON struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	On      []string `json:"on,omitempty"`
	ResetOn []string `json:"resetOn,omitempty"`
	Of      string   `json:"of,omitempty"`
	Each    int64    `json:"each,omitempty"`
}

type boardJSON struct {
	Name  string `json:"name"`
	Stat  string `json:"stat"`
	Title string `json:"title,omitempty"`
	Order string `json:"order,omitempty"`

	Rewards []rewardJSON `json:"rewards,omitempty"`
}

type rewardJSON struct {
	To  int      `json:"to"`
	Ops []doc.Op `json:"ops"`
}

func statsJSON(stats []Stat) []statJSON {
	out := make([]statJSON, len(stats))
	for i, s := range stats {
		out[i] = statJSON{s.Name, s.Kind.String(), s.On, s.ResetOn, s.Of, s.Each}
	}
	return out
}

func boardsJSON(boards []Board) []boardJSON {
	out := make([]boardJSON, len(boards))
	for i, b := range boards {
		out[i] = boardJSON{Name: b.Name, Stat: b.Stat, Title: b.Title}
		if b.Order != 0 {
			out[i].Order = b.Order.String()
		}
		for _, r := range b.Rewards {
			out[i].Rewards = append(out[i].Rewards, rewardJSON{r.To, append([]doc.Op{}, r.Ops...)})
		}
	}
	return out
}

func textTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func textSpan(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func readConfig(v doc.Value, p *complaints) Config {
	var c Config
	readMembers(v, "config", p, map[string]func(doc.Value, string){
		"epoch":      func(v doc.Value, f string) { c.Epoch = readTime(v, f, p) },
		"length":     func(v doc.Value, f string) { c.Length = readSpan(v, f, p) },
		"perCycle":   func(v doc.Value, f string) { c.PerCycle = int(readInt(v, f, p)) },
		"stats":      func(v doc.Value, f string) { c.Stats = readList(v, f, p, readStat) },
		"boards":     func(v doc.Value, f string) { c.Boards = readList(v, f, p, readBoard) },
		"grace":      func(v doc.Value, f string) { c.Grace = readSpan(v, f, p) },
		"flushEvery": func(v doc.Value, f string) { c.FlushEvery = readSpan(v, f, p) },
		"firstClose": func(v doc.Value, f string) { c.FirstClose = readSpan(v, f, p) },
		"closeEvery": func(v doc.Value, f string) { c.CloseEvery = readSpan(v, f, p) },
		"top":        func(v doc.Value, f string) { c.Top = int(readInt(v, f, p)) },
		"keep":       func(v doc.Value, f string) { c.Keep = int(readInt(v, f, p)) },
		"cacheFor":   func(v doc.Value, f string) { c.CacheFor = readSpan(v, f, p) },
		"name":       func(v doc.Value, f string) { c.Name = readText(v, f, p) },
		"path":       func(v doc.Value, f string) { c.Path = readText(v, f, p) },
	})
	return c
}

func readStat(v doc.Value, field string, p *complaints) Stat {
	var s Stat
	readMembers(v, field, p, map[string]func(doc.Value, string){
		"name":    func(v doc.Value, f string) { s.Name = readText(v, f, p) },
		"kind":    func(v doc.Value, f string) { s.Kind = readKind(v, f, p) },
		"on":      func(v doc.Value, f string) { s.On = readList(v, f, p, readText) },
		"resetOn": func(v doc.Value, f string) { s.ResetOn = readList(v, f, p, readText) },
		"of":      func(v doc.Value, f string) { s.Of = readText(v, f, p) },
		"each":    func(v doc.Value, f string) { s.Each = readInt(v, f, p) },
	})
	return s
}

func readBoard(v doc.Value, field string, p *complaints) Board {
	var b Board
	readMembers(v, field, p, map[string]func(doc.Value, string){
		"name":  func(v doc.Value, f string) { b.Name = readText(v, f, p) },
		"stat":  func(v doc.Value, f string) { b.Stat = readText(v, f, p) },
		"title": func(v doc.Value, f string) { b.Title = readText(v, f, p) },
		"order": func(v doc.Value, f string) { b.Order = readOrder(v, f, p) },

		"rewards": func(v doc.Value, f string) { b.Rewards = readList(v, f, p, readReward) },
	})
	return b
}

func readReward(v doc.Value, field string, p *complaints) Reward {
	var r Reward
	readMembers(v, field, p, map[string]func(doc.Value, string){
		"to":  func(v doc.Value, f string) { r.To = int(readInt(v, f, p)) },
		"ops": func(v doc.Value, f string) { r.Ops = readList(v, f, p, readOp) },
	})
	return r
}

// readOp reads an operation in the form that package doc writes.
func readOp(v doc.Value, field string, p *complaints) doc.Op {
	var op doc.Op
	if err := op.UnmarshalJSON(v.Encode()); err != nil {
		p.errs = append(p.errs, fmt.Errorf("%w: %s: %w", ErrConfig, field, err))
	}
	return op
}

// readMembers hands each member of an object to the function of its name.
func readMembers(v doc.Value, field string, p *complaints, known map[string]func(doc.Value, string)) {
	if v.Kind() != doc.KindObject {
		p.add(field, "an object expected, got %s", v.Kind())
		return
	}
	for name, member := range v.Members() {
		at := name
		if field != "config" {
			at = field + "." + name
		}
		read, ok := known[name]
		if !ok {
			p.add(at, "unknown member")
			continue
		}
		read(member, at)
	}
}

func readList[T any](v doc.Value, field string, p *complaints, read func(doc.Value, string, *complaints) T) []T {
	if v.Kind() != doc.KindList {
		p.add(field, "a list expected, got %s", v.Kind())
		return nil
	}
	out := make([]T, 0, v.Len())
	for i, item := range v.Items() {
		out = append(out, read(item, fmt.Sprintf("%s[%d]", field, i), p))
	}
	return out
}

func readText(v doc.Value, field string, p *complaints) string {
	s, ok := v.AsString()
	if !ok {
		p.add(field, "a string expected, got %s", v.Kind())
	}
	return s
}

func readInt(v doc.Value, field string, p *complaints) int64 {
	i, ok := v.AsInt()
	if !ok {
		p.add(field, "an integer expected, got %s", v)
	}
	return i
}

func readSpan(v doc.Value, field string, p *complaints) time.Duration {
	s, ok := v.AsString()
	d, err := time.ParseDuration(s)
	if !ok || err != nil {
		p.add(field, `a duration such as "45s" or "1080h" expected, got %s`, v)
	}
	return d
}

func readTime(v doc.Value, field string, p *complaints) time.Time {
	s, ok := v.AsString()
	t, err := time.Parse(time.RFC3339Nano, s)
	if !ok || err != nil {
		p.add(field, `a time such as "2026-08-11T00:00:00Z" expected, got %s`, v)
	}
	return t.UTC()
}

func readKind(v doc.Value, field string, p *complaints) Kind {
	s, _ := v.AsString()
	k, ok := ParseKind(s)
	if !ok {
		p.add(field, "sum, run, best, max, min or last expected, got %s", v)
	}
	return k
}

func readOrder(v doc.Value, field string, p *complaints) store.Order {
	switch s, _ := v.AsString(); s {
	case store.Descending.String():
		return store.Descending
	case store.Ascending.String():
		return store.Ascending
	}
	p.add(field, "descending or ascending expected, got %s", v)
	return 0
}
