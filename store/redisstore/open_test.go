package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
)

// The addresses and servers that are refused.
func TestOpenRefuses(t *testing.T) {
	server := enginetest.OwnRedis(t, &engines.RedisOptions{Settings: map[string]string{"maxmemory-policy": "allkeys-lru"}})
	shared, cluster := enginetest.Redis(t), enginetest.Cluster(t)
	host := strings.TrimPrefix(cluster.Nodes()[0].URL("p"), "redis://")
	for name, c := range map[string]struct {
		url  string
		want error
	}{
		"a word":                       {"redis", redisstore.ErrAddress},
		"a server that evicts":         {server.URL("p"), redisstore.ErrEvicts},
		"a cluster taken for a server": {"redis://" + host, redisstore.ErrAddress},
		"a server taken for a cluster": {"redis+cluster://" + shared.Addr(), redisstore.ErrAddress},
		"nobody":                       {"redis://127.0.0.1:1", store.ErrUnavailable},
		"a cluster of nobody":          {"redis+cluster://127.0.0.1:1,127.0.0.1:2", store.ErrUnavailable},
		"Sentinels that are not there": {"redis+sentinel://127.0.0.1:1/m", store.ErrUnavailable},
		"a password nobody asked for":  {strings.Replace(shared.URL("p"), "://", "://u:p@", 1), store.ErrUnavailable},
		"a server that speaks no TLS":  {strings.Replace(shared.URL("p"), "redis:", "rediss:", 1), store.ErrUnavailable},
		"a database that is not there": {"redis://" + shared.Addr() + "/99", store.ErrUnavailable},
	} {
		e, err := redisstore.Open(t.Context(), c.url, &redisstore.Options{DialTimeout: time.Second})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err == nil {
			_ = e.Close(t.Context())
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := redisstore.Open(ended, shared.URL("p"), nil); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a context that has ended: %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	url := enginetest.Redis(t).URL("p")
	for field, o := range map[string]redisstore.Options{
		"DialTimeout": {DialTimeout: -1}, "AnswerTimeout": {AnswerTimeout: -1}, "BusQueue": {BusQueue: -1},
		"Connections": {Connections: 3}, "Connections: 0": {Connections: -1}, "256": {Connections: 512},
	} {
		if _, err := redisstore.Open(t.Context(), url, &o); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: %v, want %s named", o, err, field)
		}
	}
	for _, n := range []int{1, 2, 8} {
		open(t, url, &redisstore.Options{Connections: n})
	}
}

// inspect is what the engine says of itself.
func inspect(t *testing.T, part any) (in store.Inspection, settings map[string]string) {
	t.Helper()
	inspector, ok := part.(store.Inspector)
	if !ok {
		t.Fatalf("%T is no store.Inspector", part)
	}
	in, err := inspector.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	settings = make(map[string]string)
	for _, s := range in.Settings {
		settings[s.Name] = s.Value
	}
	return in, settings
}

func TestInspect(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	ask(t, server, "ACL", "SETUSER", "fleet", "on", ">hunter2", "~*", "&*", "+@all")
	e := open(t, strings.Replace(server.URL("p"), "://", "://fleet:hunter2@", 1), nil)
	in, settings := inspect(t, e.Fast())
	if in.Engine != "Redis" && in.Engine != "Valkey" || !strings.Contains(in.Version, ".") || in.Place != server.Addr()+"/0, prefix p" {
		t.Errorf("it says %+v", in)
	}
	for name, want := range map[string]string{"role": "master", "maxmemory-policy": "noeviction", "appendonly": "no", "save": `""`, "connected_slaves": "0"} {
		if settings[name] != want {
			t.Errorf("%s is %q, want %q", name, settings[name], want)
		}
	}
	if len(in.Problems) != 1 || in.Problems[0].Danger || !strings.Contains(in.Problems[0].What, "neither persistence nor a replica") {
		t.Errorf("problems are %+v, want only that nothing is kept", in.Problems)
	}
	for _, text := range []string{in.Place, in.Problems[0].What} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("it shows the password: %s", text)
		}
	}
	// What became of it while it was open.
	ask(t, server, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	ask(t, server, "CONFIG", "SET", "maxmemory", "1000")
	if in, _ = inspect(t, e.Bus()); len(in.Problems) != 3 || !in.Problems[0].Danger || !strings.Contains(in.Problems[0].What, "allkeys-lru") || !strings.Contains(in.Problems[1].What, "of 1000 bytes") || in.Problems[2].Danger {
		t.Errorf("problems are %+v, want eviction and memory, and then the rest", in.Problems)
	}
	// A provider that lets us read no settings.
	ask(t, server, "ACL", "SETUSER", "fleet", "-config")
	if _, settings = inspect(t, e.Fast()); settings["maxmemory-policy"] != "allkeys-lru" || settings["save"] != "" {
		t.Errorf("settings are %v without CONFIG", settings)
	}
}

func TestInspectOfACluster(t *testing.T) {
	c := enginetest.Cluster(t)
	in, settings := inspect(t, open(t, c.URL("p"), nil).Fast())
	if settings["masters"] != "3" || settings["cluster_state"] != "ok" || settings["cluster_slots_ok"] != "16384" {
		t.Errorf("settings are %v", settings)
	}
	for _, node := range c.Nodes() {
		if settings[node.Addr()+" role"] != "master" {
			t.Errorf("%s is not among %v", node.Addr(), settings)
		}
	}
	if len(in.Problems) != 3 {
		t.Errorf("problems are %+v, want one of each master", in.Problems)
	}
}

func TestInspectOfSentinels(t *testing.T) {
	s := enginetest.Sentinel(t, nil)
	in, settings := inspect(t, open(t, s.URL("p"), nil).Fast())
	if settings["role"] != "master" || settings["connected_slaves"] != "1" || len(in.Problems) != 0 {
		t.Errorf("it says %+v", in)
	}
}

// Closing the parts that were asked for closes the connections, whoever forgets the engine.
func TestPartsFreeTheEngine(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	e, err := redisstore.Open(t.Context(), server.URL("p"), nil)
	if err != nil {
		t.Fatal(err)
	}
	fast, bus := e.Fast(), e.Bus()
	if err := errors.Join(fast.Close(t.Context()), fast.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := bus.Publish(t.Context(), "topic", nil); err != nil {
		t.Errorf("the bus is closed with the records: %v", err)
	}
	if _, err := fast.Get(t.Context(), "key"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a read after Close answers %v", err)
	}
	if err := bus.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again(t, "the connections are closed", func() error {
		list, _ := ask(t, server, "CLIENT", "LIST").(string)
		if strings.Contains(list, "name=shoal-") {
			return errors.New(list)
		}
		return nil
	})
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Beats and marks have a connection of their own, which no pipeline of journals holds up.
func TestBeatsHaveTheirOwnConnection(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	r := open(t, server.URL("p"), nil).Fast()
	must(t, r, put(journal, "v", 1, store.Any()), put(note, "v", 1, store.Any()), put(beat, "v", 1, store.Any()), put("mark/n1/0", "v", 1, store.Any()))
	commands := func() map[string]int {
		ran := make(map[string]int)
		list, _ := ask(t, server, "CLIENT", "LIST").(string)
		for line := range strings.Lines(list) {
			if strings.Contains(line, "cmd=eval") {
				_, name, _ := strings.Cut(line, " name=")
				name, _, _ = strings.Cut(name, " ")
				ran[name]++
			}
		}
		return ran
	}
	if ran := commands(); ran["shoal-beats"] != 1 || ran["shoal-main"] == 0 {
		t.Fatalf("scripts ran on %v, want some on the main connections and the beats' one", ran)
	}
	// All that a verdict needs goes by it.
	fresh := open(t, server.URL("q")+"&client_name=fresh", nil).Fast()
	must(t, fresh, put(beat, "v", 1, store.Any()), put("mark/n1/1", "v", 1, store.Any()))
	if _, err := fresh.Get(t.Context(), beat, "mark/n1/1", "node/n2"); err != nil {
		t.Fatal(err)
	}
	for _, err := range fresh.Scan(t.Context(), store.Prefix("node/")) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fresh.Now(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ran := commands(); ran["fresh-main"] != 0 || ran["fresh-beats"] != 1 {
		t.Fatalf("beats ran on %v, want their own connection only", ran)
	}
}
