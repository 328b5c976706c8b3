package exchange

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
)

// recordFormat is the version of a stored record that this package knows.
const recordFormat = 1

// ToRoblox makes a record of ProfileStore and KeepBlox of a stored one: free, loaded at least
// once, times in seconds, at most 4 MiB. A record that came from there keeps what Shoal does not
// know; what it lacks of their form is filled in. Whether somebody holds the profile in Shoal
// is for the caller to know. A record that they could not hold is a [*FormatError], with paths
// of their form; one that was erased is ErrErased.
func ToRoblox(record []byte) ([]byte, error) {
	p, err := openStored(record)
	if err != nil {
		return nil, err
	}
	kept, err := membersOf("/"+keptMember, p.kept)
	if err != nil {
		return nil, err
	}
	members, err := p.members(kept)
	if err != nil {
		return nil, err
	}
	if out := object(members); len(out) <= maxRobloxBytes {
		return out, nil
	}
	return nil, wrong("", "a record of at most %d bytes expected", maxRobloxBytes)
}

// stored is what a stored record tells.
type stored struct {
	data, tags       doc.Value
	epoch            uint64
	created, updated time.Time
	kept             []byte
}

func openStored(record []byte) (stored, error) {
	f := form.Open(record)
	f.CheckFormat(recordFormat)
	p := stored{
		data: f.Value("data"), tags: f.Value("tags"), epoch: f.Count("epoch"),
		created: f.Time("created"), updated: f.Time("updated"), kept: f.Take(keptMember),
	}
	erased := !f.Time("erased").IsZero()
	switch err := f.Err(); {
	case errors.Is(err, form.ErrLater):
		return stored{}, fmt.Errorf("%w: %w", ErrNewerVersion, err)
	case err != nil:
		return stored{}, wrong("", "not a stored record: %v", err)
	case erased:
		return stored{}, ErrErased
	}
	if p.data.Kind() != doc.KindObject {
		return stored{}, wrong("/"+rData, "an object expected, got %.40s", p.data)
	}
	return p, nil
}

// members are the members of the record, in order.
func (p stored) members(kept []form.Member) ([]form.Member, error) {
	data, kept := take(kept, rData)
	if p.data.Len() > 0 || isNull(data) {
		if err := checkTable("/"+rData, p.data); err != nil {
			return nil, err
		}
		data = p.data.Encode()
	}
	rawMeta, _ := take(kept, rMetaData)
	meta, err := membersOf("/"+rMetaData, rawMeta)
	if err != nil {
		return nil, err
	}
	if meta, err = p.meta(meta); err != nil {
		return nil, err
	}
	out := put(put(kept, rData, data), rMetaData, object(meta))
	for _, missing := range [...]form.Member{
		{Name: rGlobalUpdates, Raw: []byte("[0,[]]")},
		{Name: rRobloxMetaData, Raw: []byte("{}")},
		{Name: rUserIDs, Raw: []byte("[]")},
		{Name: rWasOverwritten, Raw: []byte("false")},
	} {
		if raw, _ := take(out, missing.Name); isNull(raw) {
			out = put(out, missing.Name, missing.Raw)
		}
	}
	return out, nil
}

// meta are the members of MetaData.
func (p stored) meta(kept []form.Member) ([]form.Member, error) {
	created, _ := take(kept, rCreateTime)
	updated, _ := take(kept, rLastUpdate)
	loads, _ := take(kept, rSessionLoadCount)
	tags, _ := take(kept, rMetaTags)
	switch {
	case p.tags.Kind() == doc.KindObject:
		if err := checkTable("/"+rMetaData+"/"+rMetaTags, p.tags); err != nil {
			return nil, err
		}
		tags = p.tags.Encode()
	case isNull(tags):
		tags = []byte("{}")
	}
	if n, err := readLoads(loads); err != nil || n != p.epoch || n == 0 {
		loads = strconv.AppendUint(nil, max(1, p.epoch), 10)
	}
	kept = put(kept, rCreateTime, secondsOf(p.created, created))
	kept = put(kept, rLastUpdate, secondsOf(p.updated, updated))
	kept = put(kept, rSessionLoadCount, loads)
	kept = put(kept, rMetaTags, tags)
	_, kept = take(kept, rActiveSession)
	_, kept = take(kept, rForceLoadSession)
	return kept, nil
}
