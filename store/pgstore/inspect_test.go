package pgstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/store"
)

// settingOf is a setting of an inspection, empty when it is not there.
func settingOf(i store.Inspection, name string) string {
	for _, s := range i.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// The shared server runs without fsync: an operator hears of it.
func TestInspect(t *testing.T) {
	e := open(t, direct(t), nil)
	for _, part := range []any{e.Durable(), e.Fast(), e.Bus()} {
		found, err := part.(store.Inspector).Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if found.Engine != "PostgreSQL" || found.Version == "" || !strings.Contains(found.Place, "127.0.0.1:") || strings.Contains(found.Place, "@") {
			t.Errorf("%T: engine %q, version %q, place %q", part, found.Engine, found.Version, found.Place)
		}
		for name, value := range map[string]string{
			"fsync": "off", "synchronous_commit": "on", "default_transaction_isolation": "read committed", "max_connections": "200",
			"in_recovery": "false", "pooler": "none", "pool_connections": "16", "records_lz4": "true", "live_unlogged": "true",
		} {
			if got := settingOf(found, name); got != value {
				t.Errorf("%T: %s is %q, want %q", part, name, got, value)
			}
		}
		if !slices.ContainsFunc(found.Problems, func(p store.Problem) bool { return p.Danger && strings.HasPrefix(p.What, "fsync") }) {
			t.Errorf("%T: fsync is off and no danger: %v", part, found.Problems)
		}
	}
}

func TestInspectThroughPooler(t *testing.T) {
	found, err := open(t, pooled(t)(t), nil).Durable().(store.Inspector).Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := settingOf(found, "pooler"); got != "transaction" {
		t.Errorf("pooler is %q, want transaction", got)
	}
}
