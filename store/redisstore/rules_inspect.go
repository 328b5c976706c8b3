package redisstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shoalworks/shoal/store"
)

// oldest is the major version of the oldest server that can be used: scripts that say what
// they are, which a full server or a replica refuses as a whole, came with it.
const oldest = 7

// information is what INFO says: names and values.
type information map[string]string

// parseInfo reads the answer to INFO, or to CLUSTER INFO, which may begin with its format.
func parseInfo(text string) information {
	info := make(information)
	for line := range strings.Lines(strings.TrimPrefix(text, "txt:")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(name, "#") {
			info[name] = value
		}
	}
	return info
}

// engine is the product and its version.
func (i information) engine() (name, version string) {
	if v := i["valkey_version"]; v != "" {
		return "Valkey", v
	}
	return "Redis", i["redis_version"]
}

func (i information) major() int {
	text, _, _ := strings.Cut(i["redis_version"], ".") // Valkey names here the Redis that it is like
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

func (i information) evicts() bool { return i["maxmemory_policy"] != "noeviction" }

func (i information) isMaster() bool { return i["role"] == "master" }

// unusable tells why a server cannot be used at all, or nil. host is where it is.
func (i information) unusable(host string, t topology) error {
	name, version := i.engine()
	switch {
	case i.major() < oldest:
		return fmt.Errorf("%w: %s is %s %s, version %d or later expected", ErrVersion, host, name, version, oldest)
	case t == cluster && i["cluster_enabled"] != "1":
		return fmt.Errorf("%w: %s is no cluster, the address says it is", ErrAddress, host)
	case t != cluster && i["cluster_enabled"] == "1":
		return fmt.Errorf("%w: %s is part of a cluster: redis+cluster:// expected", ErrAddress, host)
	case i.evicts():
		return fmt.Errorf("%w: maxmemory-policy of %s is %q, noeviction expected", ErrEvicts, host, i["maxmemory_policy"])
	}
	return nil
}

// look is what one server says of itself. configured is its CONFIG, as far as we may read it.
type look struct {
	host       string
	info       information
	configured map[string]string
}

// settings are those that matter, in the order of store.Inspection.
func (l look) settings() []store.Setting {
	var out []store.Setting
	add := func(name, value string) {
		if value != "" {
			out = append(out, store.Setting{Name: name, Value: value})
		}
	}
	add("role", l.info["role"])
	add("maxmemory", l.info["maxmemory"])
	add("maxmemory-policy", l.info["maxmemory_policy"])
	add("used_memory", l.info["used_memory"])
	add("appendonly", map[string]string{"0": "no", "1": "yes"}[l.info["aof_enabled"]])
	add("appendfsync", l.configured["appendfsync"])
	if save, ok := l.configured["save"]; ok {
		add("save", `"`+save+`"`)
	}
	add("connected_slaves", l.info["connected_slaves"])
	add("min-replicas-to-write", l.configured["min-replicas-to-write"])
	return out
}

// problems are what an operator should change at this server.
func (l look) problems() []store.Problem {
	var out []store.Problem
	add := func(danger bool, format string, args ...any) {
		out = append(out, store.Problem{What: l.host + ": " + fmt.Sprintf(format, args...), Danger: danger})
	}
	if l.info.evicts() {
		add(true, "maxmemory-policy is %s, noeviction expected: what players did is thrown away when memory is short", l.info["maxmemory_policy"])
	}
	if !l.info.isMaster() {
		add(true, "role is %s, master expected", l.info["role"])
	}
	if n, err := strconv.ParseInt(l.info["maxmemory"], 10, 64); err == nil && n > 0 {
		if used, err := strconv.ParseInt(l.info["used_memory"], 10, 64); err == nil && used > n/10*9 {
			add(true, "%d of %d bytes of memory are used: journals are refused when it is full", used, n)
		}
	}
	if l.info["aof_last_write_status"] == "err" || l.info["rdb_last_bgsave_status"] == "err" {
		add(true, "the last save to the disk failed: the server may refuse writes (stop-writes-on-bgsave-error)")
	}
	if save, known := l.configured["save"]; known && save == "" && l.info["aof_enabled"] == "0" && l.info["connected_slaves"] == "0" {
		add(false, "neither persistence nor a replica: a restart loses boards and what was only journaled")
	}
	return out
}
