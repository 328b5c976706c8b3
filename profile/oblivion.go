package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Erased tells how far an Erase came.
type Erased struct {
	// Found tells that there was a profile. What lies around one is removed in any case.
	Found bool
	// Done tells that everything is removed, and the data is gone.
	Done bool
	// What was removed by this call, in records.
	Mail, Versions, Audit, Quarantine int
	// Left names what is not known to be removed yet. Empty when Done.
	Left []string
}

// EraseOptions of one Erase. Nil is fine.
type EraseOptions struct {
	// Progress is called after each step with what was done so far. Default: nobody is told.
	Progress func(Erased)
}

// eraseHook is a function of OnErase.
type eraseHook struct {
	name string
	call func(ctx context.Context, key string) error
}

// erasedMark ends the key of the audit log's row about an erasure: it is all that stays of the
// log.
const erasedMark = "-erased"

// Erase removes a person's data at their request: what is stored of the profile, its mail, its
// versions, its audit log, its journal, notes about it and copies in quarantine; what else
// there is the functions of OnErase remove. Another node that holds the profile loses it, without a
// last save; a session of this node is released first. In this order: the profile is taken, what lies around it goes, the OnErase functions
// run, and the data goes last, in one write, which leaves the epoch and the revision alone. So
// when a step fails, or the node dies, nothing that is needed to find the rest is gone: call it
// again, on any node, as often as it takes; every step may be repeated. Until then the profile
// is what it was, though its versions and mail may be gone.
//
// What stays: that there was a profile, and when it was erased; receipts, which hold no more
// than a hash of whose they are, so that they can not be granted again; and one row of the
// audit log with src's kind and actor. The next load of the key is a new player.
//
// ErrForeign, ErrNewerSchema: what is stored is not understood, and was left as it is. An error
// names what is left, as Erased does.
func (s *Set) Erase(ctx context.Context, key string, src Source, opts *EraseOptions) (Erased, error) {
	if err := name.CheckKey("key", key); err != nil {
		return Erased{}, fmt.Errorf("profile: erase: %w", err)
	}
	if sess, ok := s.Session(key); ok {
		if err := sess.Release(ctx); err != nil && !errors.Is(err, ErrEnded) {
			return Erased{Found: true, Left: []string{"everything"}}, fmt.Errorf("profile: erase %s: %w", key, err)
		}
	}
	x := &oblivion{set: s, key: key, src: src}
	if opts != nil {
		x.progress = opts.Progress
	}
	if err := x.run(ctx); err != nil {
		return x.out, fmt.Errorf("profile: erase %s: %s left: %w", key, strings.Join(x.out.Left, ", "), err)
	}
	return x.out, nil
}

// OnErase has fn called by every Erase on this node, before the profile's data goes: to remove
// what is kept of the person elsewhere, on boards, in results, in other stores. It may be
// called again for the same key, and must be right then too. An error, or a panic, ends the
// erasure before the data goes; the caller of Erase gets it. The context ends when the erasure
// is over, done or not.
func (s *Set) OnErase(fn func(ctx context.Context, key string) error) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.mu.erase = append(s.hooks.mu.erase, eraseHook{funcName(fn), fn})
}

func (h *hooks) erasing() []eraseHook {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.mu.erase)
}

// oblivion is one running Erase.
type oblivion struct {
	set      *Set
	key      string
	src      Source
	load     *load    // by which the profile is taken
	unowned  *reading // the record, while it is swept around without being taken; nil: it is
	out      Erased
	progress func(Erased)
	seal     erasure // removes the empty seal in the journal's place, later
}

// run is the frame of a load: the key is reserved on this node, and what was taken is given
// back in the end if it still has to be.
func (x *oblivion) run(caller context.Context) error {
	s := x.set
	o, err := (&LoadOptions{errand: true}).withDefaults(&s.opts)
	if err != nil {
		return err
	}
	ctx, stop := clock.WithTimeout(caller, s.clk, o.Wait)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.load = s.newLoad(x.key, o, cancel)
	x.out.Left = []string{"everything"}
	if err := s.reserve(ctx, x.load); err != nil {
		return x.load.reason(caller, err)
	}
	defer x.load.giveUp()
	if err := x.work(ctx); err != nil {
		return x.load.reason(caller, err)
	}
	x.out.Left, x.out.Done = nil, true
	if x.seal.is != 0 { // whoever might still write there knows by then that it must not
		x.seal.due = s.clk.Now().Add(takenFor)
		x.seal.end = x.seal.due.Add(eraseFor)
		s.journaler.erase(x.seal)
	}
	x.tell()
	s.stats.erased.Add(1)
	s.log.WarnContext(ctx, "profile erased", "key", x.key, "found", x.out.Found, "mail", x.out.Mail, "versions", x.out.Versions, "audit", x.out.Audit)
	return nil
}

func (x *oblivion) tell() {
	if x.progress != nil {
		x.progress(x.out)
	}
}

// work goes from reading to reading until the tombstone stands, or there is nothing to put one
// on.
func (x *oblivion) work(ctx context.Context) error {
	l := x.load
	r, err := l.read(ctx)
	for tries := 0; err == nil; tries++ {
		if tries > 4*maxTries {
			return fmt.Errorf("others take the profile again and again: %w", ErrBusy)
		}
		l.last = r
		step := eraseStepOf(r, l.has(r))
		x.out.Found = x.out.Found || step != eraseNothing
		switch step {
		case eraseRefuse:
			_, err = viewOf(x.key, r)
			return err
		case eraseNothing, eraseAgain:
			x.unowned = &r
			err = x.sweep(ctx, r.record, step == eraseNothing)
			x.unowned = nil
			if !errors.Is(err, errStartOver) {
				return err
			}
			r, err = l.read(ctx) // a new player has come: they go as a whole, too
		case eraseClaim:
			r, err = l.put(ctx, r, seizedFree(r.record, l.claim(), x.set.node.Now()), arrival{how: Free})
		case eraseTake:
			l.from = r.record.session.node
			r, err = l.takeOver(ctx, r, EvidenceOperator, nil)
		case eraseMine:
			if err = x.sweep(ctx, r.record, true); err != nil {
				return err
			}
			x.out.Left = []string{"mail that came meanwhile", "the profile"}
			if err = x.persist(ctx, func() error { return x.dropMail(ctx) }); err != nil {
				return err
			}
			x.out.Left = []string{"the profile"}
			if err = x.bury(ctx, r); err == nil {
				return nil
			}
			if err = l.pause(ctx, err); err == nil {
				r, err = l.read(ctx)
			}
		}
	}
	return err
}

// bury puts the tombstone. When the answer is lost, the next reading tells.
func (x *oblivion) bury(ctx context.Context, r reading) error {
	s, l := x.set, x.load
	if err := l.afford(ctx); err != nil {
		return err
	}
	grave, v := tombstone(r.record, s.node.Now()), s.node.NewVersion("erase", x.key)
	src := x.src
	src.Note = "" // it may be about the person
	call, cancel := s.afterwards(ctx)
	defer cancel()
	tx, rows := s.putTx(x.key, grave, r.version, v), s.actRow(x.key, grave, erasedMark, src, "erased")
	err := s.commit(call, slices.Concat(tx, rows))
	if unstorable(err) && len(rows) > 0 { // what goes beside it is no reason not to
		err = s.commit(call, tx)
	}
	if err != nil {
		return err
	}
	l.last = reading{version: v, record: grave}
	return nil
}

// sweep removes what lies around the profile; with hooks, what the OnErase functions know too.
func (x *oblivion) sweep(ctx context.Context, r record, hooks bool) error {
	steps := []struct {
		what string
		do   func() error
	}{
		{"journal", func() error { return x.muteJournal(ctx, r) }},
		{"notes", func() error { return x.dropNotes(ctx) }},
		{"mail", func() error { return x.dropMail(ctx) }},
		{"versions", func() error { return x.drop(ctx, versionPrefix(x.set.name, x.key), &x.out.Versions) }},
		{"audit log", func() error { return x.drop(ctx, auditPrefix(x.set.name, x.key), &x.out.Audit) }},
		{"quarantine", func() error { return x.dropQuarantine(ctx) }},
	}
	if hooks {
		for _, h := range x.set.hooks.erasing() {
			steps = append(steps, struct {
				what string
				do   func() error
			}{h.name, func() error { return x.call(ctx, h) }})
		}
	}
	for i, step := range steps {
		x.out.Left = x.out.Left[:0:0]
		for _, left := range steps[i:] {
			x.out.Left = append(x.out.Left, left.what)
		}
		x.out.Left = append(x.out.Left, "the profile")
		if err := x.persist(ctx, step.do); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		x.tell()
	}
	return nil
}

// persist does a step again while the store fails for a moment.
func (x *oblivion) persist(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == maxTries || hopeless(err) || errors.Is(err, errHook) || errors.Is(err, errStartOver) {
			return err
		}
		if slept := clock.Sleep(ctx, x.set.clk, backoff(try, x.set.node.Random("erase retry", x.key))); slept != nil {
			return errors.Join(slept, err)
		}
	}
}

// errHook marks what an OnErase function has answered: it is not asked again.
var errHook = errors.New("OnErase")

func (x *oblivion) call(ctx context.Context, h eraseHook) (err error) {
	defer func() {
		if p := recover(); p != nil {
			x.set.stats.panics.Add(1)
			err = fmt.Errorf("%w: %w", errHook, &PanicError{Where: h.name, Value: p})
		}
	}()
	if err := h.call(ctx, x.key); err != nil {
		return fmt.Errorf("%w: %w", errHook, err)
	}
	return nil
}

// muteJournal puts an empty seal in the journal's place: what was in it is gone, and a holder
// that does not know yet that the profile was taken can not begin a new one. It is removed
// later.
func (x *oblivion) muteJournal(ctx context.Context, r record) error {
	s := x.set
	if s.opts.Mode != Live {
		return nil
	}
	for range maxTries {
		j, err := s.readJournal(ctx, x.key)
		if err != nil {
			return err
		}
		if err := x.stillUnowned(ctx); err != nil {
			return err
		}
		if r.session == nil && j.missing() || sealedEmpty(*j, r.epoch) {
			x.seal = erasure{key: journalKey(s.name, x.key), token: j.journal.token, is: j.version}
			return nil
		}
		if err := s.passLive(ctx, node.KindWrite); err != nil {
			return err
		}
		w := store.Write{Key: journalKey(s.name, x.key), Op: store.Delete, If: store.Is(j.version)}
		if r.session != nil {
			w.Op, w.Version, w.Value = store.Put, s.node.NewVersion("empty seal", x.key), emptySeal(r, x.load.seize.by).encode()
		}
		if err := x.fast(ctx, store.Tx{w}); err != nil && !isConflict(err) && store.OutcomeOf(err) != store.Unknown {
			return err
		}
	}
	return fmt.Errorf("it changes again and again: %w", store.ErrConflict)
}

// fast is one write to the fast store.
func (x *oblivion) fast(ctx context.Context, txs ...store.Tx) error {
	ctx, cancel := x.set.within(ctx)
	defer cancel()
	return errors.Join(x.set.fast.Commit(ctx, txs...)...)
}

// dropNotes removes what was left for this node about the profile, and word of mail for its
// last holder. The note that tells the last holder of its loss is removed when it has had the
// time to read it.
func (x *oblivion) dropNotes(ctx context.Context) error {
	s, mail := x.set, node.Note{Kind: node.NoteMail, Set: x.set.name, Key: x.key}
	keys := []string{node.NoteKey(s.node.ID(), s.name, x.key), mail.StoreKey(s.node.ID())}
	if from := x.load.from; from != "" && from != s.node.ID() {
		keys = append(keys, mail.StoreKey(from))
		s.journaler.erase(erasure{key: markerPrefix(from, s.name) + x.key, marker: true, token: x.load.seize.token})
	}
	txs := make([]store.Tx, len(keys))
	for i, k := range keys {
		txs[i] = store.Tx{{Key: k, Op: store.Delete, If: store.Any()}}
	}
	return x.fast(ctx, txs...)
}

func (x *oblivion) dropQuarantine(ctx context.Context) error {
	s := x.set
	for _, key := range [...]string{quarantineKey(s.name, x.key), journalQuarantineKey(s.name, x.key)} {
		recs, err := s.readRows(ctx, key)
		if err == nil && !recs[0].Missing() {
			x.out.Quarantine++
			err = x.remove(ctx, recs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropBatch is how many records are removed at once.
const dropBatch = 256

// drop removes everything under a prefix, until a look shows that nothing is left.
func (x *oblivion) drop(ctx context.Context, prefix string, n *int) error {
	for {
		var found []store.Record
		if err := x.set.node.Pass(ctx, node.ClassLoad, node.KindList); err != nil {
			return err
		}
		call, cancel := x.set.within(ctx)
		for rec, err := range x.set.durable.Scan(call, store.Prefix(prefix)) {
			if err != nil {
				cancel()
				return err
			}
			if rec.Value = nil; !strings.HasSuffix(rec.Key, erasedMark) || prefix != auditPrefix(x.set.name, x.key) {
				found = append(found, rec)
			}
			if len(found) == dropBatch {
				break
			}
		}
		cancel()
		if len(found) == 0 {
			return nil
		}
		if err := x.remove(ctx, found); err != nil {
			return err
		}
		*n += len(found)
	}
}

func (x *oblivion) dropMail(ctx context.Context) error {
	return x.drop(ctx, boxPrefix(x.set.name, x.key), &x.out.Mail)
}

// stillUnowned is asked between finding something and removing it: what was found is not a new
// player's if none has come by now. errStartOver tells that one has.
func (x *oblivion) stillUnowned(ctx context.Context) error {
	if x.unowned == nil {
		return nil
	}
	r, err := x.set.readAs(ctx, node.ClassLoad, x.key)
	if err == nil && r.version != x.unowned.version {
		return errStartOver
	}
	return err
}

// remove removes records, each if it is still that one: what has come in its place meanwhile
// is seen by the next look.
func (x *oblivion) remove(ctx context.Context, found []store.Record) error {
	if err := x.stillUnowned(ctx); err != nil {
		return err
	}
	s := x.set
	txs := make([]store.Tx, len(found))
	for i, rec := range found {
		if err := s.node.Pass(ctx, node.ClassLoad, node.KindWrite); err != nil {
			return err
		}
		txs[i] = store.Tx{{Key: rec.Key, Op: store.Delete, If: store.Is(rec.Version)}}
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	for _, err := range s.durable.Commit(ctx, txs...) {
		if err != nil && !isConflict(err) {
			return err
		}
	}
	return nil
}
