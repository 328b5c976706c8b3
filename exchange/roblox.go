package exchange

import (
	"math"
	"strconv"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
)

// Members of a record of ProfileStore and KeepBlox that Shoal knows.
const (
	rData           = "Data"
	rMetaData       = "MetaData"
	rGlobalUpdates  = "GlobalUpdates"
	rRobloxMetaData = "RobloxMetaData"
	rUserIDs        = "UserIds"
	rWasOverwritten = "WasOverwritten"

	rMetaTags         = "MetaTags"
	rSessionLoadCount = "SessionLoadCount"
	rCreateTime       = "ProfileCreateTime"
	rLastUpdate       = "LastUpdate"
	rActiveSession    = "ActiveSession"
	rForceLoadSession = "ForceLoadSession"
)

// keptMember is the member of a stored record with what Shoal does not know of a record.
const keptMember = "robloxRecord"

// maxRobloxBytes is how long a value of a Roblox data store may be.
const maxRobloxBytes = 4 << 20

// anySize lifts the limits of the parser: the store's own limits hold for what is stored.
var anySize = &doc.Limits{MaxDepth: -1, MaxBytes: -1} //nolint:gochecknoglobals // an immutable table

// isNull tells that a member is missing, or null.
func isNull(raw []byte) bool { return raw == nil || string(raw) == "null" }

// take removes a member from a list.
func take(members []form.Member, name string) (raw []byte, rest []form.Member) {
	for _, m := range members {
		if m.Name == name {
			raw = m.Raw
		} else {
			rest = append(rest, m)
		}
	}
	return raw, rest
}

// put adds a member to a list, or replaces it.
func put(members []form.Member, name string, raw []byte) []form.Member {
	_, rest := take(members, name)
	at := 0
	for at < len(rest) && rest[at].Name < name {
		at++
	}
	out := append(append(rest[:at:at], form.Member{Name: name, Raw: raw}), rest[at:]...)
	return out
}

// object is the text of an object with these members.
func object(members []form.Member) []byte {
	w := form.NewWriter(nil, members)
	return w.Close()
}

// membersOf splits an object. A missing one, and an empty list, which is an empty table of Lua
// too, have none.
func membersOf(path string, raw []byte) ([]form.Member, error) {
	if isNull(raw) {
		return nil, nil
	}
	if v, err := doc.Parse(raw, anySize); err == nil && v.Kind() == doc.KindList && v.Len() == 0 {
		return nil, nil
	}
	f := form.Open(raw)
	if f.Err() != nil {
		return nil, wrong(path, "%v", f.Err())
	}
	return f.Rest(), nil
}

func valueOf(path string, raw []byte) (doc.Value, error) {
	v, err := doc.Parse(raw, anySize)
	if err != nil {
		return v, wrong(path, "%v", err)
	}
	return v, nil
}

// seconds reads a time of Lua: seconds since 1970, as os.time tells them. Zero when missing.
func seconds(path string, raw []byte) (time.Time, error) {
	if isNull(raw) {
		return time.Time{}, nil
	}
	v, err := valueOf(path, raw)
	if err != nil {
		return time.Time{}, err
	}
	f, ok := v.AsFloat()
	if i, isInt := v.AsInt(); isInt {
		f, ok = float64(i), true
	}
	if !ok || f < 0 || f > maxSeconds {
		return time.Time{}, wrong(path, "seconds since 1970 expected, got %.40s", raw)
	}
	whole, part := math.Modf(f)
	return form.Stamp(time.Unix(int64(whole), int64(part*float64(time.Second)))), nil
}

// maxSeconds is the last second of the year 9999.
const maxSeconds = 253402300799

// secondsOf is a time as Lua has it. A text that says the same to the millisecond stays as it is.
func secondsOf(t time.Time, was []byte) []byte {
	if !isNull(was) {
		if before, err := seconds("", was); err == nil && before.Equal(form.Stamp(t)) {
			return was
		}
	}
	if t.Unix() < 0 {
		return []byte("0")
	}
	return strconv.AppendInt(nil, t.Unix(), 10)
}

// checkTable refuses what no table of Lua can hold: a hole in a list, and an integer that is
// no double.
func checkTable(path string, v doc.Value) error {
	switch v.Kind() {
	case doc.KindList:
		for i, item := range v.Items() {
			at := path + "/" + strconv.Itoa(i)
			if item.IsNull() {
				return wrong(at, "a null in a list would be a hole in a table")
			}
			if err := checkTable(at, item); err != nil {
				return err
			}
		}
	case doc.KindObject:
		for name, member := range v.Members() {
			if err := checkTable(path+"/"+escaped(name), member); err != nil {
				return err
			}
		}
	case doc.KindInt:
		if i, _ := v.AsInt(); !isDouble(i) {
			return wrong(path, "%d is no double: the next one is %.0f", i, float64(i))
		}
	case doc.KindNull, doc.KindBool, doc.KindFloat, doc.KindString:
	}
	return nil
}

// isDouble tells that a double holds the integer exactly.
func isDouble(i int64) bool {
	f := float64(i)
	return f < math.MaxInt64 && int64(f) == i
}
