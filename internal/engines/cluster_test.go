package engines_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// told are the ports of the masters as one of them tells them, in the order of their slots.
func told(t *testing.T, r *engines.Redis) []string {
	t.Helper()
	var out []string
	list, _ := do(t, r, "CLUSTER", "SLOTS").([]any)
	for _, entry := range list {
		fields, _ := entry.([]any)
		if len(fields) < 3 {
			t.Fatalf("an entry of CLUSTER SLOTS: %v", entry)
		}
		node, _ := fields[2].([]any)
		out = append(out, fmt.Sprint(node[1]))
	}
	return out
}

func TestClusterTellsTheAddressesOfProxies(t *testing.T) {
	t.Parallel()
	c := enginetest.OwnCluster(t, nil)
	var proxies []*engines.Proxy
	want := make(map[string]bool)
	for _, r := range c.Nodes() {
		p := enginetest.Proxy(t, r.Addr())
		_, port, err := net.SplitHostPort(p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		proxies, want[port] = append(proxies, p), true
	}
	if err := c.Announce(t.Context(), proxies); err != nil {
		t.Fatal(err)
	}
	for i, r := range c.Nodes() {
		if i == 1 {
			again(t, r) // it tells so when it comes back
		}
		ports := told(t, r)
		if len(ports) != len(want) {
			t.Fatalf("master %d tells %v", i, ports)
		}
		for _, port := range ports {
			if !want[port] {
				t.Errorf("master %d tells port %s, which is no proxy's", i, port)
			}
		}
	}
}
