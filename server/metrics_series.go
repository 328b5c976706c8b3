package server

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// row is one metric that is read from numbers of the form T.
type row[T any] struct {
	name string
	help string // a sentence or more, with the unit and what the number means
	kind prometheus.ValueType
	part part
	read func(T) float64
}

// part tells the rows of one name apart by a label of their own.
type part struct{ label, value string }

// gauge is a number that goes up and down.
func gauge[T any](name, help string, read func(T) float64) row[T] {
	return row[T]{name: name, help: help, kind: prometheus.GaugeValue, read: read}
}

// counter is a number that only grows, from 0 at the daemon's start.
func counter[T any](name, help string, read func(T) uint64) row[T] {
	return summed(name, help, func(t T) float64 { return float64(read(t)) })
}

// summed is a counter that need not be whole.
func summed[T any](name, help string, read func(T) float64) row[T] {
	return row[T]{name: name, help: help, kind: prometheus.CounterValue, read: read}
}

// parted are the counters of one name, told apart by a label.
func parted[T any](name, help, label string, values []parting[T]) []row[T] {
	rows := make([]row[T], len(values))
	for i, v := range values {
		rows[i] = counter(name, help, v.read)
		rows[i].part = part{label, v.value}
	}
	return rows
}

// parting is one value of the label of parted counters.
type parting[T any] struct {
	value string
	read  func(T) uint64
}

// family is what all series of one name have in common.
type family struct {
	name, kind, help string
	labels           []string
}

// series collects the same rows for each of some subjects: the sets, the boards, the node.
// It keeps no numbers.
type series[T any] struct {
	rows  []row[T]
	descs []*prometheus.Desc // one a row; rows of one name have the same
	all   []family
	// each shows the numbers of every subject with the values of its labels. It makes no call
	// to a store, and may run many times at once.
	each func(show func(T, ...string))
}

// newSeries collects rows; labels name the subjects.
func newSeries[T any](rows []row[T], each func(show func(T, ...string)), labels ...string) *series[T] {
	c := &series[T]{rows: rows, each: each}
	known := make(map[string]*prometheus.Desc)
	for _, r := range rows {
		own := append([]string{}, labels...)
		if r.part.label != "" {
			own = append(own, r.part.label)
		}
		if known[r.name] == nil {
			known[r.name] = prometheus.NewDesc(r.name, r.help, own, nil)
			c.all = append(c.all, family{r.name, kindName(r.kind), r.help, own})
		}
		c.descs = append(c.descs, known[r.name])
	}
	return c
}

func kindName(k prometheus.ValueType) string {
	if k == prometheus.CounterValue {
		return "counter"
	}
	return "gauge"
}

// addSeries puts series on the page.
func addSeries[T any](m *metrics, c *series[T]) {
	m.collectors = append(m.collectors, c)
	m.families = append(m.families, c.all...)
}

// Describe tells the registry what there is.
func (c *series[T]) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect tells the numbers of now.
func (c *series[T]) Collect(to chan<- prometheus.Metric) {
	c.each(func(t T, labels ...string) {
		for i, r := range c.rows {
			values := append([]string{}, labels...)
			if r.part.label != "" {
				values = append(values, r.part.value)
			}
			m, err := prometheus.NewConstMetric(c.descs[i], r.kind, r.read(t), values...)
			if err != nil {
				m = prometheus.NewInvalidMetric(c.descs[i], err)
			}
			to <- m
		}
	})
}

// rising is the largest value so far of a counter that is computed from others, which are
// read one after the other: a counter that seems to fall would be taken for one that began
// anew.
type rising struct{ top atomic.Uint64 }

// from is total without parts, and never less than before.
func (r *rising) from(total uint64, parts ...uint64) uint64 {
	left := total
	for _, p := range parts {
		left -= min(p, left)
	}
	for {
		top := r.top.Load()
		if left <= top {
			return top
		}
		if r.top.CompareAndSwap(top, left) {
			return left
		}
	}
}

// flag is 1 for true.
func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// over tells whether c is closed.
func over(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// seconds is d in the unit of the page.
func seconds(d time.Duration) float64 { return d.Seconds() }
