package storecopy

import (
	"github.com/shoalworks/shoal/store"
)

// verdict is what becomes of one key.
type verdict uint8

const (
	keep     verdict = iota + 1 // the target has it already
	adopt                       // so, and the ledger does not know yet
	put                         // write the source's, where the target has what the rules saw
	leave                       // a session holds it
	conflict                    // the target's was written by somebody else
	removed                     // somebody else removed it from the target
	gone                        // the source has it no more; the target's is the copier's own
	foreign                     // only the target has it, from somebody else
)

// known is what the ledger says of a key.
type known struct {
	ours    bool // the version at the target is one that was copied
	settled bool // the key was copied, and the write has landed
}

// judge decides about one key: source and target are its versions there, 0 when absent.
func judge(source, target store.Version, held bool, k known) verdict {
	switch {
	case source == 0 && k.ours:
		return gone
	case source == 0:
		return foreign
	case held:
		return leave
	case source == target && k.ours:
		return keep
	case source == target:
		return adopt
	case target == 0 && k.settled:
		return removed
	case target == 0 || k.ours:
		return put
	}
	return conflict
}
