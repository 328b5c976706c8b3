package profile

import (
	"slices"
)

// This file writes the states of the search down and reads them back. What differs only in
// the names of versions, tokens or nodes, or in what can have no effect any more, is written
// as the same bytes; the state read back is the one that they stand for.

// coder goes over a state, in one direction or the other.
type coder struct {
	buf     []byte
	pos     int
	reading bool
	tok     [256]uint8 // the new names, while writing
	ver     [256]uint8
	node    [maxNodes + 1]uint8
	ntok    uint8
	nver    uint8
	order   [maxNodes]uint8
	live    [256]bool

	keepOrder bool // nodes keep their names
}

func (c *coder) num(p *uint8) {
	if c.reading {
		*p = c.buf[c.pos]
		c.pos++
		return
	}
	c.buf = append(c.buf, *p)
}

func (c *coder) token(p *uint8) {
	if c.reading {
		c.num(p)
		c.ntok = max(c.ntok, *p)
		return
	}
	n := *p
	if n != 0 {
		if c.tok[n] == 0 {
			c.ntok++
			c.tok[n] = c.ntok
		}
		n = c.tok[n]
	}
	c.buf = append(c.buf, n)
}

func (c *coder) version(p *uint8) {
	if c.reading {
		c.num(p)
		c.nver = max(c.nver, *p)
		return
	}
	n := *p
	if n != 0 {
		if c.ver[n] == 0 {
			c.nver++
			c.ver[n] = c.nver
		}
		n = c.ver[n]
	}
	c.buf = append(c.buf, n)
}

func (c *coder) nodeName(p *uint8) {
	if c.reading {
		c.num(p)
		return
	}
	c.buf = append(c.buf, c.node[*p])
}

func (c *coder) flags(list ...*bool) {
	var n uint8
	if c.reading {
		n = c.buf[c.pos]
		c.pos++
		for i, p := range list {
			*p = n>>i&1 != 0
		}
		return
	}
	for i, p := range list {
		if *p {
			n |= 1 << i
		}
	}
	c.buf = append(c.buf, n)
}

func (c *coder) on(p *bool) bool {
	c.flags(p)
	return *p
}

// versions are a list that ends with the first zero.
func (c *coder) versions(list []uint8) {
	for i := range list {
		c.version(&list[i])
		if list[i] == 0 {
			return
		}
	}
}

func (c *coder) data(d *modelData) {
	c.num(&d.mask)
	c.num(&d.last)
}

func (c *coder) record(r *modelRecord) {
	c.num(&r.epoch)
	if r.epoch == 0 {
		return
	}
	c.num(&r.revision)
	c.data(&r.data)
	c.token(&r.token)
	c.nodeName(&r.node)
	c.num(&r.took)
}

func (c *coder) journal(j *modelJournal) {
	c.num(&j.epoch)
	if j.epoch == 0 {
		return
	}
	c.token(&j.token)
	c.num(&j.base)
	c.num(&j.rev)
	c.data(&j.baseData)
	c.data(&j.effects)
	c.flags(&j.sealed)
}

func (c *coder) recordCell(r *recordCell) {
	c.version(&r.version)
	if r.version != 0 {
		c.record(&r.rec)
	}
}

func (c *coder) journalCell(j *journalCell) {
	c.version(&j.version)
	if j.version != 0 {
		c.journal(&j.jour)
	}
}

func (c *coder) call(k *modelCall) {
	c.num((*uint8)(&k.op))
	if k.op == opNone {
		return
	}
	c.num((*uint8)(&k.state))
	c.num((*uint8)(&k.err))
	c.version(&k.version)
	if k.op.put() {
		c.version(&k.cond)
		c.num(&k.claims)
	}
	if k.op == opGetRecord {
		c.num(&k.claims)
	}
	if k.version == 0 {
		return
	}
	if k.op == opGetRecord || k.op == opPutRecord {
		c.record(&k.rec)
	} else {
		c.journal(&k.jour)
	}
}

func (c *coder) bounds(b *bounds) {
	for _, p := range [...]*uint8{
		&b.nodes, &b.loads, &b.commits, &b.claims, &b.faults, &b.refusals, &b.crashes, &b.verdicts, &b.quits,
		&b.releases, &b.forgets, &b.restores, &b.restarts, &b.robs,
	} {
		c.num(p)
	}
}

func (c *coder) ask(a *modelAsk) {
	c.token(&a.token)
	if a.token != 0 {
		c.nodeName(&a.node)
		c.token(&a.target)
	}
}

func (c *coder) seizure(z *modelSeizure) {
	if c.on(&z.on) {
		c.recordCell(&z.from)
	}
	c.version(&z.disputed.record)
	c.version(&z.disputed.journal)
}

func (c *coder) load(l *modelLoad) {
	if !c.on(&l.on) {
		return
	}
	c.flags(&l.held)
	c.token(&l.verdict)
	for i := range l.tokens {
		c.token(&l.tokens[i])
		if l.tokens[i] == 0 {
			break
		}
	}
	for i := range l.claims {
		c.token(&l.claims[i].token)
		if l.claims[i].token == 0 {
			break
		}
		c.version(&l.claims[i].cond)
	}
	for i := range l.asks {
		c.token(&l.asks[i].token)
		if l.asks[i].token == 0 {
			break
		}
		c.token(&l.asks[i].target)
	}
	if l.held {
		c.recordCell(&l.last)
	}
	c.seizure(&l.seize)
	c.version(&l.seal)
}

func (c *coder) session(s *modelSession) {
	if !c.on(&s.on) {
		return
	}
	c.flags(&s.frozen, &s.leaving, &s.suspect, &s.verifying, &s.final, &s.empties, &s.fails, &s.void)
	c.token(&s.token)
	c.num(&s.epoch)
	c.version(&s.version)
	c.num(&s.base)
	c.versions(s.finals[:])
	c.record(&s.rec)
	c.data(&s.data)
	c.num(&s.revision)
	c.num(&s.mine)
	c.ask(&s.to)
	c.version(&s.sent)
	c.num(&s.sentRev)
	c.version(&s.opened)
	c.num((*uint8)(&s.jstate))
	c.version(&s.jversion)
	c.version(&s.jopening)
	c.versions(s.jsent[:])
	c.num(&s.jrev)
}

func (c *coder) nodeState(n *modelNode) {
	c.flags(&n.crashed, &n.looked, &n.burying)
	if n.crashed {
		return
	}
	c.version(&n.bury)
	c.token(&n.strays)
	c.load(&n.load)
	c.session(&n.session)
	for i := range n.disowned {
		d := &n.disowned[i]
		c.token(&d.token)
		if d.token == 0 {
			break
		}
		c.num((*uint8)(&d.kind))
		c.flags(&d.seen)
		if d.kind == disownedClaim {
			c.version(&d.ref)
		} else {
			c.token(&d.ref)
		}
	}
	if n.disowned[0].token != 0 {
		c.version(&n.lookedAt)
	}
	for l := range n.calls {
		c.call(&n.calls[l])
	}
	c.seizure(&n.free)
}

func (c *coder) world(w *world) {
	c.bounds(&w.left)
	c.recordCell(&w.record)
	c.journalCell(&w.jour)
	if w.left.restores > 0 {
		c.journalCell(&w.old)
	}
	for _, p := range [...]*uint8{&w.rows, &w.made, &w.claims, &w.robbed, &w.acked, &w.exposed, &w.cur} {
		c.num(p)
	}
	c.data(&w.from)
	c.ask(&w.ask)
	for k := range int(w.left.nodes) {
		c.nodeState(&w.nodes[c.order[k]])
	}
	if !c.reading {
		c.sortLate(w)
	}
	for k := range w.late {
		c.call(&w.late[k])
		if w.late[k].op == opNone {
			break
		}
	}
}

// encode appends the state to buf. The state itself loses what can have no effect.
func (c *coder) encode(w *world, buf []byte) []byte {
	c.buf, c.reading, c.ntok, c.nver = buf, false, 0, 0
	clear(c.tok[:w.tokens+1])
	clear(c.ver[:w.versions+1])
	c.forgetTokens(w)
	w.dropLate()
	c.sortNodes(w)
	c.world(w)
	return c.buf
}

// decode reads the state back.
func (c *coder) decode(buf []byte, w *world) {
	broken := w.broken
	*w = world{broken: broken}
	c.buf, c.pos, c.reading, c.ntok, c.nver = buf, 0, true, 0, 0
	c.order = [maxNodes]uint8{0, 1, 2}
	c.world(w)
	w.tokens, w.versions = c.ntok, c.nver
}

// sortNodes puts the nodes into an order of their own; any will do.
func (c *coder) sortNodes(w *world) {
	var rank [maxNodes]uint64
	n := int(w.left.nodes)
	for i := range n {
		c.order[i], rank[i] = uint8(i), w.nodes[i].rank()
		if int(w.record.rec.node) == i+1 {
			rank[i]++
		}
	}
	if c.keepOrder {
		rank = [maxNodes]uint64{}
	}
	slices.SortStableFunc(c.order[:n], func(a, b uint8) int {
		switch {
		case rank[a] > rank[b]:
			return -1
		case rank[a] < rank[b]:
			return 1
		}
		return 0
	})
	for i := range n {
		c.node[c.order[i]+1] = uint8(i + 1)
	}
}

// rank tells nodes apart by what does not depend on names.
func (n *modelNode) rank() uint64 {
	if n.crashed {
		return 0
	}
	r := uint64(2)
	add := func(v uint8, width int) { r = r<<width | uint64(v) }
	flag := func(b bool) {
		r <<= 1
		if b {
			r |= 1
		}
	}
	flag(n.session.on)
	flag(n.load.on)
	flag(n.load.held)
	flag(n.disowned[0].token != 0)
	flag(n.session.leaving)
	flag(n.session.frozen)
	add(n.session.revision, 3)
	add(n.session.base, 3)
	add(n.session.epoch, 4)
	add(uint8(n.session.jstate), 2)
	for l := range n.calls {
		add(uint8(n.calls[l].op), 3)
		add(uint8(n.calls[l].state), 2)
	}
	return r << 1
}

// dropLate forgets puts that can never be applied: they are conditional on a version that is
// gone, and nobody writes again. Versions come back by a restore only, absence by a deletion.
func (w *world) dropLate() {
	kept := 0
	for k := range w.late {
		if c := w.late[k]; c.op != opNone && w.mayComeToApply(&c) {
			w.late[kept] = c
			kept++
		}
	}
	clear(w.late[kept:])
}

func (w *world) mayComeToApply(c *modelCall) bool {
	journal := c.op != opPutRecord
	at := w.record.version
	if journal {
		at = w.jour.version
	}
	switch {
	case c.cond == at, journal && w.broken == deletesAny, journal && c.cond == 0 && c.op == opPutJournal,
		journal && w.left.restores > 0 && w.old.version == c.cond:
		return true
	case c.cond == 0:
		return false
	}
	makes := func(o *modelCall) bool {
		return o.state == callSent && o.op.put() && (o.op != opPutRecord) == journal && o.version == c.cond
	}
	for i := range w.nodes {
		for l := range w.nodes[i].calls {
			if makes(&w.nodes[i].calls[l]) {
				return true
			}
		}
	}
	return slices.ContainsFunc(w.late[:], func(o modelCall) bool { return makes(&o) })
}

// mayBring tells that a journal of the session may come to stand in the store.
func (w *world) mayBring(token uint8) bool {
	is := func(c *modelCall) bool { return c.op == opPutJournal && c.state == callSent && c.jour.token == token }
	for i := range w.nodes {
		for l := range w.nodes[i].calls {
			if is(&w.nodes[i].calls[l]) {
				return true
			}
		}
	}
	return slices.ContainsFunc(w.late[:], func(c modelCall) bool { return is(&c) })
}

// sortLate orders the late calls by what is known of them so far.
func (c *coder) sortLate(w *world) {
	key := func(k *modelCall) uint64 {
		if k.op == opNone {
			return 0
		}
		return uint64(k.op)<<56 | uint64(c.ver[k.cond])<<48 | uint64(c.ver[k.version])<<40 | uint64(k.rec.revision)<<32 |
			uint64(k.jour.rev)<<24 | uint64(k.jour.base)<<16 | uint64(k.rec.epoch)<<8 | uint64(c.tok[k.rec.token])
	}
	for i := 1; i < len(w.late) && w.late[i].op != opNone; i++ {
		for j := i; j > 0 && key(&w.late[j]) > key(&w.late[j-1]); j-- {
			w.late[j], w.late[j-1] = w.late[j-1], w.late[j]
		}
	}
}

// forgetTokens drops tokens that no record can come to name: to have them, or to get rid of
// them, means nothing any more.
func (c *coder) forgetTokens(w *world) {
	clear(c.live[:w.tokens+1])
	c.live[w.record.rec.token] = true
	for i := range w.nodes {
		n := &w.nodes[i]
		for l := range n.calls {
			c.live[n.calls[l].rec.token] = true
		}
		c.live[n.load.last.rec.token] = c.live[n.load.last.rec.token] || n.load.held
		c.live[n.load.seize.from.rec.token] = c.live[n.load.seize.from.rec.token] || n.load.seize.on
		c.live[n.free.from.rec.token] = c.live[n.free.from.rec.token] || n.free.on
		c.live[n.session.token], c.live[n.session.to.token] = true, true
		if w.broken == tokenPerLoad { // it may come back
			c.live[n.load.tokens[0]] = true
		}
	}
	for k := range w.late {
		c.live[w.late[k].rec.token] = true
	}
	if c.live[w.ask.target] && w.ask.target != 0 {
		c.live[w.ask.token] = true
	} else {
		w.ask = modelAsk{}
	}
	c.live[0] = false
	for i := range w.nodes {
		c.forgetNodeTokens(w, &w.nodes[i])
	}
}

func (c *coder) forgetNodeTokens(w *world, n *modelNode) {
	l := &n.load
	if !n.burying && n.strays != w.jour.jour.token && !w.mayBring(n.strays) {
		n.strays = 0
	}
	if !c.live[l.verdict] {
		l.verdict = 0
	}
	kept := 0
	for _, t := range l.tokens {
		if c.live[t] {
			l.tokens[kept] = t
			kept++
		}
	}
	clear(l.tokens[kept:])
	kept = 0
	for _, x := range l.claims {
		if c.live[x.token] {
			l.claims[kept] = x
			kept++
		}
	}
	clear(l.claims[kept:])
	kept = 0
	for _, a := range l.asks {
		if c.live[a.target] || c.live[a.token] {
			l.asks[kept] = a
			kept++
		}
	}
	clear(l.asks[kept:])
	kept = 0
	for _, d := range n.disowned {
		if c.live[d.token] || d.kind == disownedAsk && c.live[d.ref] && w.ask.token == d.token {
			if d.kind == disownedAsk && !c.live[d.ref] {
				d.ref = 0
			}
			d.seen = d.seen && n.calls[laneFree].op == opGetRecord
			n.disowned[kept] = d
			kept++
		}
	}
	clear(n.disowned[kept:])
	for _, z := range [...]*modelSeizure{&l.seize, &n.free} {
		if z.disputed.record != w.record.version || z.disputed.journal != w.jour.version {
			z.disputed.record, z.disputed.journal = 0, 0
		}
	}
}
