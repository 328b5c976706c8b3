package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/shoalworks/shoal/internal/form"
	"github.com/shoalworks/shoal/store"
)

// This file holds the rules of receipts (PROTOCOL.md B5): pure, without I/O, clock or chance.

// receiptFormat is the version of the stored form of a receipt.
const receiptFormat = 1

// receipt is what is stored under receipt/<set>/<id>, once and for ever.
type receipt struct {
	owner    string // ownerOf the profile: no key, so that an erasure need not find it
	revision uint64 // of the commit that granted
	epoch    uint64 // of its session
	at       time.Time
	commit   string // its id
}

func receiptKey(set, id string) string { return "receipt/" + set + "/" + id }

// ownerOf stands for a profile where its key must not be.
func ownerOf(set, key string) string {
	sum := sha256.Sum256([]byte(set + "/" + key))
	return hex.EncodeToString(sum[:16])
}

func (r receipt) encode() []byte {
	w := form.NewWriter(nil, nil)
	w.Time("at", r.at)
	w.Text("commit", r.commit)
	w.Count("epoch", r.epoch)
	w.Count("format", receiptFormat)
	w.Text("owner", r.owner)
	w.Count("revision", r.revision)
	return w.Close()
}

// decodeReceipt reads the stored form. A receipt is never written again, so that members of a
// later release may be passed over.
func decodeReceipt(text []byte) (receipt, error) {
	f := form.Open(text)
	f.CheckFormat(receiptFormat)
	if f.Err() != nil {
		return receipt{}, f.Err()
	}
	r := receipt{
		owner: f.Word("owner"), revision: f.Count("revision"), epoch: f.Count("epoch"),
		at: f.Time("at"), commit: f.Text("commit"),
	}
	return r, f.Err()
}

// receiptReading is what one successful read showed of a receipt.
type receiptReading struct {
	version store.Version // 0: missing
	receipt receipt
	problem error // why it could not be read
}

func receiptReadingOf(r store.Record) receiptReading {
	out := receiptReading{version: r.Version}
	if !r.Missing() {
		out.receipt, out.problem = decodeReceipt(r.Value)
	}
	return out
}

// receiptStep is what a delivery of a receipt does.
type receiptStep uint8

const (
	receiptGrant  receiptStep = iota + 1 // nobody has it: grant
	receiptKnown                         // this profile has it: granted before
	receiptTaken                         // another profile has it: refuse
	receiptOpaque                        // it is there, and says nothing that is understood: refuse
)

// receiptStepOf decides from a read of the receipt.
func receiptStepOf(r receiptReading, owner string) receiptStep {
	switch {
	case r.version == 0:
		return receiptGrant
	case r.problem != nil:
		return receiptOpaque
	case r.receipt.owner == owner:
		return receiptKnown
	}
	return receiptTaken
}
