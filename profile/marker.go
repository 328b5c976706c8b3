package profile

import (
	"encoding/json"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// A marker lies beside a journal and says only that there is one: by the markers of a dead
// node others know what to save. It names its session, so that what is removed is its own.

// marker is the value of journaled/<node>/<set>/<key>.
type marker struct {
	Token string `json:"token"`
}

// markerPrefix is the folder of a node's markers in a set.
func markerPrefix(nodeID, set string) string { return node.EstatePrefix(nodeID) + set + "/" }

// markerToken is the session that a stored marker names; empty when it names none.
func markerToken(value []byte) string {
	var m marker
	if json.Unmarshal(value, &m) != nil {
		return ""
	}
	return m.Token
}

// mark leaves the marker of a session.
func (s *Set) mark(d *draft) store.Write {
	text, err := json.Marshal(marker{Token: d.session.token})
	if err != nil {
		panic("profile: a token does not encode: " + err.Error())
	}
	return store.Write{
		Key: markerPrefix(s.node.ID(), s.name) + d.session.key, Op: store.Put, Value: text, If: store.Any(), Version: d.marker,
	}
}
