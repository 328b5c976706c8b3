package sim

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/shoalworks/shoal/doc"
)

// This file reads the stored forms of PROTOCOL.md, as far as the ledger needs them, with
// code of its own.

// recordForm is a profile's record.
type recordForm struct {
	Epoch    uint64          `json:"epoch"`
	Revision uint64          `json:"revision"`
	Schema   int             `json:"schema"`
	Data     json.RawMessage `json:"data"`
	Session  *sessionForm    `json:"session"`
	Ask      json.RawMessage `json:"ask"`
	Handled  []handledForm   `json:"handled"`
	TookFrom *tookForm       `json:"tookFrom"`

	data doc.Value
	at   point // which state the data is
}

type sessionForm struct {
	Token   string `json:"token"`
	Node    string `json:"node"`
	Beating bool   `json:"beating"`
}

type handledForm struct {
	ID string `json:"id"`
}

type tookForm struct {
	Token    string `json:"token"`
	Node     string `json:"node"`
	Evidence string `json:"evidence"`
	Epoch    uint64 `json:"epoch"`
}

func (r *recordForm) token() string {
	if r == nil || r.Session == nil {
		return ""
	}
	return r.Session.Token
}

// journalForm is a session's journal.
type journalForm struct {
	Format     int         `json:"format"`
	Epoch      uint64      `json:"epoch"`
	Token      string      `json:"token"`
	Base       uint64      `json:"base"`
	BaseDigest string      `json:"baseDigest"`
	Schema     int         `json:"schema"`
	Rev        uint64      `json:"rev"`
	Effects    doc.Effects `json:"effects"`
	SealedBy   string      `json:"sealedBy"`
}

// applies tells that a takeover replays the journal on the record (rule J2; the ledger has
// checked the digest when the journal was written).
func (j *journalForm) applies(r *recordForm) bool {
	return r != nil && j != nil && j.Token == r.token() && j.Token != "" && j.Base <= r.Revision && r.Revision < j.Rev
}

func parseRecord(value []byte) (*recordForm, error) {
	r := new(recordForm)
	if err := json.Unmarshal(value, r); err != nil {
		return nil, err
	}
	data, err := doc.Parse(r.Data, nil)
	r.data = data
	return r, err
}

func parseJournal(value []byte) *journalForm {
	j := new(journalForm)
	if json.Unmarshal(value, j) != nil {
		return nil
	}
	return j
}

// The keys of PROTOCOL.md B3 and B4.

const (
	recordPrefix  = "profile/" + setName + "/"
	journalPrefix = "journal/" + setName + "/"
	receiptPrefix = "receipt/" + setName + "/"
	mailPrefix    = "mail/" + setName + "/"
	auditPrefix   = "audit/" + setName + "/"
	versionPrefix = "version/" + setName + "/"
	beatPrefix    = "node/"
	notePrefix    = "note/"
	markerPrefix  = "journaled/" // where to look for journals when a node has died
	markPrefix    = "mark/"      // what a node measures the store's clock by
)

func fastPrefixes() []string {
	return []string{beatPrefix, markPrefix, markerPrefix, notePrefix, "journal/"}
}

// fastKey tells that a key belongs to the fast store.
func fastKey(key string) bool {
	for _, prefix := range fastPrefixes() {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }
