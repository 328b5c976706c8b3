package redisstore

import (
	"errors"
	"testing"
)

func TestServersThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		info string
		t    topology
		want error
	}{
		"Redis 7":                 {"# Server\r\nredis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\ncluster_enabled:0\r\n", single, nil},
		"Redis 8 with Sentinels":  {"redis_version:8.2.1\r\nmaxmemory_policy:noeviction\r\n", sentinel, nil},
		"Valkey 8":                {"txt:redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0\r\nmaxmemory_policy:noeviction\r\n", single, nil},
		"a cluster":               {"redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\ncluster_enabled:1\r\n", cluster, nil},
		"Redis 6":                 {"redis_version:6.2.14\r\nmaxmemory_policy:noeviction\r\n", single, ErrVersion},
		"no Redis":                {"hello:world\r\n", single, ErrVersion},
		"one that evicts":         {"redis_version:7.0.15\r\nmaxmemory_policy:volatile-lru\r\n", single, ErrEvicts},
		"one that does not tell":  {"redis_version:7.0.15\r\n", single, ErrEvicts},
		"a cluster behind single": {"redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\ncluster_enabled:1\r\n", single, ErrAddress},
		"a single one as cluster": {"redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\ncluster_enabled:0\r\n", cluster, ErrAddress},
	} {
		if err := parseInfo(c.info).unusable("host:1", c.t); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if name, version := parseInfo("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\n").engine(); name != "Valkey" || version != "8.1.0" {
		t.Errorf("Valkey is taken for %s %s", name, version)
	}
}

func TestProblems(t *testing.T) {
	const fine = "role:master\r\nmaxmemory_policy:noeviction\r\nmaxmemory:0\r\nused_memory:5\r\naof_enabled:1\r\n"
	kept := map[string]string{"save": ""}
	for name, c := range map[string]struct {
		info   string
		config map[string]string
		danger []bool
	}{
		"none":                   {fine, kept, nil},
		"a replica is enough":    {"role:master\r\nmaxmemory_policy:noeviction\r\naof_enabled:0\r\nconnected_slaves:1\r\n", kept, nil},
		"nothing is kept":        {"role:master\r\nmaxmemory_policy:noeviction\r\naof_enabled:0\r\nconnected_slaves:0\r\n", kept, []bool{false}},
		"not known what is kept": {"role:master\r\nmaxmemory_policy:noeviction\r\naof_enabled:0\r\nconnected_slaves:0\r\n", nil, nil},
		"room for a tenth":       {"role:master\r\nmaxmemory_policy:noeviction\r\nmaxmemory:1000\r\nused_memory:900\r\n", nil, nil},
		"little room":            {"role:master\r\nmaxmemory_policy:noeviction\r\nmaxmemory:1000\r\nused_memory:901\r\n", nil, []bool{true}},
		"a failed save":          {fine + "rdb_last_bgsave_status:err\r\n", kept, []bool{true}},
		"a failed write":         {fine + "aof_last_write_status:err\r\n", kept, []bool{true}},
		"a replica that evicts":  {"role:slave\r\nmaxmemory_policy:allkeys-lfu\r\n", nil, []bool{true, true}},
	} {
		l := look{host: "h:1", info: parseInfo(c.info), configured: c.config}
		found := l.problems()
		bad := len(found) != len(c.danger)
		for i := 0; !bad && i < len(found); i++ {
			bad = found[i].Danger != c.danger[i]
		}
		if bad {
			t.Errorf("%s: %+v, want %v", name, found, c.danger)
		}
	}
}
