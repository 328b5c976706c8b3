package profile

import (
	"fmt"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
)

// This file holds the rules of the versions that are kept of a profile, and their stored form:
// pure, without I/O, clock or chance.

// worthKeeping tells whether the record that a save replaces is kept as a version: at most one
// every so often, counted from the profile's creation, and never what nobody has changed.
func worthKeeping(old, next record, every time.Duration, now time.Time) bool {
	if every <= 0 || next.revision <= old.revision || old.revision == 0 {
		return false
	}
	last := old.kept
	if last.IsZero() {
		last = old.created
	}
	return now.Sub(last) >= every
}

// versionFormat is the version of the stored form of a version.
const versionFormat = 1

// version is a state of a profile as it was stored.
type version struct {
	data     doc.Value
	revision uint64
	schema   int
	at       time.Time // when it was stored
}

func versionOf(r record) version {
	return version{data: r.data, revision: r.revision, schema: r.schema, at: r.updated}
}

// encode is the stored form: canonical JSON.
func (v version) encode() []byte {
	w := form.NewWriter(make([]byte, 0, v.data.Size()+envelopeRoom), nil)
	w.Time("at", v.at)
	w.Value("data", v.data)
	w.Count("format", versionFormat)
	w.Count("revision", v.revision)
	w.Count("schema", uint64(v.schema))
	return w.Close()
}

func decodeVersion(text []byte) (version, error) {
	f := form.Open(text)
	f.CheckFormat(versionFormat)
	v := version{data: f.Value("data"), revision: f.Count("revision"), schema: f.Small("schema"), at: f.Time("at")}
	return v, f.Err()
}

// Keys of versions.

func versionPrefix(set, key string) string { return "version/" + set + "/" + key + "/" }

func versionKey(set, key string, revision uint64) string {
	return fmt.Sprintf("%s%020d", versionPrefix(set, key), revision)
}
