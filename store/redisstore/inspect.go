package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
)

// Why Open refuses a server that it can reach. The text says what to change.
var (
	// ErrEvicts: the server may throw away keys when its memory is short.
	ErrEvicts = errors.New("redisstore: the server evicts keys")
	// ErrVersion: the server is too old.
	ErrVersion = errors.New("redisstore: the server is too old")
	// ErrReplica: the server is a copy, which takes no writes, or no longer a master.
	ErrReplica = errors.New("redisstore: the server is a replica")
)

// examine refuses servers that cannot be used.
func (e *Engine) examine(ctx context.Context) error {
	looks, err := e.looks(ctx, false)
	if err != nil {
		return err
	}
	masters := 0
	for _, l := range looks {
		if l.info.isMaster() {
			masters++
		}
		if err := l.info.unusable(l.host, e.address.topology); err != nil {
			return err
		}
	}
	if masters == 0 {
		return fmt.Errorf("%w: %s", ErrReplica, e.address.place())
	}
	return nil
}

// looks asks every server that we write to: all masters of a cluster, or the one.
func (e *Engine) looks(ctx context.Context, withConfig bool) ([]look, error) {
	nodes := e.clients.main.Nodes()
	if e.address.topology != cluster {
		// Whatever the library calls it, there is one to which commands go.
		nodes = map[string]rueidis.Client{"": e.clients.main}
	}
	var looks []look
	for _, host := range slices.Sorted(maps.Keys(nodes)) {
		l := look{host: host}
		if host == "" {
			l.host = e.hostOfMaster()
		}
		text, err := nodes[host].Do(ctx, nodes[host].B().Info().Build()).ToString()
		if err != nil {
			return nil, fmt.Errorf("redisstore: ask %s: %w", l.host, classify(err, reading))
		}
		if l.info = parseInfo(text); e.address.topology == cluster && !l.info.isMaster() {
			continue
		}
		if withConfig {
			l.configured = configOf(ctx, nodes[host])
		}
		looks = append(looks, l)
	}
	return looks, nil
}

// hostOfMaster is where commands go, when there is one such server.
func (e *Engine) hostOfMaster() string {
	for host := range e.clients.main.Nodes() {
		return host
	}
	return e.address.place()
}

// configOf reads settings that INFO does not tell. Many providers forbid it; then it is empty.
func configOf(ctx context.Context, c rueidis.Client) map[string]string {
	settings, err := c.Do(ctx, c.B().ConfigGet().Parameter("save", "appendfsync", "min-replicas-to-write").Build()).AsStrMap()
	if err != nil {
		return nil
	}
	return settings
}

// inspect is the look of store.Inspector.
func (e *Engine) inspect(ctx context.Context) (store.Inspection, error) {
	looks, err := e.looks(ctx, true)
	if err != nil {
		return store.Inspection{}, err
	}
	in := store.Inspection{Engine: "Redis", Place: e.address.place()}
	if len(looks) > 0 {
		in.Engine, in.Version = looks[0].info.engine()
	}
	if e.address.topology == cluster {
		in.Settings, in.Problems = e.clusterState(ctx)
		in.Settings = append(in.Settings, store.Setting{Name: "masters", Value: strconv.Itoa(len(looks))})
	}
	for _, l := range looks {
		for _, s := range l.settings() {
			if e.address.topology == cluster {
				s.Name = l.host + " " + s.Name
			}
			in.Settings = append(in.Settings, s)
		}
		in.Problems = append(in.Problems, l.problems()...)
	}
	slices.SortStableFunc(in.Problems, func(a, b store.Problem) int {
		if a.Danger == b.Danger {
			return 0
		}
		if a.Danger {
			return -1
		}
		return 1
	})
	return in, nil
}

// clusterState is what a cluster says of itself as a whole.
func (e *Engine) clusterState(ctx context.Context) ([]store.Setting, []store.Problem) {
	text, err := e.clients.main.Do(ctx, e.clients.main.B().ClusterInfo().Build()).ToString()
	if err != nil {
		return nil, []store.Problem{{What: "the cluster does not tell its state: " + err.Error()}}
	}
	state := parseInfo(text)
	settings := []store.Setting{
		{Name: "cluster_state", Value: state["cluster_state"]},
		{Name: "cluster_slots_ok", Value: state["cluster_slots_ok"]},
	}
	if state["cluster_state"] != "ok" {
		return settings, []store.Problem{{What: "cluster_state is " + state["cluster_state"] + ", ok expected", Danger: true}}
	}
	return settings, nil
}
