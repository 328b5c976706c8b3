package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// errForeignBeat tells that somebody else's beat stands under this node's id.
var errForeignBeat = errors.New("node: foreign beat")

func (n *Node) beatKey() string { return beatPrefix + n.id }

// firstBeat beats until one has landed or ctx ends.
func (n *Node) firstBeat(ctx context.Context) error {
	for {
		err := n.beatOnce(ctx, false)
		if err == nil || errors.Is(err, errForeignBeat) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if store.OutcomeOf(err) != store.Unknown {
			return err
		}
		if err := clock.Sleep(ctx, n.opts.Clock, n.opts.Beat); err != nil {
			return err
		}
	}
}

// beatRetries is how often a beat that did not land is sent again within its period. After an
// outage others judge again when every living node has had the time to beat; one call that
// fails must not make a node miss it.
const beatRetries = 2

// beat is one step of the beat lane: a call of its own, never together with others.
func (n *Node) beat(ctx context.Context) error {
	err := n.beatOnce(ctx, false)
	for range beatRetries {
		if err == nil || errors.Is(err, errForeignBeat) || !n.pause(ctx, n.opts.Beat/4) {
			break
		}
		err = n.beatOnce(ctx, false)
	}
	if errors.Is(err, errForeignBeat) {
		n.fail(ctx, err)
		return errStopped
	}
	if err != nil {
		n.opts.Logger.WarnContext(ctx, "beat did not land", "node", n.id, "err", err)
		return err
	}
	n.renewMark(ctx)
	return nil
}

// pause waits; false when ctx ends, or the node closes.
func (n *Node) pause(ctx context.Context, d time.Duration) bool {
	t := n.opts.Clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-ctx.Done():
	case <-n.Closing():
	}
	return false
}

const markPrefix = "mark/"

func (n *Node) markKey(slot int) string { return fmt.Sprintf("%s%s/%d", markPrefix, n.id, slot) }

// renewMark writes a mark when one is due: a call of its own, after the beat. A mark whose
// outcome is not known cannot be used, and the next beat writes another.
func (n *Node) renewMark(ctx context.Context) {
	sent := n.opts.Clock.Now()
	n.mu.Lock()
	slot, due := n.mu.pulse.markDue(sent, n.opts.Beat)
	if due {
		n.mu.pulse = n.mu.pulse.withMark(slot, mark{})
	}
	n.mu.Unlock()
	if !due {
		return
	}
	v := n.NewVersion("mark", n.id)
	err := n.st.Fast().Commit(ctx, store.Tx{{Key: n.markKey(slot), Op: store.Put, Value: []byte("{}"), Version: v}})[0]
	if err != nil {
		n.opts.Logger.DebugContext(ctx, "mark did not land", "node", n.id, "err", err)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.pulse = n.mu.pulse.withMark(slot, mark{version: v, sent: sent, acked: n.opts.Clock.Now()})
}

// errForgotten tells that the store has no beat of this node any more, or an earlier one only:
// the next one is sent at once, since others may judge as soon as every living node has had the
// time to beat again.
var errForgotten = errors.New("node: the store has forgotten the last beat")

// errAdopted tells that an earlier beat had landed, and this one had not.
var errAdopted = errors.New("node: an earlier beat had landed")

// beatOnce sends one beat. When an earlier one is found to have landed, whose answer was lost,
// it sends this one again, behind that.
func (n *Node) beatOnce(ctx context.Context, closed bool) error {
	err := n.sendBeat(ctx, closed)
	if errors.Is(err, errAdopted) || errors.Is(err, errForgotten) {
		err = n.sendBeat(ctx, closed)
	}
	if errors.Is(err, errAdopted) && !closed {
		return nil // one has landed, after all
	}
	return err
}

// sendBeat sends a beat, conditional on the last one, and reads back what a conflict or a
// lost answer leaves open.
func (n *Node) sendBeat(ctx context.Context, closed bool) error {
	n.mu.Lock()
	p := n.mu.pulse
	n.mu.beats++
	form := beatForm{Format: beatFormat, ID: n.id, Name: n.opts.Name, N: n.mu.beats, Closed: closed}
	n.mu.Unlock()
	form.Started, form.Players = n.started(), n.countPlayers()

	b := sentBeat{version: n.NewVersion("beat", n.id), sent: n.opts.Clock.Now()}
	err := n.st.Fast().Commit(ctx, store.Tx{{
		Key: n.beatKey(), Op: store.Put, Value: form.encode(), If: store.Is(p.cond()), Version: b.version,
	}})[0]
	switch {
	case err == nil:
		n.landed(b)
		return nil
	case store.OutcomeOf(err) == store.Unknown:
		n.mu.Lock()
		n.mu.pulse = n.mu.pulse.sentUnknown(b)
		n.mu.Unlock()
		return fmt.Errorf("node: beat: %w", err)
	case isConflict(err):
		return n.adoptBeat(ctx)
	}
	return fmt.Errorf("node: beat: %w", err)
}

// adoptBeat reads the own beat after a conflict: an earlier one whose answer was lost, none
// (the store forgot: the next one is Absent), or somebody else's.
func (n *Node) adoptBeat(ctx context.Context) error {
	recs, err := n.st.Fast().Get(ctx, n.beatKey())
	if err != nil {
		return fmt.Errorf("node: beat: %w", err)
	}
	n.mu.Lock()
	own, mine := n.mu.pulse.own(recs[0].Version)
	back := false
	switch {
	case recs[0].Missing():
		n.mu.pulse = n.mu.pulse.forgotten()
		n.mu.forgot++
	case !mine:
		if n.mu.pulse, back = n.mu.pulse.wentBack(recs[0].Version); back {
			n.mu.forgot++
		}
	}
	n.mu.Unlock()
	switch {
	case recs[0].Missing():
		return errForgotten
	case back:
		return fmt.Errorf("%w: an earlier one stands there", errForgotten)
	case mine:
		n.landed(own)
		return errAdopted
	}
	return fmt.Errorf("%w: %s holds version %v", errForeignBeat, n.beatKey(), recs[0].Version)
}

// Forgot counts how often this node has found that the fast store had lost its memory, or had
// gone back in time. What is only there, such as journals, may be gone then.
func (n *Node) Forgot() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.forgot
}

func (n *Node) landed(b sentBeat) {
	now := n.opts.Clock.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.pulse = n.mu.pulse.landedBeat(b, now, n.opts.Beat, n.opts.DeadAfter)
}

// started is when this node started, in fleet time, kept from the first estimate.
func (n *Node) started() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.started.IsZero() {
		n.mu.started, _ = n.mu.estimate.at(n.opts.Clock.Now())
	}
	return n.mu.started
}

// Look reads the beat of holder together with the node's own, in one call. A failed read is
// an error, and proves nothing.
func (n *Node) Look(ctx context.Context, holder string) (Look, error) {
	keys := []string{beatPrefix + holder, n.markKey(0), n.markKey(1)}
	if holder != n.id {
		keys = append(keys, n.beatKey())
	}
	n.mu.Lock()
	before := n.mu.pulse
	n.mu.Unlock()
	sent := n.opts.Clock.Now()
	recs, err := n.st.Fast().Get(ctx, keys...)
	if err != nil {
		return Look{}, fmt.Errorf("node: look at %s: %w", holder, err)
	}
	answered := n.opts.Clock.Now()
	theirs := recs[0]
	seen := own{beat: recs[len(recs)-1], marks: [2]store.Record{recs[1], recs[2]}}
	if holder == n.id {
		seen.beat = theirs
	}
	look := Look{Sent: sent, At: answered, MayJudge: n.calibrate(ctx, before, seen, sent, answered)}
	if theirs.Missing() {
		return look, nil
	}
	look.Present, look.Version, look.Age = true, theirs.Version, theirs.Age
	n.mu.Lock()
	look.Since = n.sightLocked(holder, theirs.Version, answered)
	n.mu.Unlock()
	if b, err := decodeBeat(theirs.Value); err == nil {
		look.Closed = b.Closed
	}
	return look, nil
}

// own are the looker's own records in a look.
type own struct {
	beat  store.Record
	marks [2]store.Record
}

// calibrate decides whether this look may be judged by. The own beat may have moved while
// the look was under way: then it fits the pulse before or the pulse after.
func (n *Node) calibrate(ctx context.Context, before pulse, o own, sent, answered time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	after, vouched, stepped := n.mu.pulse.readMarks(before.marks, o.marks, sent, answered, n.opts.Beat)
	n.mu.pulse = after
	may, moved := after.mayJudge(o.beat, sent, answered, n.opts.Beat)
	if !may && !moved && before.version == o.beat.Version && before.version != after.version {
		before.blocked = after.blocked
		may, moved = before.mayJudge(o.beat, sent, answered, n.opts.Beat)
	}
	if moved || stepped {
		n.mu.pulse.blocked = answered.Add(n.opts.DeadAfter)
		n.opts.Logger.WarnContext(ctx, "the store's clock has moved: judging nobody", "node", n.id, "ownAge", o.beat.Age, "for", n.opts.DeadAfter)
		return false
	}
	return may && vouched
}

func isConflict(err error) bool { return errors.Is(err, store.ErrConflict) }
