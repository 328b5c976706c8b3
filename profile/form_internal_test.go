package profile

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
)

// fullRecord has every field of the envelope.
const fullRecord = `{` +
	`"ask":{"for":"tok1","node":"b-1","token":"tok2"},` +
	`"commits":[{"digest":"d1","id":"buy-1","revision":4},{"id":"buy-2","revision":5}],` +
	`"created":"2026-08-11T12:00:00.000Z",` +
	`"data":{"big":9223372036854775807,"coins":7,"half":0.5,"name":"Zoë","one":1.0,"small":-9223372036854775808},` +
	`"epoch":3,` +
	`"format":1,` +
	`"handled":[{"at":"2026-08-11T12:00:00.250Z","id":"mail-1"}],` +
	`"revision":5,"schema":2,` +
	`"session":{"beating":true,"node":"a-1","since":"2026-08-11T12:00:00.000Z","token":"tok1"},` +
	`"tags":{"vip":true},` +
	`"tookFrom":{"at":"2026-08-10T00:00:00.000Z","epoch":2,"evidence":"age","node":"z-1","token":"tok0"},` +
	`"updated":"2026-08-11T12:00:01.000Z"}`

func mustDecode(t *testing.T, text string) record {
	t.Helper()
	r, err := decodeRecord([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecordRoundTrip(t *testing.T) {
	r := mustDecode(t, fullRecord)
	if got := string(r.encode()); got != fullRecord {
		t.Errorf("encoded\n%s\nwant\n%s", got, fullRecord)
	}
	if r.epoch != 3 || r.revision != 5 || r.schema != 2 || !r.holds("tok1") || r.ask.token != "tok2" || len(r.marks) != 2 || len(r.handled) != 1 {
		t.Errorf("decoded %+v", r)
	}
	if v, ok, _ := r.data.Lookup("/big"); !ok || v.String() != "9223372036854775807" { // case P15
		t.Errorf("a large integer came back as %v", v)
	}
}

func TestSmallestRecord(t *testing.T) {
	const text = `{"created":"0001-01-01T00:00:00.000Z","data":null,"epoch":0,"format":1,"revision":0,"schema":0,"session":null,"updated":"0001-01-01T00:00:00.000Z"}`
	if got := string(record{}.encode()); got != text {
		t.Errorf("the zero record is %s", got)
	}
	if r := mustDecode(t, `{"format":1,"data":{},"epoch":1,"revision":0,"session":null}`); r.session != nil || !r.created.IsZero() {
		t.Errorf("decoded %+v", r)
	}
}

func TestErasedRecordRoundTrip(t *testing.T) {
	r := record{epoch: 7, revision: 9, erased: ruleTime}
	got := mustDecode(t, string(r.encode()))
	if !got.erased.Equal(ruleTime) || got.epoch != 7 || !got.data.IsNull() {
		t.Errorf("decoded %+v", got)
	}
}

// Fields of later releases come through a save byte by byte, wherever they are.
func TestUnknownFieldsAreKept(t *testing.T) {
	text := strings.Replace(fullRecord, `"created"`, `"compressed":{"b": 1.50, "a":1e2},"created"`, 1)
	text = strings.Replace(text, `"since"`, `"region":"eu","since"`, 1)
	text = strings.Replace(text, `"node":"b-1"`, `"hops":18446744073709551616,"node":"b-1"`, 1)
	text = strings.Replace(text, `{"id":"buy-2"`, `{"actor":null,"id":"buy-2"`, 1)
	text = strings.Replace(text, `"id":"mail-1"`, `"id":"mail-1","size":[ ]`, 1)
	text = strings.Replace(text, `"evidence":"age"`, `"evidence":"age","looks":2`, 1)
	text = strings.TrimSuffix(text, "}") + `,"zz":"\u0041"}`
	r := mustDecode(t, text)
	if got := string(r.encode()); got != text {
		t.Errorf("encoded\n%s\nwant\n%s", got, text)
	}
	next := saved(r, snapshot{data: doc.Int(1), revision: 6, schema: 2, beating: true}, ruleTime)
	for _, field := range []string{`"compressed":{"b": 1.50, "a":1e2}`, `"region":"eu"`, `"zz":"\u0041"`} {
		if !strings.Contains(string(next.encode()), field) {
			t.Errorf("a save lost %s", field)
		}
	}
	if asked := withAsk(r, asker{token: "t", node: "n", target: "tok1"}, 0); !strings.Contains(string(asked.encode()), `"region":"eu"`) {
		t.Error("an ask in the record touched the session")
	}
	if claimed := claimed(released(r, ruleTime), ruleMe, ruleTime); strings.Contains(string(claimed.encode()), `"region"`) {
		t.Error("a field of the old session is in the new one")
	}
}

func TestDecodeRefuses(t *testing.T) {
	replaced := func(old, by string) string { return strings.Replace(fullRecord, old, by, 1) }
	for name, text := range map[string]string{
		"empty":               ``,
		"not JSON":            `hello`,
		"a list":              `[]`,
		"null":                `null`,
		"cut":                 fullRecord[:len(fullRecord)-1],
		"trailing":            fullRecord + `{}`,
		"no format":           replaced(`"format":1,`, ``),
		"format 0":            replaced(`"format":1`, `"format":0`),
		"format a string":     replaced(`"format":1`, `"format":"1"`),
		"format a fraction":   replaced(`"format":1`, `"format":1.0`),
		"duplicate":           replaced(`"epoch":3`, `"epoch":3,"epoch":4`),
		"duplicate in data":   replaced(`"coins":7`, `"coins":7,"coins":8`),
		"duplicate in extra":  replaced(`"epoch":3`, `"x":{"a":1,"a":2},"epoch":3`),
		"invalid UTF-8":       replaced(`Zoë`, "Zo\xff"),
		"integer too large":   replaced(`"coins":7`, `"coins":9223372036854775808`),
		"negative epoch":      replaced(`"epoch":3`, `"epoch":-3`),
		"no data":             strings.Replace(fullRecord, `"data":`, `"dato":`, 1),
		"no session":          strings.Replace(fullRecord, `"session":`, `"sessions":`, 1),
		"session a string":    replaced(`"session":{"beating":true,"node":"a-1","since":"2026-08-11T12:00:00.000Z","token":"tok1"}`, `"session":"tok1"`),
		"session no token":    replaced(`,"token":"tok1"`, ``),
		"beating a number":    replaced(`"beating":true`, `"beating":1`),
		"bad time":            replaced(`"created":"2026-08-11T12`, `"created":"2026-13-11T12`),
		"commits an object":   replaced(`"commits":[`, `"commits":{},"c":[`),
		"commit without id":   replaced(`"id":"buy-1",`, ``),
		"tags a list":         replaced(`"tags":{"vip":true}`, `"tags":[]`),
		"evidence missing":    replaced(`"evidence":"age",`, ``),
		"schema out of range": replaced(`"schema":2`, `"schema":2147483648`),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeRecord([]byte(text))
			if err == nil {
				t.Fatal("accepted")
			}
			if errors.Is(err, errLaterFormat) {
				t.Errorf("taken for a later release's: %v", err)
			}
		})
	}
}

func TestLaterFormatIsToldApart(t *testing.T) {
	for _, text := range []string{
		strings.Replace(fullRecord, `"format":1`, `"format":2`, 1),
		`{"format":7}`, // nothing else need be as it is here
		`{"format":7,"data":[1e999],"session":"compressed"}`,
	} {
		if _, err := decodeRecord([]byte(text)); !errors.Is(err, errLaterFormat) {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := decodeJournal([]byte(text)); !errors.Is(err, errLaterFormat) {
			t.Errorf("journal %s: %v", text, err)
		}
	}
}

func TestStampIsUTCAndWholeMilliseconds(t *testing.T) {
	zone := time.FixedZone("east", 2*60*60)
	got := mustDecode(t, string(record{created: time.Date(2026, 8, 11, 14, 0, 0, 123_456_789, zone)}.encode()))
	if want := time.Date(2026, 8, 11, 12, 0, 0, 123_000_000, time.UTC); !got.created.Equal(want) || got.created.Location() != time.UTC {
		t.Errorf("created %v, want %v", got.created, want)
	}
}

const fullJournal = `{"base":5,"baseDigest":"abc","commits":[{"digest":"d","id":"gift","revision":6}],` +
	`"effects":{"set":{"/coins":8}},"epoch":3,"format":1,"later":[1.50],"rev":6,"schema":2,"sealedBy":"tok9","token":"tok1"}`

func TestJournalRoundTrip(t *testing.T) {
	j, err := decodeJournal([]byte(fullJournal))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(j.encode()); got != fullJournal {
		t.Errorf("encoded\n%s\nwant\n%s", got, fullJournal)
	}
	if j.base != 5 || j.rev != 6 || j.effects.Len() != 1 || j.sealedBy != "tok9" || len(j.marks) != 1 {
		t.Errorf("decoded %+v", j)
	}
	for _, bad := range []string{`{}`, `{"format":1}`, strings.Replace(fullJournal, `"set":{`, `"sot":{`, 1), strings.Replace(fullJournal, `"token":"tok1"`, `"token":1`, 1)} {
		if _, err := decodeJournal([]byte(bad)); err == nil || errors.Is(err, errLaterFormat) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(fullRecord))
	f.Add([]byte(`{"format":1,"data":{},"epoch":1,"revision":0,"session":null,"x":[1.0]}`))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decodeRecord(text)
		if err != nil {
			return
		}
		once := r.encode()
		again, err := decodeRecord(once)
		if err != nil {
			t.Fatalf("own encoding refused: %v\n%s", err, once)
		}
		if twice := again.encode(); !bytes.Equal(once, twice) {
			t.Fatalf("encodings differ\n%s\n%s", once, twice)
		}
		if !again.data.Equal(r.data) || again.epoch != r.epoch || again.revision != r.revision || again.holder() != r.holder() {
			t.Fatalf("decoded differently: %+v %+v", r, again)
		}
	})
}

func FuzzDecodeJournal(f *testing.F) {
	f.Add([]byte(fullJournal))
	f.Add([]byte(`{"format":1,"token":"t","effects":{"unset":["/a"],"tail":{"/l":{"from":1,"items":[2]}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := decodeJournal(text)
		if err != nil {
			return
		}
		once := j.encode()
		again, err := decodeJournal(once)
		if err != nil {
			t.Fatalf("own encoding refused: %v\n%s", err, once)
		}
		if twice := again.encode(); !bytes.Equal(once, twice) {
			t.Fatalf("encodings differ\n%s\n%s", once, twice)
		}
		// Replaying must never panic, whatever is in there.
		_, _ = replay(j, storedRecord(j.token, "there"))
	})
}
