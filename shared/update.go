package shared

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Update changes a document: fn gets what is stored, or the template of a missing one, and
// answers what to do. It is called again when somebody else was faster, so it must be pure and
// quick. An error of fn is returned, and nothing was applied. Operations that change nothing
// write nothing, unless the source has an ID. With Source.ID the id alone decides whether the
// change is known.
//
// It refuses with an error of fn, of doc.Apply, or of this package; it ends with ctx, which
// makes a write that is under way an [ErrUnknown], or after MaxTries.
func (d *Documents) Update(ctx context.Context, key string, src Source, fn func(doc.Value) ([]doc.Op, error)) (Document, error) {
	out, err := d.change(ctx, key, proposal{src: src, fn: fn})
	if err != nil {
		return Document{}, fmt.Errorf("shared: update %s: %w", key, err)
	}
	return out, nil
}

// Transact is Update with operations that do not depend on the document. With Source.ID,
// another request under a known id is [ErrRepeated].
func (d *Documents) Transact(ctx context.Context, key string, src Source, ops ...doc.Op) (Document, error) {
	p := proposal{src: src, fn: func(doc.Value) ([]doc.Op, error) { return ops, nil }}
	var err error
	if src.ID != "" {
		p.digest, err = doc.OpsDigest(ops)
	}
	if err == nil {
		var out Document
		if out, err = d.change(ctx, key, p); err == nil {
			return out, nil
		}
	}
	return Document{}, fmt.Errorf("shared: transact %s: %w", key, err)
}

// Delete takes a document away. A missing one is none the worse. What is left is a tombstone,
// see the package's guarantees.
func (d *Documents) Delete(ctx context.Context, key string) error {
	if _, err := d.change(ctx, key, proposal{remove: true}); err != nil {
		return fmt.Errorf("shared: delete %s: %w", key, err)
	}
	return nil
}

// maxID bounds an id in bytes.
const maxID = 256

func (d *Documents) change(ctx context.Context, key string, p proposal) (Document, error) {
	if err := name.CheckKey("key", key); err != nil {
		return Document{}, err
	}
	if len(p.src.ID) > maxID {
		return Document{}, fmt.Errorf("an id of at most %d bytes expected, got %d", maxID, len(p.src.ID))
	}
	if p.id = p.src.ID; p.id == "" {
		p.id = d.node.NewToken("change", key)
	}
	ctx, leave, err := d.enter(ctx)
	if err != nil {
		return Document{}, err
	}
	defer leave()
	l, err := d.lanes.enter(ctx, key)
	if err != nil {
		return Document{}, err
	}
	defer d.lanes.leave(l)
	u := &update{set: d, lane: l, p: p}
	return u.run(ctx)
}

// update is one change under way. It has the turn of its lane.
type update struct {
	set  *Documents
	lane *lane
	p    proposal

	sent  *sent // a write whose outcome is not known; nil: none
	fresh bool  // the lane's reading was made by this change
	last  error // the last thing that went wrong
}

// run tries until the change is decided.
func (u *update) run(ctx context.Context) (Document, error) {
	for try := range u.set.opts.MaxTries {
		if err := u.pause(ctx, try); err != nil {
			return u.gaveUp(err)
		}
		out, decided, err := u.try(ctx)
		if decided {
			return out, err
		}
		if u.last = err; hopeless(err) {
			return u.gaveUp(err)
		}
	}
	return u.gaveUp(ErrContended)
}

// gaveUp is the answer of a change that is not decided.
func (u *update) gaveUp(why error) (Document, error) {
	u.lane.known = nil
	switch {
	case u.sent != nil && u.sent.doubt:
		return Document{}, fmt.Errorf("%w: %w", ErrUnknown, why)
	case u.last == nil, errors.Is(u.last, why), errors.Is(u.last, store.ErrConflict):
		return Document{}, why
	case errors.Is(why, ErrContended): // it was not the others' doing
		return Document{}, u.last
	}
	return Document{}, fmt.Errorf("%w: %w", why, u.last)
}

// Times between tries.
const (
	firstPause = 2 * time.Millisecond
	maxPause   = 2 * time.Second
)

// pause waits before a try: not before the first two, then for half to all of a time that
// doubles.
func (u *update) pause(ctx context.Context, try int) error {
	if try < 2 {
		return context.Cause(ctx)
	}
	d := min(firstPause<<min(try-2, 20), maxPause)
	d = d/2 + time.Duration(u.set.node.Random("retry", u.lane.key)%uint64(d/2+1))
	return clock.Sleep(ctx, u.set.clk, d)
}

// try is one round: know what is stored, decide about a lost answer, write.
func (u *update) try(ctx context.Context) (out Document, decided bool, err error) {
	if err := u.look(ctx); err != nil {
		return Document{}, false, err
	}
	if u.sent != nil {
		if out, decided, err := u.settle(); decided {
			return out, true, err
		}
	}
	if u.sent == nil {
		if out, decided, err := u.compose(); decided {
			return out, true, err
		}
	}
	if u.sent == nil {
		return Document{}, false, nil // once more, with a reading of its own
	}
	return u.write(ctx)
}

// look has the lane know what is stored.
func (u *update) look(ctx context.Context) error {
	if u.lane.known != nil {
		return nil
	}
	r, err := u.set.read(ctx, u.lane.key)
	if err != nil {
		return err
	}
	u.lane.known, u.fresh = &r, true
	u.set.lookout.tell(u.lane.key, r)
	return nil
}

// settle decides about the write whose answer was lost. It is not decided when the write was
// not applied, which makes the change start over, or may still be, which sends it again.
func (u *update) settle() (Document, bool, error) {
	now := u.lane.known
	switch fateOf(*u.sent, *now) {
	case fateDone:
		m, ok := now.record.marked(u.sent.id)
		if ok && m.digest != u.p.digest && m.digest != "" && u.p.digest != "" {
			return Document{}, true, fmt.Errorf("id %q: %w", m.id, ErrRepeated)
		}
		out := documentOf(u.lane.key, now.record)
		out.Change = m.revision
		u.set.herald.announce(u.lane.key, now.record.revision)
		return out, true, nil
	case fateUnknown:
		return Document{}, true, fmt.Errorf("%w: others have changed it since", ErrUnknown)
	case fateNot:
		u.sent = nil
	case fateOpen:
	}
	return Document{}, false, nil
}

// compose decides what to write. A refusal, or that there is nothing to do, counts only when
// it was found on a reading of this change's own: what the lane knows may be old.
func (u *update) compose() (Document, bool, error) {
	now := *u.lane.known
	next, err := propose(u.p, now, &u.set.opts, u.set.node.Now())
	if err != nil || !next.write {
		if !u.fresh {
			u.lane.known = nil
			return Document{}, false, nil
		}
		out := documentOf(u.lane.key, now.record)
		if !now.there() && !u.p.remove {
			out.Data = u.set.opts.Template
		}
		out.Change, out.Repeated = next.repeated.revision, next.repeated.id != ""
		return out, true, err
	}
	u.sent = &sent{base: now.version, from: now.record.revision, version: u.set.node.NewVersion("update", u.lane.key), next: next.next, id: u.p.id}
	return Document{}, false, nil
}

// write sends what was composed, or what was sent before, once more.
func (u *update) write(ctx context.Context) (Document, bool, error) {
	err := u.commit(ctx, *u.sent)
	switch {
	case err == nil:
		s := *u.sent
		u.lane.known, u.sent = &reading{version: s.version, record: s.next}, nil
		u.set.lookout.tell(u.lane.key, *u.lane.known)
		u.set.herald.announce(u.lane.key, s.next.revision)
		out := documentOf(u.lane.key, s.next)
		out.Change = s.next.revision
		return out, true, nil
	case store.OutcomeOf(err) == store.Unknown:
		u.sent.doubt = true
	case !u.sent.doubt:
		u.sent = nil
	}
	u.lane.known = nil // the next reading decides
	return Document{}, false, err
}

// commit is one conditional write.
func (u *update) commit(ctx context.Context, s sent) error {
	if err := u.set.node.Pass(ctx, node.ClassLoad, node.KindWrite); err != nil {
		return err
	}
	ctx, cancel := clock.WithTimeout(ctx, u.set.clk, u.set.opts.CallTimeout)
	defer cancel()
	return u.set.durable.Commit(ctx, store.Tx{{
		Key: recordKey(u.set.name, u.lane.key), Op: store.Put, Value: s.next.encode(), If: store.Is(s.base), Version: s.version,
	}})[0]
}
