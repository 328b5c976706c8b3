package profile

import (
	"fmt"
	"strings"
)

// This file tells a path of the search to a person. Versions, tokens and nodes keep the names
// under which they first appear.

type names struct {
	token, version map[uint8]string
	node           map[uint8]string
	tokens         int
	versions       int
}

func newNames() *names {
	n := &names{token: make(map[uint8]string), version: make(map[uint8]string), node: make(map[uint8]string)}
	for i := range maxNodes {
		n.node[uint8(i+1)] = string(rune('A' + i))
	}
	return n
}

// renamed follows the names that a coder has just given anew.
func (n *names) renamed(c *coder, w *world) {
	token, version, node := make(map[uint8]string), make(map[uint8]string), make(map[uint8]string)
	for old := uint8(1); old <= w.tokens; old++ {
		if to := c.tok[old]; to != 0 {
			token[to] = n.tokenName(old)
		}
	}
	for old := uint8(1); old <= w.versions; old++ {
		if to := c.ver[old]; to != 0 {
			version[to] = n.versionName(old)
		}
	}
	for old := uint8(1); old <= w.left.nodes; old++ {
		node[c.node[old]] = n.node[old]
	}
	n.token, n.version, n.node = token, version, node
}

func (n *names) tokenName(t uint8) string {
	if t == 0 {
		return "nobody"
	}
	if n.token[t] == "" {
		n.tokens++
		n.token[t] = fmt.Sprintf("t%d", n.tokens)
	}
	return n.token[t]
}

func (n *names) versionName(v uint8) string {
	if v == 0 {
		return "absent"
	}
	if n.version[v] == "" {
		n.versions++
		n.version[v] = fmt.Sprintf("v%d", n.versions)
	}
	return n.version[v]
}

func (n *names) record(r *modelRecord) string {
	return fmt.Sprintf("{epoch %d, revision %d, commits %b, %s}", r.epoch, r.revision, r.data.mask, n.tokenName(r.token))
}

func (n *names) journal(j *modelJournal) string {
	sealed := ""
	if j.sealed {
		sealed = ", sealed"
	}
	return fmt.Sprintf("{epoch %d, %s, %d..%d, commits %b%s}", j.epoch, n.tokenName(j.token), j.base, j.rev, j.effects.mask, sealed)
}

func (n *names) call(c *modelCall) string {
	switch c.op {
	case opPutRecord:
		return fmt.Sprintf("put record %s if %s: %s", n.versionName(c.version), n.versionName(c.cond), n.record(&c.rec))
	case opPutJournal:
		return fmt.Sprintf("put journal %s if %s: %s", n.versionName(c.version), n.versionName(c.cond), n.journal(&c.jour))
	case opDeleteJournal:
		return "delete journal if " + n.versionName(c.cond)
	case opGetRecord:
		if c.state == callApplied {
			return fmt.Sprintf("get record: %s %s", n.versionName(c.version), n.record(&c.rec))
		}
		return "get record"
	case opGetJournal:
		if c.state == callApplied && c.version != 0 {
			return fmt.Sprintf("get journal: %s %s", n.versionName(c.version), n.journal(&c.jour))
		}
		return "get journal"
	case opNone:
	}
	return "nothing"
}

func (n *names) step(w *world, s modelStep) string {
	who := n.node[s.node+1]
	what, ok := map[stepKind]string{
		stepApply: "applied", stepAnswer: "answered", stepLose: "answer lost, not yet applied", stepMute: "answer lost, applied",
		stepTurn: "refused",
	}[s.kind]
	if ok {
		c := &w.nodes[s.node].calls[s.lane]
		result := ""
		if c.err == errClash {
			result = " (conflict)"
		}
		return fmt.Sprintf("%s: %s%s: %s", who, what, result, n.call(c))
	}
	switch s.kind {
	case stepLate:
		return "applied late: " + n.call(&w.late[s.node])
	case stepForget:
		return "the fast store forgets"
	case stepRob:
		return "another profile takes what is claimed"
	case stepRestore:
		return "the fast store goes back"
	}
	return who + ": " + map[stepKind]string{
		stepCrash: "crashes", stepBegin: "loads", stepQuit: "gives up", stepAsk: "asks", stepPoll: "polls",
		stepTake: "takes over", stepOutbid: "is outbid", stepLook: "looks after its disowned tokens",
		stepRestart: "is another node", stepErase: "looks for the journal it left", stepTold: "is asked for a token that it does not know", stepCommit: "commits", stepCommitClaim: "commits with a claim",
		stepAsked: "reads the ask", stepRelease: "releases", stepSave: "sends a save", stepVerify: "verifies", stepAppend: "sends an append",
	}[s.kind]
}

// state is a whole state on a few lines.
func (n *names) state(w *world) string {
	var b strings.Builder
	fmt.Fprintf(&b, "record %s %s, rows %b", n.versionName(w.record.version), n.record(&w.record.rec), w.rows)
	if w.jour.version != 0 {
		fmt.Fprintf(&b, ", journal %s %s", n.versionName(w.jour.version), n.journal(&w.jour.jour))
	}
	fmt.Fprintf(&b, ", acknowledged %b, exposed %b", w.acked, w.exposed)
	for i := range int(w.left.nodes) {
		x := &w.nodes[i]
		fmt.Fprintf(&b, "\n  %s:", n.node[uint8(i+1)])
		if x.crashed {
			b.WriteString(" crashed")
		}
		if x.load.on {
			fmt.Fprintf(&b, " load (held %v, tokens %v)", x.load.held, x.load.tokens)
		}
		if s := &x.session; s.on {
			fmt.Fprintf(&b, " session %s at %s, base %d, revision %d, leaving %v, frozen %v, journal state %d at %s through %d",
				n.tokenName(s.token), n.versionName(s.version), s.base, s.revision, s.leaving, s.frozen, s.jstate, n.versionName(s.jversion), s.jrev)
		}
		for l := range x.calls {
			if c := &x.calls[l]; c.op != opNone {
				fmt.Fprintf(&b, " [%s]", n.call(c))
			}
		}
	}
	for k := range w.late {
		if w.late[k].op != opNone {
			fmt.Fprintf(&b, "\n  late: %s", n.call(&w.late[k]))
		}
	}
	return b.String()
}

// tell goes along a path, as places in the lists of steps, and says what happens.
func tell(w world, path []uint8, last *modelStep) string {
	var (
		text strings.Builder
		n    = newNames()
		enc  coder
	)
	renew := func() { // as the search did
		b := enc.encode(&w, nil)
		n.renamed(&enc, &w)
		enc.decode(b, &w)
	}
	renew()
	for _, at := range path {
		step := w.steps(nil)[at]
		text.WriteString("\n  " + n.step(&w, step))
		_ = w.do(step)
		renew()
	}
	if last != nil {
		text.WriteString("\n  " + n.step(&w, *last))
		_ = w.do(*last)
	}
	return text.String() + "\n  then " + n.state(&w)
}
