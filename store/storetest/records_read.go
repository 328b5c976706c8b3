package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/store"
)

func readCases() []recordsCase {
	return []recordsCase{
		{name: "in the order of the keys, with the missing", run: readsInOrder},
		{name: "of as many keys as allowed", run: readsMany},
		{name: "of values of every size", run: valuesOfEverySize},
		{name: "of every byte of a value", run: everyByteOfValue},
		{name: "of keys with every byte", run: everyByteOfKey},
		{name: "of keys that look alike", run: keysThatLookAlike},
		{name: "from another handle", run: readsElsewhere},
		{name: "is the caller's to change", run: callersMayChange},
	}
}

func readsInOrder(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	var all []store.Record
	for _, key := range []string{"b", "d", "a"} {
		w := m.put(key, "value of "+key, store.Absent())
		mustCommit(t, r, w)
		all = append(all, recordOf(w))
	}
	b, d, a, missing := all[0], all[1], all[2], func(key string) store.Record { return store.Record{Key: key} }
	found, err := r.Get(t.Context(), "d", "x", "a", "b", "c", "e")
	ok(t, "Get", err)
	wantRecords(t, "records", found, []store.Record{d, missing("x"), a, b, missing("c"), missing("e")})
	found, err = r.Get(t.Context(), "nothing", "at", "all")
	ok(t, "Get", err)
	wantRecords(t, "records", found, []store.Record{missing("nothing"), missing("at"), missing("all")})
}

func readsMany(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	keys, all := make([]string, store.MaxGetKeys), make([]store.Record, store.MaxGetKeys)
	var txs []store.Tx
	for i := range keys {
		keys[i] = fmt.Sprintf("%d/%s", i*7919%store.MaxGetKeys, strings.Repeat("k", store.MaxKey-5))
		all[i] = store.Record{Key: keys[i]}
		if i%2 == 0 {
			w := m.put(keys[i], keys[i], store.Absent())
			txs, all[i] = append(txs, store.Tx{w}), recordOf(w)
		}
	}
	for _, err := range r.Commit(t.Context(), txs...) {
		ok(t, "Commit", err)
	}
	found, err := r.Get(t.Context(), keys...)
	ok(t, "Get", err)
	wantRecords(t, "records", found, all)
}

func valuesOfEverySize(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	for i, size := range []int{0, 1, 2, 255, 256, 4095, 4096, 4097, 65535, 65536, 1 << 20, store.MaxValue} {
		w := m.put(fmt.Sprintf("size/%d", size), "", store.Absent())
		w.Value = pattern(size, byte(i))
		mustCommit(t, r, w)
		got := get(t, r, w.Key)
		if got.Value == nil || !slices.Equal(got.Value, w.Value) || got.Version != w.Version {
			t.Fatalf("a value of %d bytes came back with %d bytes (nil: %v) at %v, want the same, not nil, at %v", size, len(got.Value), got.Value == nil, got.Version, w.Version)
		}
	}
}

func everyByteOfValue(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	w := m.put("bytes", "", store.Absent())
	for b := range 256 {
		w.Value = append(w.Value, byte(b))
	}
	mustCommit(t, r, w)
	wantRecord(t, r, w)
	for b := range 256 {
		w := m.put(fmt.Sprintf("byte/%d", b), string([]byte{byte(b)}), store.Absent())
		mustCommit(t, r, w)
		wantRecord(t, r, w)
	}
}

func everyByteOfKey(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	var all, only strings.Builder
	var writes []store.Write
	for b := byte('!'); b <= '~'; b++ {
		all.WriteByte(b)
		only.Reset()
		only.WriteByte(b)
		writes = append(writes, m.put(only.String(), "alone "+only.String(), store.Absent()),
			m.put("in/"+only.String()+"/between", "between "+only.String(), store.Absent()))
	}
	long := all.String() + strings.Repeat("~", store.MaxKey-all.Len())
	writes = append(writes, m.put(all.String(), "all", store.Absent()), m.put(long, "long", store.Absent()), m.put(long[:store.MaxKey-1], "one less", store.Absent()))
	for _, w := range writes {
		mustCommit(t, r, w)
	}
	for _, w := range writes {
		wantRecord(t, r, w)
	}
	for _, w := range writes {
		mustCommit(t, r, deleteOf(w.Key, store.Is(w.Version)))
		wantMissing(t, r, w.Key)
	}
}

// keysThatLookAlike are the same to an engine that folds case, trims, reads patterns or
// unquotes.
func keysThatLookAlike(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	var writes []store.Write
	for _, key := range []string{
		"a", "A", "a/", "a//", "/a", "a.", "a%", "a_", "a*", "a?", "a\\", "a\\\\", "a'", "a''", "a\"", "a`", "a;--", "%", "_", "*", "[a]", "{a}", "a{b}c",
		"0", "00", "0x0", "1e3", "1000", "-1", "+1", "null", "NULL", "true", "$1", "?1", ":a", "@a", "a|b", "a&b", "a=b", "a:b", "a,b",
	} {
		w := m.put(key, "of "+key, store.Absent())
		mustCommit(t, r, w)
		writes = append(writes, w)
	}
	for i, w := range writes {
		wantRecord(t, r, w)
		if i%2 == 0 {
			mustCommit(t, r, deleteOf(w.Key, store.Any()))
		}
	}
	for i, w := range writes {
		if i%2 == 0 {
			wantMissing(t, r, w.Key)
		} else {
			wantRecord(t, r, w)
		}
	}
}

// readsElsewhere writes through one handle and reads through the next, at once.
func readsElsewhere(t *testing.T, h Harness[store.Records]) {
	handles, m := openSome(t, h, 3), &mint{}
	version := store.Version(0)
	for i := range 60 {
		w := m.put("key", fmt.Sprint(i), store.Is(version))
		mustCommit(t, handles[i%len(handles)], w)
		wantRecord(t, handles[(i+1)%len(handles)], w)
		version = w.Version
	}
	mustCommit(t, handles[0], deleteOf("key", store.Is(version)))
	wantMissing(t, handles[len(handles)-1], "key")
}

// callersMayChange changes all that it handed over and all that it got.
//
// case P11.
func callersMayChange(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	value := []byte("the value")
	w := m.put("key", "", store.Absent())
	w.Value = value
	tx := store.Tx{w}
	txs := []store.Tx{tx}
	ok(t, "Commit", r.Commit(t.Context(), txs...)[0])
	copy(value, "XXXXXXXXX")
	tx[0] = m.put("other", "X", store.Any())
	txs[0] = nil
	kept := store.Write{Key: "key", Value: []byte("the value"), Version: w.Version}
	wantRecord(t, r, kept)
	wantMissing(t, r, "other")

	got := get(t, r, "key")
	clear(got.Value)
	_ = append(got.Value, "more"...)
	wantRecord(t, r, kept)
	keys := []string{"key", "other"}
	found, err := r.Get(t.Context(), keys...)
	ok(t, "Get", err)
	keys[0] = "changed"
	wantRecords(t, "records", found, []store.Record{recordOf(kept), {Key: "other"}})
	if !r.Abilities().Scan {
		return
	}
	for rec, err := range r.Scan(t.Context(), store.Range{}) {
		ok(t, "Scan", err)
		clear(rec.Value)
	}
	wantRecord(t, r, kept)
}
