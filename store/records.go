package store

import (
	"context"
	"iter"
	"strconv"
	"time"
)

// Limits of the record contract, the same for every driver. A key beyond its limit is refused
// with [ErrInvalid], everything else that is too much with [ErrTooLarge]; nothing is applied.
const (
	MaxKey      = 512       // bytes of a key
	MaxValue    = 8 << 20   // bytes of a value
	MaxGetKeys  = 1024      // keys of one Get
	MaxCommit   = 1024      // transactions of one Commit
	MaxTxWrites = 64        // writes of one Tx
	MaxTxBytes  = 32 << 20  // bytes of all values of one Tx
	versionMask = 1<<63 - 1 // versions are 63 bits, so that every engine can hold them
)

// Records is a transactional key-value map.
//
// Keys are readable paths of printable ASCII ("profile/players/u_42"); values are bytes
// (Shoal's are JSON). Versions are chosen by the writer; Age is the only clock.
type Records interface {
	// Get returns one Record per key, in order, each linearizable by itself; a missing
	// record has Version 0. There is no snapshot across keys.
	Get(ctx context.Context, keys ...string) ([]Record, error)

	// Scan yields committed records in byte order of key from r.From (inclusive) to r.To
	// (exclusive). A key present throughout comes exactly once. It reads in pages, never in
	// one long transaction. After an error the sequence ends.
	Scan(ctx context.Context, r Range) iter.Seq2[Record, error]

	// Commit runs independent transactions, in any order. Each Tx applies wholly or not at
	// all; the i-th error belongs to the i-th Tx. If the call dies any subset was applied.
	Commit(ctx context.Context, txs ...Tx) []error

	// Now is the store's own wall clock, UTC.
	Now(ctx context.Context) (time.Time, error)

	// Abilities tells what the engine behind can do.
	Abilities() Abilities

	// Close waits for the calls in flight and frees the engine. Later calls answer ErrClosed.
	Close(ctx context.Context) error
}

// Abilities of an engine. What it lacks answers [ErrUnsupported].
type Abilities struct {
	MultiKey bool // a Tx may write more than one key
	Durable  bool // what was acknowledged survives the loss of power
	Shared   bool // several processes may use the same store
	Scan     bool // Scan works for every range
}

// Record is a stored value and what the store knows of it.
type Record struct {
	Key     string
	Value   []byte        // owned by the caller; nil when missing
	Version Version       // 0 when missing
	Age     time.Duration // how long ago it was written, by the store's own clock; ≥ 0
}

// Missing tells that there was no record under the key.
func (r Record) Missing() bool { return r.Version == 0 }

// Range is a range of keys: From inclusive, To exclusive. An empty To means no upper bound.
type Range struct {
	From, To string
	// Limit ends the scan after so many records. Default 0: no limit.
	Limit int
}

// Prefix is the range of all keys that start with p.
func Prefix(p string) Range {
	end := []byte(p)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return Range{From: p, To: string(end[:i+1])}
		}
	}
	return Range{From: p}
}

// Version names one write of a key: 63 random bits chosen by the writer, so that it is never
// reused, not after delete, memory loss, failover or restore. 0 means absent.
type Version uint64

// VersionFrom makes a version of random bits; it never answers 0.
func VersionFrom(random uint64) Version {
	if v := Version(random & versionMask); v != 0 {
		return v
	}
	return 1
}

// String is the version in base 36, short enough for logs.
func (v Version) String() string { return strconv.FormatUint(uint64(v), 36) }

// Op is what a [Write] does.
type Op uint8

// The three operations.
const (
	Put    Op = iota + 1 // store Value under Key with Version
	Delete               // remove Key; deleting a missing key under Any is done
	Check                // assert If and hold it until the Tx is decided; writes nothing
)

// Condition is what must hold for a [Write]: [Any], [Absent], or [Is] of a version.
type Condition struct {
	kind    conditionKind
	version Version
}

type conditionKind uint8

const (
	condAny conditionKind = iota
	condAbsent
	condIs
)

// Any holds always.
func Any() Condition { return Condition{} }

// Absent holds while the key has no record.
func Absent() Condition { return Condition{kind: condAbsent} }

// Is holds while the key's version is v. Is(0) is [Absent].
func Is(v Version) Condition {
	if v == 0 {
		return Absent()
	}
	return Condition{kind: condIs, version: v}
}

// Unconditional tells that the condition is [Any].
func (c Condition) Unconditional() bool { return c.kind == condAny }

// Wants is the version that the condition asks for (0 for [Absent]); ok is false for [Any].
func (c Condition) Wants() (v Version, ok bool) { return c.version, c.kind != condAny }

// Holds tells whether the condition holds for a key at version v (0 when absent).
func (c Condition) Holds(v Version) bool { return c.kind == condAny || c.version == v }

// String is "any", "absent" or "is <version>".
func (c Condition) String() string {
	switch c.kind {
	case condAny:
		return "any"
	case condAbsent:
		return "absent"
	case condIs:
		return "is " + c.version.String()
	}
	return "condition " + strconv.Itoa(int(c.kind))
}

// Write is one conditional write of a [Tx].
type Write struct {
	Key     string
	Op      Op
	Value   []byte    // Put only, never nil; the store does not keep or change it after the call
	If      Condition // Check takes Is(version) only
	Version Version   // Put: the version the key gets, chosen by the writer
}

// Tx is a transaction: it applies wholly or not at all. A key appears in it once.
type Tx []Write
