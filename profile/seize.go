package profile

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// errStartOver tells a takeover to begin again at the record.
var errStartOver = errors.New("start over at the record")

// seizure is the part of a takeover before its claim: seal the journal, then replay it
// (PROTOCOL.md T2, T3). It is used by loads, and by whoever frees an orphan.
type seizure struct {
	set    *Set
	key    string
	by     string // token of the load that takes over, or of whoever frees
	schema int    // the newest form of data that is understood

	// sealed is the version of the seal as it was found or written; 0: none.
	sealed store.Version
	beside []store.Write // goes with the claim: what the audit log says of the replay
	acts   []store.Write // goes with what frees the record: who has it freed
	from   string        // the node whose journal it was
	token  string        // its session
	// disputed is the pair that disagreed at the last try: if the record, read again, stands
	// at the same version, the record store has gone back in time.
	disputed struct{ record, journal store.Version }
}

// seal answers the record as it is after the replay; recovered tells that there was
// something to replay. j is a reading of the journal made after r, or nil. errStartOver
// means that r is too old; ErrNewerSchema fails the load; other errors are the store's.
func (z *seizure) seal(ctx context.Context, r reading, j *journalReading) (rec record, recovered bool, err error) {
	z.beside = nil
	for range maxTries {
		if j == nil {
			if j, err = z.set.readJournal(ctx, z.key); err != nil {
				return r.record, false, err
			}
		}
		step := sealStepOf(r.record, *j, z.confirmed(r, *j))
		switch step {
		case sealNothing:
			z.sealed = j.version // of an earlier session, if any: mine goes there, or removes it
			return r.record, false, nil
		case sealLater:
			return r.record, false, fmt.Errorf("journal: %w: %w", ErrNewerSchema, j.problem)
		case sealStale:
			z.dispute(r, *j)
			return r.record, false, errStartOver
		case sealQuarantine:
			return r.record, false, z.discard(ctx, *j)
		case sealStands:
			return z.replay(ctx, r, *j)
		case sealReplace, sealWrite:
		}
		if step == sealReplace {
			if err = z.set.quarantineJournal(ctx, z.key, *j); err != nil {
				return r.record, false, err
			}
		}
		if err = z.set.passLive(ctx, node.KindWrite); err != nil {
			return r.record, false, err
		}
		sealed, done, err := z.write(r, *j, step)
		if err != nil {
			return r.record, false, err
		}
		if done {
			return z.replay(ctx, r, sealed)
		}
		j = nil // somebody else wrote it, or the answer was lost: read it again
	}
	return r.record, false, errStartOver
}

// discard copies a journal of a time that the record store has forgotten, and removes it, so
// that nobody stumbles over it again.
func (z *seizure) discard(ctx context.Context, j journalReading) error {
	if err := z.set.quarantineJournal(ctx, z.key, j); err != nil {
		return err
	}
	if err := z.set.passLive(ctx, node.KindWrite); err != nil {
		return err
	}
	ctx, cancel := z.set.call()
	defer cancel()
	err := z.set.fast.Commit(ctx, store.Tx{{Key: journalKey(z.set.name, z.key), Op: store.Delete, If: store.Is(j.version)}})[0]
	switch {
	case isConflict(err):
		return errStartOver
	case err != nil:
		return fmt.Errorf("discard journal: %w", err)
	}
	return nil
}

func (z *seizure) confirmed(r reading, j journalReading) bool {
	return z.disputed.record == r.version && z.disputed.journal == j.version
}

func (z *seizure) dispute(r reading, j journalReading) {
	z.disputed.record, z.disputed.journal = r.version, j.version
}

// write puts the seal. done is false when the journal has to be read again.
func (z *seizure) write(r reading, j journalReading, step sealStep) (sealed journalReading, done bool, err error) {
	sealed = journalReading{version: z.set.node.NewVersion("seal", z.key), journal: j.journal.sealed(z.by)}
	if step == sealReplace {
		sealed.journal = sealInstead(r.record, z.by)
	}
	ctx, cancel := z.set.call()
	defer cancel()
	err = z.set.fast.Commit(ctx, store.Tx{{
		Key: journalKey(z.set.name, z.key), Op: store.Put, Value: sealed.journal.encode(),
		If: store.Is(j.version), Version: sealed.version,
	}})[0]
	z.set.count(err)
	switch {
	case err == nil:
		return sealed, true, nil
	case isConflict(err), store.OutcomeOf(err) == store.Unknown:
		return sealed, false, nil
	}
	return sealed, false, fmt.Errorf("seal journal: %w", err)
}

// replay applies the sealed journal as far as it fits (T3).
func (z *seizure) replay(ctx context.Context, r reading, j journalReading) (record, bool, error) {
	z.sealed = j.version
	switch replayStepOf(r.record, j.journal, z.confirmed(r, j), z.schema) {
	case replayNothing:
		return r.record, false, nil
	case replayStale:
		z.dispute(r, j)
		return r.record, false, errStartOver
	case replayLater:
		return r.record, false, fmt.Errorf("journal of schema %d: %w", j.journal.schema, ErrNewerSchema)
	case replayQuarantine:
		return r.record, false, z.set.quarantineJournal(ctx, z.key, j)
	case replayApply:
	}
	rec, err := replay(j.journal, r.record)
	if err != nil {
		z.set.log.ErrorContext(ctx, "journal does not fit its record", "key", z.key, "err", err)
		return r.record, false, z.set.quarantineJournal(ctx, z.key, j)
	}
	z.beside = z.set.recoveredRow(z.key, r.record, rec, j.journal)
	return rec, true, nil
}

// readJournal is one read of a journal.
func (s *Set) readJournal(ctx context.Context, key string) (*journalReading, error) {
	if err := s.passLive(ctx, node.KindRead); err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	recs, err := s.fast.Get(ctx, journalKey(s.name, key))
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	j := journalReadingOf(recs[0])
	return &j, nil
}

// quarantine copies a value that is not understood, before anything else is done about it.
// The newest stands there; the original is not touched.
func (s *Set) quarantine(ctx context.Context, at string, value []byte) error {
	for _, k := range [...]node.Kind{node.KindRead, node.KindWrite} {
		if err := s.node.Pass(ctx, node.ClassLoad, k); err != nil { // a load waits for it
			return fmt.Errorf("quarantine: %w", err)
		}
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	recs, err := s.durable.Get(ctx, at)
	if err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	if !recs[0].Missing() && string(recs[0].Value) == string(value) {
		return nil
	}
	if value == nil {
		value = []byte{}
	}
	err = s.durable.Commit(ctx, store.Tx{{
		Key: at, Op: store.Put, Value: value, If: store.Is(recs[0].Version), Version: s.node.NewVersion("quarantine", at),
	}})[0]
	s.count(err)
	if err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	s.stats.quarantine.Add(1)
	s.log.ErrorContext(ctx, "copied to quarantine", "to", at, "bytes", len(value))
	return nil
}

func (s *Set) quarantineJournal(ctx context.Context, key string, j journalReading) error {
	value := j.value
	if value == nil {
		value = j.journal.encode()
	}
	return s.quarantine(ctx, journalQuarantineKey(s.name, key), value)
}

// noteTaken is what an old holder is to learn.
func (s *Set) noteTaken(key, token, target string) node.Note {
	return node.Note{Kind: node.NoteTaken, Set: s.name, Key: key, Token: token, Node: s.node.ID(), For: target}
}
