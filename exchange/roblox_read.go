package exchange

import (
	"strings"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
)

// Imported is a record of a Roblox library as Shoal stores it.
type Imported struct {
	// Record is the stored form of the profile: nobody holds it.
	Record []byte
	// Pending are the messages of GlobalUpdates that nobody has applied yet, in their order.
	// They stay in the record, for the library that they were written for.
	Pending []doc.Value
	// Held tells that a server of Roblox held the record when it was exported: what that
	// server has changed since is not in it.
	Held bool
}

// ReadOptions of [FromRoblox]. Nil is fine, zero is the default.
type ReadOptions struct {
	// Schema is the version of the form of the data. Default 1.
	Schema int
}

// FromRoblox makes a stored record of one of ProfileStore or KeepBlox, in JSON. See the
// package's text for what becomes of which member. A record that is not of their form is a
// [*FormatError].
func FromRoblox(record []byte, o *ReadOptions) (Imported, error) {
	f := form.Open(record)
	if f.Err() != nil {
		return Imported{}, wrong("", "%v", f.Err())
	}
	kept := f.Rest()
	data, kept, err := readData(kept)
	if err != nil {
		return Imported{}, err
	}
	rawMeta, kept := take(kept, rMetaData)
	if isNull(rawMeta) {
		return Imported{}, wrong("/MetaData", "is missing")
	}
	meta, err := readMeta(rawMeta)
	if err != nil {
		return Imported{}, err
	}
	if err := checkUserIDs(kept); err != nil {
		return Imported{}, err
	}
	pending, err := pendingOf(kept)
	if err != nil {
		return Imported{}, err
	}
	kept = put(kept, rMetaData, object(meta.kept))
	schema := 1
	if o != nil && o.Schema > 0 {
		schema = o.Schema
	}
	return Imported{Record: meta.record(data, schema, kept), Pending: pending, Held: meta.held}, nil
}

// readData takes the data out of a record. An empty list is an empty table, which is an object
// here; that it came as a list is kept.
func readData(members []form.Member) (doc.Value, []form.Member, error) {
	raw, rest := take(members, rData)
	if isNull(raw) {
		return doc.Value{}, nil, wrong("/Data", "is missing")
	}
	data, err := valueOf("/Data", raw)
	switch {
	case err != nil:
		return data, nil, err
	case data.Kind() == doc.KindObject:
		return data, rest, checkTable("/Data", data)
	case data.Kind() == doc.KindList && data.Len() == 0:
		return doc.MustObject(nil), members, nil
	}
	return data, nil, wrong("/Data", "an object expected, got %.40s", raw)
}

// meta is what MetaData tells.
type meta struct {
	created, updated time.Time
	loads            uint64
	tags             doc.Value // null: none, or an empty list
	held             bool
	kept             []form.Member
}

func readMeta(raw []byte) (m meta, err error) {
	members, err := membersOf("/MetaData", raw)
	if err != nil {
		return meta{}, err
	}
	find := func(name string) []byte {
		found, _ := take(members, name)
		return found
	}
	if m.created, err = seconds("/MetaData/"+rCreateTime, find(rCreateTime)); err != nil {
		return meta{}, err
	}
	if m.updated, err = seconds("/MetaData/"+rLastUpdate, find(rLastUpdate)); err != nil {
		return meta{}, err
	}
	if m.loads, err = readLoads(find(rSessionLoadCount)); err != nil {
		return meta{}, err
	}
	active, members := take(members, rActiveSession)
	_, members = take(members, rForceLoadSession)
	m.held, m.kept = !isNull(active), members
	tags := find(rMetaTags)
	if isNull(tags) {
		return m, nil
	}
	v, err := valueOf("/MetaData/"+rMetaTags, tags)
	switch {
	case err != nil:
		return meta{}, err
	case v.Kind() == doc.KindObject:
		_, m.kept = take(m.kept, rMetaTags)
		m.tags = v
		return m, checkTable("/MetaData/"+rMetaTags, v)
	case v.Kind() == doc.KindList && v.Len() == 0: // stays where it is
		return m, nil
	}
	return meta{}, wrong("/MetaData/"+rMetaTags, "an object expected, got %.40s", tags)
}

// readLoads reads how many sessions there have been.
func readLoads(raw []byte) (uint64, error) {
	const path = "/MetaData/" + rSessionLoadCount
	if isNull(raw) {
		return 0, nil
	}
	v, err := valueOf(path, raw)
	if err != nil {
		return 0, err
	}
	n, ok := v.AsInt()
	if f, isFloat := v.AsFloat(); isFloat && f == float64(int64(f)) { // 3.0, 1e2
		n, ok = int64(f), true
	}
	if !ok || n < 0 || !isDouble(n) {
		return 0, wrong(path, "a whole number of at least 0 expected, got %.40s", raw)
	}
	return uint64(n), nil
}

// checkUserIDs refuses what is no list.
func checkUserIDs(members []form.Member) error {
	raw, _ := take(members, rUserIDs)
	if isNull(raw) {
		return nil
	}
	v, err := valueOf("/"+rUserIDs, raw)
	if err == nil && v.Kind() != doc.KindList && (v.Kind() != doc.KindObject || v.Len() > 0) {
		err = wrong("/"+rUserIDs, "a list expected, got %.40s", raw)
	}
	return err
}

// pendingOf lists the updates in GlobalUpdates, [lastIndex, [[index, message], …]].
func pendingOf(members []form.Member) ([]doc.Value, error) {
	raw, _ := take(members, rGlobalUpdates)
	if isNull(raw) {
		return nil, nil
	}
	const path = "/" + rGlobalUpdates
	v, err := valueOf(path, raw)
	if err != nil {
		return nil, err
	}
	if v.Len() == 0 && (v.Kind() == doc.KindList || v.Kind() == doc.KindObject) {
		return nil, nil
	}
	shape := wrong(path, "a list of the last index and a list of updates expected, got %.40s", raw)
	if v.Kind() != doc.KindList || v.Len() != 2 || v.Index(0).Kind() != doc.KindInt {
		return nil, shape
	}
	list := v.Index(1)
	if list.Kind() == doc.KindObject && list.Len() == 0 {
		return nil, nil
	}
	if list.Kind() != doc.KindList {
		return nil, shape
	}
	var out []doc.Value
	for _, update := range list.Items() {
		out = append(out, update)
	}
	return out, nil
}

// record is the stored form.
func (m meta) record(data doc.Value, schema int, kept []form.Member) []byte {
	w := form.NewWriter(nil, nil)
	w.Time("created", m.created)
	w.Value("data", data)
	w.Count("epoch", m.loads)
	w.Count("format", recordFormat)
	w.Count("revision", 0)
	w.At(keptMember)
	w.Out = append(w.Out, object(kept)...)
	w.Count("schema", uint64(schema))
	w.At("session")
	w.Out = append(w.Out, "null"...)
	if !m.tags.IsNull() {
		w.Value("tags", m.tags)
	}
	w.Time("updated", m.updated)
	return w.Close()
}

// escaped is a member's name in a JSON Pointer.
func escaped(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }
