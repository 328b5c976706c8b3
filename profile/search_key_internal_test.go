package profile

import (
	"encoding/binary"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// This file writes the states of the search down, so that each is visited once.

// key is the state as a string: two states with the same future have the same one.
func (w *world) key() string {
	k := keyer{}
	for _, n := range [...]int{w.left.loads, w.left.commits, w.left.faults, w.left.refusals, w.left.crashes, w.left.verdicts, w.left.quits, w.left.releases} {
		k.num(uint64(n))
	}
	k.reading(w.now)
	k.num(uint64(w.acked))
	for _, c := range w.calls {
		k.text("c")
		k.num(uint64(c.node)<<8 | uint64(c.state)<<4 | uint64(c.purpose))
		k.flags(c.put, c.err != nil)
		k.reading(reading{version: c.version, record: c.rec})
		k.version(c.cond)
		k.reading(c.seen)
	}
	for i := range w.nodes {
		w.nodes[i].key(&k)
	}
	if w.ask != nil && !w.knownToken(w.ask.target) {
		k.num(0) // nobody will ever have that token again
	} else {
		k.asker(w.ask)
	}
	return string(k.out)
}

func (n *modelNode) key(k *keyer) {
	k.text("n")
	k.flags(n.crashed, n.freeing, n.lookedAt, n.load != nil, n.session != nil)
	k.version(n.looked)
	if l := n.load; l != nil {
		k.texts(l.tokens)
		for _, c := range l.claims {
			k.token(c.token)
			k.version(c.cond)
		}
		for _, a := range l.asks {
			k.asker(&a)
		}
		k.reading(l.last)
		k.flags(l.reading)
	}
	if s := n.session; s != nil {
		k.token(s.hold.token)
		k.reading(reading{version: s.hold.version, record: s.rec})
		k.num(s.hold.base)
		k.versions(s.hold.finals)
		k.num(uint64(s.data))
		k.flags(s.frozen, s.leaving, s.busy, s.attempt.final)
		k.asker(s.to)
		k.reading(reading{version: s.attempt.version, record: s.sentRec})
	}
	for _, d := range n.disowned {
		k.token(d.token)
		k.versions(d.claims)
		k.texts(d.asked)
	}
}

// keyer writes a state down. Versions and tokens are numbered in the order in which it meets
// them, so that states which differ in them alone are one.
type keyer struct {
	out    []byte
	known  []store.Version
	tokens []string
}

func (k *keyer) token(s string) {
	if s == "" {
		k.num(0)
		return
	}
	i := slices.Index(k.tokens, s)
	if i < 0 {
		i = len(k.tokens)
		k.tokens = append(k.tokens, s)
	}
	k.num(uint64(i + 1))
}

func (k *keyer) version(v store.Version) {
	if v == 0 {
		k.num(0)
		return
	}
	i := slices.Index(k.known, v)
	if i < 0 {
		i = len(k.known)
		k.known = append(k.known, v)
	}
	k.num(uint64(i + 1))
}

func (k *keyer) num(n uint64) { k.out = binary.AppendUvarint(k.out, n) }

func (k *keyer) text(s string) {
	k.num(uint64(len(s)))
	k.out = append(k.out, s...)
}

func (k *keyer) texts(list []string) {
	k.num(uint64(len(list)))
	for _, s := range list {
		k.token(s)
	}
}

func (k *keyer) versions(list []store.Version) {
	k.num(uint64(len(list)))
	for _, v := range list {
		k.version(v)
	}
}

func (k *keyer) flags(list ...bool) {
	n := uint64(0)
	for i, f := range list {
		if f {
			n |= 1 << i
		}
	}
	k.num(n)
}

func (k *keyer) asker(a *asker) {
	if a == nil {
		k.num(0)
		return
	}
	k.token(a.token)
	k.token(a.target)
}

func (k *keyer) reading(r reading) {
	k.version(r.version)
	k.num(r.record.epoch)
	k.num(r.record.revision)
	k.num(uint64(mask(r.record.data)))
	k.token(r.record.holder())
	if t := r.record.tookFrom; t != nil {
		k.token(t.token)
		k.num(t.epoch)
	}
}
