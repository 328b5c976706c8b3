package exchange_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/exchange"
)

// profileStore is a record as ProfileStore leaves it.
const profileStore = `{"Data":{"Coins":120,"Half":0.5,"Items":[],"Pets":{},"Inventory":[{"Id":7,"Name":"Trout"}]},` +
	`"MetaData":{"ProfileCreateTime":1700000000,"SessionLoadCount":14,"LastUpdate":1700009000.25,"MetaTags":{"vip":true},"Later":[1e2]},` +
	`"GlobalUpdates":[3,[[2,{"Gift":"Rod"}],[3,{"Gift":"Bait"}]]],"RobloxMetaData":{},"UserIds":[261],"WasOverwritten":false,"Extra":{"a": 1.50}}`

// keepBlox is one of KeepBlox, held by a server.
const keepBlox = `{"Data":{"Coins":1},"MetaData":{"ProfileCreateTime":1,"SessionLoadCount":1,"LastUpdate":2,"MetaTags":[],` +
	`"ActiveSession":[920587,"job","guid"],"ForceLoadSession":[920587,"other"],"KeepBlox":{"lease":41,"owner":"job"}},` +
	`"GlobalUpdates":[0,[]],"RobloxMetaData":[],"UserIds":[],"WasOverwritten":false}`

func fromRoblox(t *testing.T, text string) exchange.Imported {
	t.Helper()
	in, err := exchange.FromRoblox([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func toRoblox(t *testing.T, record []byte) doc.Value {
	t.Helper()
	out, err := exchange.ToRoblox(record)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, out)
}

func parse(t *testing.T, text []byte) doc.Value {
	t.Helper()
	v, err := doc.Parse(text, nil)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func lookup(v doc.Value, pointer string) string {
	at, ok, _ := v.Lookup(pointer)
	if !ok {
		return "missing"
	}
	return at.String()
}

func TestFromProfileStore(t *testing.T) {
	in := fromRoblox(t, profileStore)
	v := parse(t, in.Record)
	for pointer, want := range map[string]string{
		"/format": "1", "/epoch": "14", "/revision": "0", "/schema": "1", "/session": "null",
		"/data/Coins": "120", "/data/Half": "0.5", "/data/Items": "[]", "/data/Pets": "{}", "/tags": `{"vip":true}`,
		"/created": `"2023-11-14T22:13:20.000Z"`, "/updated": `"2023-11-15T00:43:20.250Z"`,
		"/robloxRecord/UserIds": "[261]", "/robloxRecord/MetaData/Later": "[100.0]", "/robloxRecord/Data": "missing",
		"/robloxRecord/MetaData/MetaTags": "missing",
	} {
		if got := lookup(v, pointer); got != want {
			t.Errorf("%s is %s, want %s", pointer, got, want)
		}
	}
	if len(in.Pending) != 2 || in.Pending[1].String() != `[3,{"Gift":"Bait"}]` || in.Held {
		t.Errorf("pending %v, held %v", in.Pending, in.Held)
	}
	if !strings.Contains(string(in.Record), `"Extra":{"a": 1.50}`) {
		t.Error("an unknown member was not kept byte by byte")
	}
	if got, want := toRoblox(t, in.Record), parse(t, []byte(profileStore)); !got.Equal(want) {
		t.Errorf("written back\n%v\nwant\n%v", got, want)
	}
}

func TestFromKeepBlox(t *testing.T) {
	in := fromRoblox(t, keepBlox)
	if !in.Held {
		t.Error("not told that a server holds it")
	}
	got := toRoblox(t, in.Record)
	for pointer, want := range map[string]string{
		"/MetaData/KeepBlox": `{"lease":41,"owner":"job"}`, "/MetaData/MetaTags": "[]", "/RobloxMetaData": "[]",
		"/MetaData/ActiveSession": "missing", "/MetaData/ForceLoadSession": "missing",
	} {
		if have := lookup(got, pointer); have != want {
			t.Errorf("%s is %s, want %s", pointer, have, want)
		}
	}
}

// A profile that was born here, or changed here, is one that their rules accept.
func TestToRoblox(t *testing.T) {
	const born = `{"created":"2026-08-11T12:00:00.500Z","data":{"n":1},"epoch":0,"format":1,"revision":9,"schema":3,"session":{"beating":true,"node":"a","since":"2026-08-11T12:00:00.000Z","token":"t"},"updated":"2026-08-11T12:00:01.999Z"}`
	const want = `{"Data":{"n":1},"GlobalUpdates":[0,[]],"MetaData":{"LastUpdate":1786449601,"MetaTags":{},"ProfileCreateTime":1786449600,"SessionLoadCount":1},"RobloxMetaData":{},"UserIds":[],"WasOverwritten":false}`
	out, err := exchange.ToRoblox([]byte(born))
	if err != nil || string(out) != want {
		t.Errorf("%s, %v\nwant %s", out, err, want)
	}
	changed := strings.NewReplacer(`"epoch":14`, `"epoch":15`, `"updated":"2023-11-15T00:43:20.250Z"`, `"updated":"2023-11-15T00:43:21.900Z"`,
		`"Coins":120`, `"Coins":5`, `"tags":{"vip":true}`, `"tags":{}`).Replace(string(fromRoblox(t, profileStore).Record))
	v := toRoblox(t, []byte(changed))
	for pointer, want := range map[string]string{
		"/MetaData/SessionLoadCount": "15", "/MetaData/LastUpdate": "1700009001", "/MetaData/ProfileCreateTime": "1700000000",
		"/Data/Coins": "5", "/MetaData/MetaTags": "{}", "/UserIds": "[261]", "/GlobalUpdates/0": "3",
	} {
		if got := lookup(v, pointer); got != want {
			t.Errorf("%s is %s, want %s", pointer, got, want)
		}
	}
}

// An empty table came as [] or as {}: it goes back as it came, until it is no longer empty.
func TestEmptyTablesStayAsTheyCame(t *testing.T) {
	for _, data := range []string{"[]", "{}"} {
		text := strings.Replace(keepBlox, `{"Coins":1}`, data, 1)
		in := fromRoblox(t, text)
		if got := lookup(parse(t, in.Record), "/data"); got != "{}" {
			t.Errorf("%s is %s here", data, got)
		}
		if got := lookup(toRoblox(t, in.Record), "/Data"); got != data {
			t.Errorf("%s went back as %s", data, got)
		}
		full := strings.Replace(string(in.Record), `"data":{}`, `"data":{"x":1}`, 1)
		if got := lookup(toRoblox(t, []byte(full)), "/Data"); got != `{"x":1}` {
			t.Errorf("filled it went back as %s", got)
		}
	}
}

func TestFromRobloxRefuses(t *testing.T) {
	replaced := func(old, by string) string { return strings.Replace(profileStore, old, by, 1) }
	for _, c := range []struct{ text, path string }{
		{``, ""},
		{`[]`, ""},
		{profileStore[:50], ""},
		{replaced(`"Data"`, `"Dato"`), "/Data"},
		{replaced(`"MetaData"`, `"Meta"`), "/MetaData"},
		{replaced(`{"Coins":120`, `["Coins"],"X":{"a":1`), "/Data"},
		{replaced(`"Coins":120`, `"Coins":9007199254740993`), "/Data/Coins"},
		{replaced(`"Coins":120`, `"a/b~":[1,null]`), "/Data/a~1b~0/1"},
		{replaced(`"Coins":120`, `"Coins":99999999999999999999`), "/Data"},
		{replaced(`"SessionLoadCount":14`, `"SessionLoadCount":-1`), "/MetaData/SessionLoadCount"},
		{replaced(`"SessionLoadCount":14`, `"SessionLoadCount":1.5`), "/MetaData/SessionLoadCount"},
		{replaced(`"ProfileCreateTime":1700000000`, `"ProfileCreateTime":"x"`), "/MetaData/ProfileCreateTime"},
		{replaced(`"LastUpdate":1700009000.25`, `"LastUpdate":1e300`), "/MetaData/LastUpdate"},
		{replaced(`"MetaTags":{"vip":true}`, `"MetaTags":[1]`), "/MetaData/MetaTags"},
		{replaced(`[3,[`, `["x",[`), "/GlobalUpdates"},
		{replaced(`"GlobalUpdates":[3,`, `"GlobalUpdates":[3,4,`), "/GlobalUpdates"},
		{replaced(`"UserIds":[261]`, `"UserIds":261`), "/UserIds"},
		{strings.Replace(keepBlox, `[0,[]]`, `false`, 1), "/GlobalUpdates"},
		{strings.Replace(keepBlox, `[0,[]]`, `[0,{"a":1}]`, 1), "/GlobalUpdates"},
	} {
		_, err := exchange.FromRoblox([]byte(c.text), nil)
		if format := new(exchange.FormatError); !errors.As(err, &format) || format.Path != c.path {
			t.Errorf("%s: %v, want a complaint about %q", c.text, err, c.path)
		}
	}
}

func TestToRobloxRefuses(t *testing.T) {
	record := func(data, more string) string {
		return `{"created":"2026-08-11T12:00:00.000Z","data":` + data + `,"epoch":1,"format":1,"revision":0,"session":null` + more + `}`
	}
	for _, c := range []struct{ text, path string }{
		{record(`{"a":{"b":[1,9007199254740993]}}`, ``), "/Data/a/b/1"},
		{record(`{"a":[null]}`, ``), "/Data/a/0"},
		{record(`[]`, ``), "/Data"},
		{record(`{}`, `,"tags":{"x":9007199254740993}`), "/MetaData/MetaTags/x"},
		{record(`{"big":"`+strings.Repeat("x", 4<<20)+`"}`, ``), ""},
		{`{"format":1,"data":{},"epoch":"x"}`, ""},
	} {
		_, err := exchange.ToRoblox([]byte(c.text))
		if format := new(exchange.FormatError); !errors.As(err, &format) || format.Path != c.path {
			t.Errorf("%.80s: %v, want a complaint about %q", c.text, err, c.path)
		}
	}
	if _, err := exchange.ToRoblox([]byte(record(`null`, `,"erased":"2026-08-11T12:00:00.000Z"`))); !errors.Is(err, exchange.ErrErased) {
		t.Errorf("erased: %v", err)
	}
	if _, err := exchange.ToRoblox([]byte(`{"format":2}`)); !errors.Is(err, exchange.ErrNewerVersion) {
		t.Errorf("later: %v", err)
	}
	// What a double holds passes, however large.
	if _, err := exchange.ToRoblox([]byte(record(`{"a":1152921504606846976,"b":-9007199254740992}`, ``))); err != nil {
		t.Errorf("a double: %v", err)
	}
}

// table draws what a table of Lua can hold, as JSON.
func table(t *rapid.T, depth int, label string) string {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, label) {
	case 0:
		return fmt.Sprint(rapid.Int64Range(-1<<53, 1<<53).Draw(t, label))
	case 1:
		return fmt.Sprintf("%.17g", rapid.Float64Range(-1e15, 1e15).Draw(t, label)) + "e0"
	case 2:
		return fmt.Sprint(rapid.Bool().Draw(t, label))
	case 3:
		return doc.MustString(rapid.String().Draw(t, label)).String()
	case 4:
		return rapid.SampledFrom([]string{"[]", "{}"}).Draw(t, label)
	case 5:
		items := make([]string, rapid.IntRange(0, 3).Draw(t, label))
		for i := range items {
			items[i] = table(t, depth-1, label)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return members(t, depth, label)
}

func members(t *rapid.T, depth int, label string) string {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z~/ é]{0,4}`), 0, 3, rapid.ID).Draw(t, label)
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = doc.MustString(name).String() + ":" + table(t, max(0, depth-1), label)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// robloxRecord draws a record that is free and has been loaded.
func robloxRecord(t *rapid.T) string {
	meta := []string{
		`"ProfileCreateTime":` + rapid.SampledFrom([]string{"0", "1700000000", "1700000000.5", "1.7e9", "1699999999.0004"}).Draw(t, "created"),
		fmt.Sprintf(`"SessionLoadCount":%d`, rapid.Int64Range(1, 1<<40).Draw(t, "loads")),
		`"LastUpdate":` + rapid.SampledFrom([]string{"0", "1700000001", "1700000001.123456789"}).Draw(t, "updated"),
		`"MetaTags":` + rapid.SampledFrom([]string{"[]", members(t, 1, "tags")}).Draw(t, "tags"),
	}
	if rapid.Bool().Draw(t, "keepblox") {
		meta = append(meta, `"KeepBlox":`+members(t, 2, "keepblox state"))
	}
	return `{"UserIds":[261,5],"Data":` + rapid.SampledFrom([]string{"[]", members(t, 4, "data")}).Draw(t, "root") +
		`,"MetaData":{` + strings.Join(meta, ",") + `},"GlobalUpdates":[1,[[1,` + table(t, 2, "update") + `]]],` +
		`"RobloxMetaData":` + rapid.SampledFrom([]string{"[]", members(t, 2, "roblox")}).Draw(t, "meta") + `,"WasOverwritten":true}`
}

// Reading and writing back is the identity on values.
func TestRobloxRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := robloxRecord(t)
		want, err := doc.Parse([]byte(text), nil)
		if err != nil {
			t.Skip(err)
		}
		in, err := exchange.FromRoblox([]byte(text), nil)
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		out, err := exchange.ToRoblox(in.Record)
		if err != nil {
			t.Fatalf("%v in %s", err, in.Record)
		}
		got, err := doc.Parse(out, nil)
		if err != nil || !got.Equal(want) {
			t.Fatalf("%v\n%s\n%s", err, out, text)
		}
	})
}

func FuzzFromRoblox(f *testing.F) {
	f.Add([]byte(profileStore))
	f.Add([]byte(keepBlox))
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := exchange.FromRoblox(text, nil)
		if err != nil {
			return
		}
		if _, err := exchange.ToRoblox(in.Record); err != nil && !strings.Contains(err.Error(), "at most") {
			t.Fatalf("what was read cannot be written: %v\n%s", err, in.Record)
		}
	})
}
