package storetest

import "github.com/shoalworks/shoal/store"

// topic is cases about one thing.
type topic[C any] struct {
	name  string
	cases []C
}

// Promise is one case of the suites: what a driver promises, in a line.
type Promise struct {
	Suite string // "Records", "Boards" or "Bus": the function that runs it
	Topic string
	Text  string // the name of the subtest

	needs func(store.Abilities) bool
}

// Made tells whether a driver of these abilities makes the promise. Of boards and buses every
// driver makes every promise.
func (p Promise) Made(a store.Abilities) bool { return p.needs == nil || p.needs(a) }

// Promises are all cases of the suites, in the order in which they run.
func Promises() (out []Promise) {
	for _, t := range recordsTopics() {
		for _, c := range t.cases {
			out = append(out, Promise{"Records", t.name, c.name, c.needs})
		}
	}
	for _, t := range boardsTopics() {
		for _, c := range t.cases {
			out = append(out, Promise{Suite: "Boards", Topic: t.name, Text: c.name})
		}
	}
	for _, t := range busTopics() {
		for _, c := range t.cases {
			out = append(out, Promise{Suite: "Bus", Topic: t.name, Text: c.name})
		}
	}
	return out
}
