package server

import (
	"time"

	"github.com/shoalworks/shoal/node"
)

// nodeNumbers are those of the node itself.
type nodeNumbers struct {
	beating, failed, closing, fresh bool

	dead int
	lead time.Duration
}

// infoSeries names the node. Its id is a label of this one series only, to join others with.
func (s *Server) infoSeries() *series[struct{}] {
	rows := []row[struct{}]{
		gauge("shoal_node_info", "Always 1; its labels are the node's id, which is new at every start, and its name.", func(struct{}) float64 { return 1 }),
	}
	return newSeries(rows, func(show func(struct{}, ...string)) { show(struct{}{}, s.node.ID(), s.node.Options().Name) }, "id", "name")
}

// nodeSeries is the node itself.
func (s *Server) nodeSeries() *series[nodeNumbers] {
	o := s.node.Options()
	rows := []row[nodeNumbers]{
		gauge("shoal_node_beating", "1 while the node's heartbeats land in the store; 0 while they do not: then it saves more often, and takes over nothing.", func(n nodeNumbers) float64 { return flag(n.beating) }),
		gauge("shoal_node_failed", "1 when another process was found beating under this node's id: this one must end.", func(n nodeNumbers) float64 { return flag(n.failed) }),
		gauge("shoal_node_closing", "1 from when the node began to end.", func(n nodeNumbers) float64 { return flag(n.closing) }),
		gauge("shoal_node_dead_nodes", "Nodes of the fleet that this node knows to be dead: they stopped without an orderly end, and their heartbeats are still in the store. 0 while the own heartbeats do not land.", func(n nodeNumbers) float64 { return float64(n.dead) }),
		gauge("shoal_node_fleet_time_fresh", "1 while the durable store's clock was read within the last minute; 0 while it was not: then no season is closed.", func(n nodeNumbers) float64 { return flag(n.fresh) }),
		gauge("shoal_node_clock_lead_seconds", "How far this machine's clock is ahead of the durable store's, in seconds; negative when it is behind.", func(n nodeNumbers) float64 { return seconds(n.lead) }),
		gauge("shoal_node_beat_interval_seconds", "How often the node beats, in seconds, as configured.", func(nodeNumbers) float64 { return seconds(o.Beat) }),
		gauge("shoal_node_dead_after_seconds", "The silence, in seconds, from which a node counts as dead, as configured.", func(nodeNumbers) float64 { return seconds(o.DeadAfter) }),
	}
	return newSeries(rows, func(show func(nodeNumbers, ...string)) { show(s.nodeNumbers()) })
}

func (s *Server) nodeNumbers() nodeNumbers {
	local := s.clock.Now()
	fleet, fresh := s.node.FleetTime()
	return nodeNumbers{
		beating: s.node.Beating(), failed: over(s.node.Failed()), closing: over(s.node.Closing()), fresh: fresh,
		dead: len(s.node.Dead()), lead: local.Round(0).Sub(fleet.Round(0)),
	}
}

// budgetSeries is the request budget; without limits there is none.
func (s *Server) budgetSeries() *series[node.GateCount] {
	rows := append(parted("shoal_budget_calls_total", "Calls to the store at the request budget, by class and result: passed, refused (gave up, were cancelled, or found the queue full).", "result", []parting[node.GateCount]{
		{"passed", func(n node.GateCount) uint64 { return n.Passed }},
		{"refused", func(n node.GateCount) uint64 { return n.Refused }},
	}),
		counter("shoal_budget_waits_total", "Calls that passed and had to wait before; they are among the passed.", func(n node.GateCount) uint64 { return n.Waited }),
		summed("shoal_budget_wait_seconds_total", "How long calls waited for the budget, in seconds, summed over those that passed.", func(n node.GateCount) float64 { return seconds(n.Wait) }),
		gauge("shoal_budget_queue_calls", "Calls that wait for the budget now.", func(n node.GateCount) float64 { return float64(n.Queue) }),
	)
	return newSeries(rows, func(show func(node.GateCount, ...string)) {
		counts := s.node.Gate()
		for _, class := range []node.Class{node.ClassSave, node.ClassLoad, node.ClassBoard, node.ClassBackground} {
			if n, ok := counts[class]; ok {
				show(n, class.String())
			}
		}
	}, "class")
}
