package storecopy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/store"
)

// most bounds how many nodes are named.
const most = 1000

// running are the ids of the nodes whose beats are young.
func (p *pass) running(ctx context.Context, st *store.Store) ([]string, error) {
	return ask(ctx, p.Clock, func() ([]string, error) { return Running(ctx, st.Fast(), p.Alive) })
}

// Running are the ids of the nodes whose beats in the fast records are no older than alive and
// not closed, at most 1,000.
func Running(ctx context.Context, fast store.Records, alive time.Duration) ([]string, error) {
	var out []string
	beats := store.Prefix(beatFolder)
	beats.Limit = most
	for rec, err := range fast.Scan(ctx, beats) {
		if err != nil {
			return nil, err
		}
		var beat struct {
			Closed bool `json:"closed"`
		}
		if json.Unmarshal(rec.Value, &beat) == nil && beat.Closed || rec.Age > alive {
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
