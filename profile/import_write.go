package profile

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// importTries is how often in a row the store may not take a batch, or not tell, before the
// import ends with its error.
const importTries = 12

// importWrites is one batch on its way to the store.
type importWrites struct {
	*importing
	todo    []*importee
	refused *ImportError // the first line that was
}

// importee is one profile on its way.
type importee struct {
	candidate
	found reading // what is there, as far as is known: at first nothing
	known bool    // found was read
	step  importStep
	write store.Write // what was sent; its Version is 0 while nothing was
	next  record      // what it writes
	doubt bool        // an answer to it was lost
}

// batch imports some profiles. refused is the first that the store, or what is there, does not
// let in; an error ends the import, and then nothing of the batch is counted that is not known.
func (m *importing) batch(ctx context.Context, list []candidate) (refused *ImportError, err error) {
	w := &importWrites{importing: m}
	for _, c := range list {
		w.todo = append(w.todo, &importee{candidate: c})
	}
	read := m.opts.DryRun || m.opts.Overwrite != Skip // else most are expected to be new
	for fails := 0; len(w.todo) > 0; {
		left := len(w.todo)
		err := w.round(ctx, read)
		read = true
		if len(w.todo) < left {
			fails = 0
		}
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, store.ErrClosed):
			return nil, err
		}
		if fails++; fails >= importTries {
			return nil, err
		}
		if err := clock.Sleep(ctx, m.set.clk, backoff(fails, m.set.node.Random("import retry", m.set.name))); err != nil {
			return nil, err
		}
	}
	return w.refused, nil
}

// round finds out what is there, decides, and writes. Profiles that are decided are no longer
// to do. Its error is that the store did not take something, or did not tell.
func (w *importWrites) round(ctx context.Context, read bool) error {
	if read {
		if err := w.look(ctx); err != nil {
			return err
		}
	}
	w.each(w.decide)
	if len(w.todo) == 0 {
		return nil
	}
	return w.send(ctx)
}

// each keeps those to do that f does not decide.
func (w *importWrites) each(f func(*importee) (decided bool)) {
	kept := w.todo[:0]
	for _, p := range w.todo {
		if !f(p) {
			kept = append(kept, p)
		}
	}
	w.todo = kept
}

// look reads those of which it is not known what is there.
func (w *importWrites) look(ctx context.Context) error {
	var keys []string
	var asked []*importee
	for _, p := range w.todo {
		if !p.known {
			keys, asked = append(keys, recordKey(w.set.name, p.key)), append(asked, p)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if err := w.set.passAll(ctx, node.KindRead, len(keys)); err != nil {
		return err
	}
	call, cancel := w.set.within(ctx)
	defer cancel()
	recs, err := w.set.durable.Get(call, keys...)
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	for i, p := range asked {
		p.found, p.known = readingOf(recs[i]), true
	}
	return nil
}

// decide counts a profile that is not to be written, or was, and composes the write of one that
// is. A write in doubt is sent again as it was while what it asks for is still there: then one
// of the two is refused.
func (w *importWrites) decide(p *importee) bool {
	if p.write.Version != 0 && p.known {
		if p.found.version == p.write.Version {
			w.done(p)
			return true
		}
		if base, _ := p.write.If.Wants(); p.doubt && base == p.found.version {
			return false
		}
		p.write, p.doubt = store.Write{}, false
	}
	if p.write.Version != 0 {
		return false // it was not taken: once more
	}
	var next record
	p.step, next = importPlan(p.rec, p.found, w.opts.Overwrite)
	switch p.step {
	case importWrite, importReplace:
		if w.opts.DryRun {
			w.done(p)
			return true
		}
		p.next = next
		p.write = store.Write{
			Key: recordKey(w.set.name, p.key), Op: store.Put, Value: next.encode(),
			If: store.Is(p.found.version), Version: w.set.node.NewVersion("import", p.key),
		}
		return false
	case importSame:
		w.report.Same++
	case importSkip:
		w.report.Skipped++
	case importErased:
		w.report.Erased++
	case importHeld:
		w.report.Held++
		w.note(ImportError{Line: p.line, Key: p.key, Err: fmt.Errorf("held by %s: %w", p.found.record.session.node, ErrInUse)})
	case importAlien:
		_, err := viewOf(p.key, p.found)
		w.refuse(p, fmt.Errorf("what is stored: %w", err))
	}
	return true
}

func (w *importWrites) done(p *importee) {
	if p.step == importReplace {
		w.report.Replaced++
	} else {
		w.report.Written++
	}
	if !w.opts.DryRun {
		w.set.tellRecord(p.key, p.next)
	}
}

func (w *importWrites) refuse(p *importee, err error) {
	e := ImportError{Line: p.line, Key: p.key, Err: err}
	w.failed(e)
	if w.refused == nil || e.Line < w.refused.Line {
		w.refused = &e
	}
}

// send writes what is to do, each profile in a transaction of its own.
func (w *importWrites) send(ctx context.Context) error {
	txs := make([]store.Tx, len(w.todo))
	for i, p := range w.todo {
		txs[i] = store.Tx{p.write}
	}
	if err := w.set.passAll(ctx, node.KindWrite, len(txs)); err != nil {
		return err
	}
	call, cancel := w.set.within(ctx)
	defer cancel()
	errs := w.set.durable.Commit(call, txs...)
	var trouble error
	i := -1
	w.each(func(p *importee) bool {
		i++
		err := errs[i]
		w.set.count(err)
		switch {
		case err == nil:
			w.done(p)
			return true
		case isConflict(err):
			p.known = false
			if !p.doubt {
				p.write = store.Write{}
			}
		case store.OutcomeOf(err) == store.Unknown:
			p.known, p.doubt, trouble = false, true, err
		case unstorable(err):
			w.refuse(p, err)
			return true
		default:
			trouble = err
		}
		return false
	})
	return trouble
}

// passAll waits for the budget of so many requests of background work.
func (s *Set) passAll(ctx context.Context, k node.Kind, n int) error {
	for range n {
		if !s.node.Limited() {
			return nil
		}
		if err := s.node.Pass(ctx, node.ClassBackground, k); err != nil {
			return err
		}
	}
	return nil
}
