package storecopy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/store"
)

// most bounds how many nodes are named.
const most = 1000

// running are the ids of the nodes whose beats are young.
func (p *pass) running(ctx context.Context, st *store.Store) ([]string, error) {
	return ask(ctx, p.Clock, func() ([]string, error) { return p.beats(ctx, st) })
}

func (p *pass) beats(ctx context.Context, st *store.Store) ([]string, error) {
	var out []string
	beats := store.Prefix(beatFolder)
	beats.Limit = most
	for rec, err := range st.Fast().Scan(ctx, beats) {
		if err != nil {
			return nil, err
		}
		var beat struct {
			Closed bool `json:"closed"`
		}
		if json.Unmarshal(rec.Value, &beat) == nil && beat.Closed || rec.Age > p.Alive {
			continue
		}
		out = append(out, strings.TrimPrefix(rec.Key, beatFolder))
	}
	return out, nil
}

// merged is both lists, sorted, each name once.
func merged(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// listed is the first few of the names.
func listed(names []string) string {
	const few = 5
	if len(names) > few {
		return strings.Join(names[:few], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
