package storecopy

import (
	"strings"

	"github.com/shoalworks/shoal/internal/form"
)

// ledgerFolder holds what this package keeps in the stores.
const ledgerFolder = "storecopy/"

// beatFolder holds the beats of nodes, in the fast records.
const beatFolder = "node/"

// passing are the folders of what belongs to running nodes, and of what each store says of its own
// parts. A store that keeps its fast records apart has the former there, and none of them here.
var passing = [...]string{beatFolder, "mark/", "note/", "journal/", "journaled/", "probe/", "pairing/", ledgerFolder} //nolint:gochecknoglobals // an immutable table

// stays tells that a key is not copied, whatever is under it.
func stays(key string) bool {
	for _, folder := range passing {
		if strings.HasPrefix(key, folder) {
			return true
		}
	}
	return false
}

// holderOf is the node that holds a profile in a session, "" when nobody does or the record is
// no profile. What cannot be read is held by nobody: it is copied as it is.
func holderOf(key string, value []byte) string {
	if !strings.HasPrefix(key, "profile/") {
		return ""
	}
	raw := form.Glance(value).Take("session")
	if raw == nil || string(raw) == "null" {
		return ""
	}
	if holder := form.Glance(raw).Text("node"); holder != "" {
		return holder
	}
	return "a node that it does not name"
}
