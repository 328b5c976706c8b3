package store

import "fmt"

// This file holds the rules of a well-formed call, without I/O.

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkText refuses what is empty, too long, or not printable ASCII without space.
func checkText(field, s string, limit int) error {
	if problem := textProblem(s, limit); problem != "" {
		return &InvalidError{Field: field, Problem: problem}
	}
	return nil
}

// textProblem is what checkText says, empty when nothing is wrong.
func textProblem(s string, limit int) string {
	if s == "" {
		return "is empty"
	}
	if len(s) > limit {
		return fmt.Sprintf("at most %d bytes, got %d", limit, len(s))
	}
	if i := unprintable(s); i >= 0 {
		return fmt.Sprintf("printable ASCII without space expected, got byte 0x%02x at %d", s[i], i)
	}
	return ""
}

// fine tells that checkText has nothing to say, without naming a field: the fast path of lists.
func fine(s string, limit int) bool {
	return s != "" && len(s) <= limit && unprintable(s) < 0
}

// unprintable is the index of the first byte that is not printable ASCII, or -1.
func unprintable(s string) int {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return i
		}
	}
	return -1
}

func checkKeys(field string, keys []string, limit int) error {
	if len(keys) > limit {
		return &InvalidError{Field: field, Problem: fmt.Sprintf("at most %d keys, got %d", limit, len(keys)), Large: true}
	}
	for i, key := range keys {
		if !fine(key, MaxKey) {
			return checkText(fmt.Sprintf("%s[%d]", field, i), key, MaxKey)
		}
	}
	if d := duplicate(keys); d >= 0 {
		return &InvalidError{Field: fmt.Sprintf("%s[%d]", field, d), Problem: fmt.Sprintf("%q comes twice", keys[d])}
	}
	return nil
}

// duplicate is the index of the first key that came before, or -1. Short lists are compared
// in place, without a map.
func duplicate(keys []string) int {
	if len(keys) <= 8 {
		for i := range keys {
			for j := range i {
				if keys[i] == keys[j] {
					return i
				}
			}
		}
		return -1
	}
	seen := make(map[string]struct{}, len(keys))
	for i, key := range keys {
		if _, ok := seen[key]; ok {
			return i
		}
		seen[key] = struct{}{}
	}
	return -1
}

func checkRange(r Range) error {
	if len(r.From) > MaxKey || len(r.To) > MaxKey {
		return &InvalidError{Field: "range", Problem: fmt.Sprintf("bounds of at most %d bytes expected", MaxKey)}
	}
	if r.Limit < 0 {
		return &InvalidError{Field: "range.limit", Problem: fmt.Sprintf("0 or more expected, got %d", r.Limit)}
	}
	return nil
}

func checkTx(i int, tx Tx, multi bool, seen map[string]struct{}) error {
	if len(tx) == 0 {
		return &InvalidError{Field: fmt.Sprintf("txs[%d]", i), Problem: "has no write"}
	}
	if len(tx) > MaxTxWrites {
		return &InvalidError{Field: fmt.Sprintf("txs[%d]", i), Problem: fmt.Sprintf("at most %d writes, got %d", MaxTxWrites, len(tx)), Large: true}
	}
	if len(tx) > 1 && !multi {
		return fmt.Errorf("store: txs[%d] writes %d keys, this store takes one a transaction: %w", i, len(tx), ErrUnsupported)
	}
	size := 0
	for j, w := range tx {
		if problem, large := w.problem(); problem != "" {
			return &InvalidError{Field: fmt.Sprintf("txs[%d].writes[%d]", i, j), Problem: problem, Large: large}
		}
		if size += len(w.Value); size > MaxTxBytes {
			return &InvalidError{Field: fmt.Sprintf("txs[%d]", i), Problem: fmt.Sprintf("at most %d bytes of values", MaxTxBytes), Large: true}
		}
	}
	return claimKeys(i, tx, seen)
}

// claimKeys adds the keys of tx to seen, all or none: a refused transaction must not make
// a later one of the same call look malformed.
func claimKeys(i int, tx Tx, seen map[string]struct{}) error {
	for j, w := range tx {
		if _, ok := seen[w.Key]; ok {
			for _, before := range tx[:j] {
				delete(seen, before.Key)
			}
			return &InvalidError{Field: fmt.Sprintf("txs[%d].writes[%d].key", i, j), Problem: fmt.Sprintf("%q comes twice in this call", w.Key)}
		}
		seen[w.Key] = struct{}{}
	}
	return nil
}

// problem tells what is wrong with the write by itself; large when it is only too big.
func (w Write) problem() (problem string, large bool) {
	if !fine(w.Key, MaxKey) {
		return "key: " + textProblem(w.Key, MaxKey), false
	}
	switch w.Op {
	case Put:
		switch {
		case w.Value == nil:
			return "a Put needs a value", false
		case len(w.Value) > MaxValue:
			return fmt.Sprintf("a value of at most %d bytes, got %d", MaxValue, len(w.Value)), true
		case w.Version == 0 || w.Version > versionMask:
			return "a Put needs a version of 63 bits, not 0", false
		}
	case Delete, Check:
		if w.Value != nil || w.Version != 0 {
			return "only a Put takes a value and a version", false
		}
		if w.Op == Check && w.If.kind != condIs {
			return "a Check takes Is(version) only; absence is asserted by a Put that is Absent", false
		}
	default:
		return fmt.Sprintf("unknown operation %d", w.Op), false
	}
	return "", false
}

func checkBoard(name string) error { return checkText("board", name, MaxBoardName) }

func checkListing(prefix, after string) error {
	if len(prefix) > MaxBoardName || len(after) > MaxBoardName {
		return &InvalidError{Field: "prefix", Problem: fmt.Sprintf("a prefix and a name of at most %d bytes expected", MaxBoardName)}
	}
	return nil
}

func checkSpec(s BoardSpec) error {
	if s.Order != Ascending && s.Order != Descending {
		return &InvalidError{Field: "order", Problem: "ascending or descending expected"}
	}
	return checkText("generation", s.Generation, MaxGeneration)
}

func checkCount(field string, n, limit int) error {
	if n < 0 || n > limit {
		return &InvalidError{Field: field, Problem: fmt.Sprintf("0 to %d expected, got %d", limit, n)}
	}
	return nil
}

func checkMode(m RankMode) error {
	if m > Dense {
		return &InvalidError{Field: "mode", Problem: fmt.Sprintf("ordinal, competition or dense expected, got %d", m)}
	}
	return nil
}

// checkCursor refuses what no walk has answered.
func checkCursor(c Cursor) error {
	begun := c != (Cursor{})
	if c.Seen < 0 || c.Total < 0 || c.Version > versionMask || c.Sequence > versionMask || begun && !fine(c.Generation, MaxGeneration) {
		return &InvalidError{Field: "from", Problem: "a cursor that a walk has answered expected"}
	}
	return nil
}

func checkEntryKey(field, key string) error { return checkText(field, key, MaxEntryKey) }

func checkEntryKeys(keys []string) error {
	if err := checkKeys("keys", keys, MaxPage); err != nil {
		return err
	}
	for i, key := range keys {
		if !fine(key, MaxEntryKey) {
			return checkEntryKey(fmt.Sprintf("keys[%d]", i), key)
		}
	}
	return nil
}

func checkBatch(b Batch) error {
	if b.Rule != Best && b.Rule != Last && b.Rule != Sum {
		return &InvalidError{Field: "rule", Problem: "best, last or sum expected"}
	}
	if b.Rule == Sum {
		if err := checkText("source", b.Source, MaxSource); err != nil {
			return err
		}
		if b.N == 0 || b.N > versionMask {
			return &InvalidError{Field: "n", Problem: "a sum batch is numbered from 1"}
		}
	}
	if len(b.Entries) > MaxMerge {
		return &InvalidError{Field: "entries", Problem: fmt.Sprintf("at most %d, got %d", MaxMerge, len(b.Entries)), Large: true}
	}
	keys := make([]string, len(b.Entries))
	for i, e := range b.Entries {
		keys[i] = e.Key
		if !fine(e.Key, MaxEntryKey) {
			return checkEntryKey(fmt.Sprintf("entries[%d].key", i), e.Key)
		}
		if e.Stamp.Epoch > versionMask || e.Stamp.Revision > versionMask {
			return &InvalidError{Field: fmt.Sprintf("entries[%d].stamp", i), Problem: "epoch and revision of 63 bits expected"}
		}
		if len(e.Meta) > MaxMeta {
			return &InvalidError{Field: fmt.Sprintf("entries[%d].meta", i), Problem: fmt.Sprintf("at most %d bytes, got %d", MaxMeta, len(e.Meta)), Large: true}
		}
	}
	if d := duplicate(keys); d >= 0 {
		return &InvalidError{Field: fmt.Sprintf("entries[%d].key", d), Problem: fmt.Sprintf("%q comes twice", keys[d])}
	}
	return nil
}
