package chaos

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/engines"
)

// A ledger excuses by daemon, so that a fault has to be noted for each that it concerns.
func TestFaultsConcernDaemons(t *testing.T) {
	t.Parallel()
	own := &world{members: make([]*member, 3)}
	shared := &world{members: make([]*member, 3), cluster: new(engines.Cluster)}
	for _, c := range []struct {
		what string
		w    *world
		f    Fault
		want []int
	}{
		{"a strike", own, Fault{Kind: StrikeDaemon, lane: daemonLane, Daemon: 2}, []int{2}},
		{"a strike that has a cluster's way fail", shared, Fault{Kind: StrikeDaemon, lane: daemonLane, Daemon: 2}, []int{0, 1, 2}},
		{"a kill beside a cluster", shared, Fault{Kind: KillDaemon, lane: daemonLane, Daemon: 2}, []int{2}},
		{"a network of its own", own, Fault{Kind: CutFast, lane: networkLane, Daemon: 1}, []int{1}},
		{"a cluster's network", shared, Fault{Kind: CutFast, lane: networkLane, Daemon: 1}, []int{0, 1, 2}},
		{"a server", own, Fault{Kind: KillPostgres, lane: engineLane, Daemon: 1}, []int{everybody}},
		{"a clock", own, Fault{Kind: StepClock, lane: clockLane, Daemon: 1}, nil},
	} {
		if diff := cmp.Diff(c.want, c.w.whom(c.f)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

func TestWhatForgets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		w    *world
		k    Kind
		want bool
	}{
		{"one Redis", &world{redis: new(engines.Redis)}, ForgetRedis, true},
		{"one Redis", &world{redis: new(engines.Redis)}, PauseRedis, false},
		{"one that keeps", &world{redis: new(engines.Redis), kept: true}, ForgetRedis, false},
		{"a cluster", &world{cluster: new(engines.Cluster)}, RewindRedis, true},
		{"a cluster", &world{cluster: new(engines.Cluster)}, KillPostgres, false},
		{"a sentinel", &world{sentinel: new(engines.Sentinel)}, PauseRedis, true},
		{"PostgreSQL alone", &world{}, KillPostgres, true},
		{"PostgreSQL alone", &world{}, RestartPostgres, false},
		{"PostgreSQL alone", &world{}, StrikeDaemon, false},
	} {
		if got := c.w.forgets(c.k); got != c.want {
			t.Errorf("%s, %s: %v", c.what, c.k, got)
		}
	}
}
