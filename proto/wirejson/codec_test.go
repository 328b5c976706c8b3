package wirejson_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/wirejson"
)

func write(t *testing.T, msg proto.Message) string {
	t.Helper()
	var c wirejson.Codec
	out, err := c.Append(nil, msg)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func read(t *testing.T, text string, msg proto.Message) error {
	t.Helper()
	var c wirejson.Codec
	return c.UnmarshalRead(t.Context(), strings.NewReader(text), msg)
}

func TestWrite(t *testing.T) {
	moment := timestamppb.New(time.Date(2026, 8, 11, 0, 0, 0, 250_000_000, time.UTC))
	for _, c := range []struct {
		name string
		msg  proto.Message
		want string
	}{
		{"zero values are visible", &shoalv1.BoardStanding{}, `{"rank":0,"key":"","score":0}`},
		{"optional fields only when present", &shoalv1.BoardStanding{Decimal: proto.String("")}, `{"rank":0,"key":"","score":0,"decimal":""}`},
		{"bytes", &shoalv1.BoardSubmission{Key: "a", Meta: []byte{0xfb, 0xff, 0}}, `{"key":"a","meta":"+/8A"}`},
		{"bytes that are there and empty", &shoalv1.BoardSubmission{Key: "a", Meta: []byte{}}, `{"key":"a","meta":""}`},
		{"doubles", &shoalv1.BoardPercentileResponse{Found: true, Rank: 1, Total: 3, Top: 100.0 / 3}, `{"found":true,"rank":1,"total":3,"top":33.333333333333336}`},
		{"small doubles", &shoalv1.BoardPercentileResponse{Top: 1e-7}, `{"found":false,"rank":0,"total":0,"top":1e-07}`},
		{"whole doubles", &shoalv1.BoardPercentileResponse{Top: 100}, `{"found":false,"rank":0,"total":0,"top":100}`},
		{"an optional zero is present", &shoalv1.BoardSubmission{Key: "a", Score: proto.Int64(0)}, `{"key":"a","score":0}`},
		{"empty lists", &shoalv1.BoardTopResponse{}, `{"entries":[],"total":0,"sealed":false}`},
		{"lists of messages", &shoalv1.BoardScoresResponse{Entries: []*shoalv1.BoardEntry{{Key: "a", Score: -1}, {Key: "b"}}}, `{"entries":[{"key":"a","score":-1},{"key":"b","score":0}]}`},
		{"maps in order of their keys", &shoalv1.SeasonRecordResponse{Id: "C1S1", Stats: map[string]int64{"b": 2, "a": 1, "\"": 3}}, `{"id":"C1S1","stats":{"\"":3,"a":1,"b":2}}`},
		{"messages only when present", &shoalv1.SeasonCurrentResponse{}, `{}`},
		{"times and durations", &shoalv1.SeasonCurrentResponse{Now: moment, Remaining: durationpb.New(-1500 * time.Millisecond)}, `{"now":"2026-08-11T00:00:00.25Z","remaining":"-1.500s"}`},
		{"a raw field in place", &shoalv1.Profile{Set: "p", Data: `{"coins":9007199254740993}`}, `{"set":"p","key":"","epoch":0,"revision":0,"data":{"coins":9007199254740993}}`},
		{"an empty raw field is none", &shoalv1.ProfileTransactRequest{}, `{"set":"","key":"","note":"","actor":"","id":"","returnData":false,"kind":""}`},
		{"strings are quoted", &shoalv1.BoardTopRequest{Board: "a\"\n<é"}, `{"board":"a\"\n<é","ranks":""}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := write(t, c.msg); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Integers beyond what JavaScript holds exactly are strings: a reader that would round them
// does not see a number. Cases B11 and P15 on the wire.
func TestIntegersAreExact(t *testing.T) {
	for _, c := range []struct {
		score int64
		want  string
	}{
		{0, `0`},
		{-7, `-7`},
		{1<<53 - 1, `9007199254740991`},
		{-(1<<53 - 1), `-9007199254740991`},
		{1 << 53, `"9007199254740992"`},
		{-(1 << 53), `"-9007199254740992"`},
		{math.MaxInt64, `"9223372036854775807"`},
		{math.MinInt64, `"-9223372036854775808"`},
	} {
		text := write(t, &shoalv1.BoardEntry{Key: "a", Score: c.score})
		if want := `{"key":"a","score":` + c.want + `}`; text != want {
			t.Errorf("got %s, want %s", text, want)
		}
		for _, form := range []string{text, strings.ReplaceAll(text, `"`+strings.Trim(c.want, `"`)+`"`, strings.Trim(c.want, `"`))} {
			var back shoalv1.BoardEntry
			if err := read(t, form, &back); err != nil || back.GetScore() != c.score {
				t.Errorf("%s reads as %d, %v", form, back.GetScore(), err)
			}
		}
	}
	big := &shoalv1.ProfileSaveResponse{Revision: math.MaxUint64}
	if got := write(t, big); got != `{"revision":"18446744073709551615"}` {
		t.Errorf("got %s", got)
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       proto.Message
	}{
		{"nothing", `{}`, &shoalv1.BoardSubmission{}},
		{"spaces", " {\n\t\"key\" : \"a\" } \r\n", &shoalv1.BoardSubmission{Key: "a"}},
		{"names of the .proto file", `{"return_data":true}`, &shoalv1.ProfileTransactRequest{ReturnData: true}},
		{"names of JSON", `{"returnData":true}`, &shoalv1.ProfileTransactRequest{ReturnData: true}},
		{"escaped names", `{"\u006bey":"a"}`, &shoalv1.BoardSubmission{Key: "a"}},
		{"null is unset", `{"key":null,"score":null}`, &shoalv1.BoardSubmission{}},
		{"a null list is unset", `{"board":"b","entries":null}`, &shoalv1.BoardSubmitRequest{Board: "b"}},
		{"zero is not unset", `{"score":-0}`, &shoalv1.BoardSubmission{Score: proto.Int64(0)}},
		{"integers as strings", `{"score":"-12"}`, &shoalv1.BoardSubmission{Score: proto.Int64(-12)}},
		{"messages in lists", `{"entries":[{"key":"a","score":1},{}]}`, &shoalv1.BoardSubmitRequest{Entries: []*shoalv1.BoardSubmission{{Key: "a", Score: proto.Int64(1)}, {}}}},
		{"maps", `{"stats":{"fish":3,"":0}}`, &shoalv1.SeasonViewResponse{Stats: map[string]int64{"fish": 3, "": 0}}},
		{"a raw object", `{"ops": [ {"by":1e3} ] }`, &shoalv1.ProfileTransactRequest{Ops: `[ {"by":1e3} ]`}},
		{"a raw null", `{"ops":null}`, &shoalv1.ProfileTransactRequest{Ops: `null`}},
		{"bytes", `{"meta":"+/8A"}`, &shoalv1.BoardSubmission{Meta: []byte{0xfb, 0xff, 0}}},
		{"no bytes", `{"meta":""}`, &shoalv1.BoardSubmission{Meta: []byte{}}},
		{"doubles", `{"top":-1.5e-3}`, &shoalv1.BoardPercentileResponse{Top: -0.0015}},
		{"times", `{"time":"2026-08-11T02:00:00+02:00"}`, &shoalv1.SeasonPreviewRequest{Time: timestamppb.New(time.Date(2026, 8, 11, 0, 0, 0, 0, time.UTC))}},
		{"durations", `{"wait":"1.5s"}`, &shoalv1.ProfileLoadRequest{Wait: durationpb.New(1500 * time.Millisecond)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.want.ProtoReflect().New().Interface()
			if err := read(t, c.text, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		msg        proto.Message
		field      string
		problem    string // a part of it
	}{
		{"nothing at all", "", &shoalv1.BoardTopRequest{}, "", "the message is empty"},
		{"cut", `{"board":"b"`, &shoalv1.BoardTopRequest{}, "", "ends too early"},
		{"cut inside", `{"board":"b`, &shoalv1.BoardTopRequest{}, "board", "ends too early"},
		{"no JSON", `board=b`, &shoalv1.BoardTopRequest{}, "", "invalid character 'b'"},
		{"a list", `[]`, &shoalv1.BoardTopRequest{}, "", "an object is expected, got a list"},
		{"null", `null`, &shoalv1.BoardTopRequest{}, "", "an object is expected, got null"},
		{"two messages", `{} {}`, &shoalv1.BoardTopRequest{}, "", "more data after the message"},
		{"rubbish behind", `{}x`, &shoalv1.BoardTopRequest{}, "", "invalid character 'x'"},
		{"unknown field", `{"bord":"b"}`, &shoalv1.BoardTopRequest{}, "bord", "is no field of BoardTopRequest; it has board, count, ranks"},
		{"unknown field of a message without", `{"a":1}`, &shoalv1.NodeStatusRequest{}, "a", "it has no fields"},
		{"unknown field inside", `{"entries":[{},{"keey":1}]}`, &shoalv1.BoardSubmitRequest{}, "entries[1].keey", "is no field"},
		{"names are exact", `{"Board":"b"}`, &shoalv1.BoardTopRequest{}, "Board", "is no field"},
		{"twice", `{"board":"b","board":"b"}`, &shoalv1.BoardTopRequest{}, "board", "is given twice"},
		{"twice by two names", `{"returnData":true,"return_data":true}`, &shoalv1.ProfileTransactRequest{}, "return_data", "is given twice"},
		{"twice in a document", `{"ops":[{"value":{"a":1,"a":2}}]}`, &shoalv1.ProfileTransactRequest{}, "ops[0].value.a", "is given twice"},
		{"twice in a map", `{"stats":{"a":1,"a":2}}`, &shoalv1.SeasonViewResponse{}, "stats.a", "is given twice"},
		{"invalid UTF-8", "{\"board\":\"\xff\"}", &shoalv1.BoardTopRequest{}, "board", "invalid UTF-8"},
		{"invalid UTF-8 in a document", "{\"ops\":[\"\xff\"]}", &shoalv1.ProfileTransactRequest{}, "ops[0]", "invalid UTF-8"},
		{"half a surrogate", `{"board":"\ud800"}`, &shoalv1.BoardTopRequest{}, "board", "surrogate"},
		{"a number for a string", `{"board":5}`, &shoalv1.BoardTopRequest{}, "board", "a string is expected, got 5"},
		{"a list for a string", `{"board":["b"]}`, &shoalv1.BoardTopRequest{}, "board", "a string is expected, got a list"},
		{"a string for a bool", `{"quiet":"true"}`, &shoalv1.ProfileLoadRequest{}, "quiet", `true or false is expected, got the string "true"`},
		{"an object for a list", `{"entries":{}}`, &shoalv1.BoardSubmitRequest{}, "entries", "a list is expected, got an object"},
		{"a list for an object", `{"stats":[]}`, &shoalv1.SeasonViewResponse{}, "stats", "an object is expected, got a list"},
		{"null in a list", `{"keys":["a",null]}`, &shoalv1.BoardScoresRequest{}, "keys[1]", "a string is expected, got null"},
		{"a message null in a list", `{"entries":[null]}`, &shoalv1.BoardSubmitRequest{}, "entries[0]", "an object is expected, got null"},
		// case B12
		{"a fraction", `{"score":1.5}`, &shoalv1.BoardSubmission{}, "score", "a whole number is expected, got 1.5"},
		{"a whole fraction", `{"score":1.0}`, &shoalv1.BoardSubmission{}, "score", "a whole number is expected, got 1.0"},
		{"an exponent", `{"score":1e300}`, &shoalv1.BoardSubmission{}, "score", "a whole number is expected, got 1e300"},
		{"NaN", `{"score":NaN}`, &shoalv1.BoardSubmission{}, "score", "invalid character 'N'"},
		{"NaN as a string", `{"score":"NaN"}`, &shoalv1.BoardSubmission{}, "score", `a whole number is expected, got the string "NaN"`},
		{"an empty string", `{"score":""}`, &shoalv1.BoardSubmission{}, "score", "a whole number is expected"},
		{"a spaced number", `{"score":" 5"}`, &shoalv1.BoardSubmission{}, "score", "a whole number is expected"},
		{"a signed number", `{"score":"+5"}`, &shoalv1.BoardSubmission{}, "score", "a whole number is expected"},
		{"zeros in front", `{"score":"007"}`, &shoalv1.BoardSubmission{}, "score", "a whole number is expected"},
		{"a boolean for a number", `{"score":true}`, &shoalv1.BoardSubmission{}, "score", "a whole number is expected, got true"},
		// case B13
		{"above int64", `{"score":9223372036854775808}`, &shoalv1.BoardSubmission{}, "score", "9223372036854775808 is outside the range of int64"},
		{"below int64", `{"score":"-9223372036854775809"}`, &shoalv1.BoardSubmission{}, "score", "outside the range of int64"},
		{"above int32", `{"count":2147483648}`, &shoalv1.BoardTopRequest{}, "count", "outside the range of int32"},
		{"below uint64", `{"revision":-1}`, &shoalv1.ProfileSaveResponse{}, "revision", "a whole number is expected, got -1"},
		{"a long value is cut", `{"score":"` + strings.Repeat("é", 50) + `"}`, &shoalv1.BoardSubmission{}, "score", "é…"},
		{"no base64", `{"meta":"fish!"}`, &shoalv1.BoardSubmission{}, "meta", `bytes in base64 are expected, got the string "fish!"`},
		{"base64 for URLs", `{"meta":"-_8A"}`, &shoalv1.BoardSubmission{}, "meta", "bytes in base64"},
		{"base64 without padding", `{"meta":"AA"}`, &shoalv1.BoardSubmission{}, "meta", "bytes in base64"},
		{"base64 with bits to spare", `{"meta":"AB=="}`, &shoalv1.BoardSubmission{}, "meta", "bytes in base64"},
		{"base64 in lines", `{"meta":"AA\n=="}`, &shoalv1.BoardSubmission{}, "meta", "bytes in base64"},
		{"a number for bytes", `{"meta":5}`, &shoalv1.BoardSubmission{}, "meta", "bytes in base64 are expected, got 5"},
		{"invalid UTF-8 for bytes", "{\"meta\":\"\xff\"}", &shoalv1.BoardSubmission{}, "meta", "invalid UTF-8"},
		{"a string for a double", `{"top":"1"}`, &shoalv1.BoardPercentileResponse{}, "top", `a number is expected, got the string "1"`},
		{"beyond doubles", `{"top":1e400}`, &shoalv1.BoardPercentileResponse{}, "top", "1e400 is outside the range of a double"},
		{"NaN for a double", `{"top":NaN}`, &shoalv1.BoardPercentileResponse{}, "top", "invalid character 'N'"},
		{"no time", `{"time":"tomorrow"}`, &shoalv1.SeasonPreviewRequest{}, "time", "a time such as"},
		{"a number for a time", `{"time":5}`, &shoalv1.SeasonPreviewRequest{}, "time", "a time such as"},
		{"a number for a duration", `{"wait":5}`, &shoalv1.ProfileLoadRequest{}, "wait", `a duration in seconds such as "1.5s" is expected, got 5`},
		{"minutes", `{"wait":"5m"}`, &shoalv1.ProfileLoadRequest{}, "wait", "a duration in seconds"},
		{"too deep", `{"ops":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, &shoalv1.ProfileTransactRequest{}, "", "exceeded max depth"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := read(t, c.text, c.msg)
			var refused *wirejson.Error
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a *wirejson.Error", err)
			}
			if c.name != "too deep" && refused.Field != c.field {
				t.Errorf("field %q, want %q (%v)", refused.Field, c.field, err)
			}
			if !strings.Contains(refused.Problem, c.problem) {
				t.Errorf("problem %q, want %q in it", refused.Problem, c.problem)
			}
			if !strings.Contains(err.Error(), refused.Field) {
				t.Errorf("%q does not name the field %q", err, refused.Field)
			}
		})
	}
}

func TestReadResets(t *testing.T) {
	msg := &shoalv1.BoardTopRequest{Board: "old", Count: proto.Int32(3)}
	if err := read(t, `{}`, msg); err != nil || msg.GetBoard() != "" || msg.Count != nil {
		t.Errorf("got %v, %v", msg, err)
	}
}

var errBroken = errors.New("connection broken")

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

func TestErrorsOfTheReaderStay(t *testing.T) {
	var c wirejson.Codec
	err := c.UnmarshalRead(t.Context(), io.MultiReader(strings.NewReader(`{"board":`), brokenReader{}), &shoalv1.BoardTopRequest{})
	var refused *wirejson.Error
	if !errors.Is(err, errBroken) || errors.As(err, &refused) {
		t.Errorf("got %v, want the reader's error", err)
	}
}

func TestWriteRefuses(t *testing.T) {
	var c wirejson.Codec
	for name, msg := range map[string]any{
		"no message":    "text",
		"invalid UTF-8": &shoalv1.BoardTopRequest{Board: "\xff"},
		"bad map key":   &shoalv1.SeasonViewResponse{Stats: map[string]int64{"\xff": 1}},
		"bad time":      &shoalv1.SeasonPreviewRequest{Time: &timestamppb.Timestamp{Nanos: -1}},
		"bad duration":  &shoalv1.ProfileLoadRequest{Wait: &durationpb.Duration{Seconds: 1, Nanos: -1}},
		"no form":       wrapperspb.Float(1),
		"not finite":    &shoalv1.BoardPercentileResponse{Top: math.Inf(1)},
		"not a number":  &shoalv1.BoardPercentileResponse{Top: math.NaN()},
	} {
		if out, err := c.Append(nil, msg); err == nil {
			t.Errorf("%s: written as %s", name, out)
		}
	}
	if err := read(t, `{}`, wrapperspb.Float(1)); err == nil {
		t.Error("a message without a form was read")
	}
	if err := c.UnmarshalRead(t.Context(), strings.NewReader("{}"), 5); err == nil {
		t.Error("a number was read into")
	}
}

// Every message of the services has a form: the codec's plans are made on first use, and no
// user is to find one missing.
func TestEveryMessageHasAForm(t *testing.T) {
	count := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("shoal.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Messages().Len() {
			mt, err := protoregistry.GlobalTypes.FindMessageByName(file.Messages().Get(i).FullName())
			if err != nil {
				t.Fatal(err)
			}
			write(t, mt.New().Interface())
			count++
		}
		return true
	})
	if count < 30 {
		t.Errorf("saw %d messages", count)
	}
}

func TestCodecWritesBehindABuffer(t *testing.T) {
	var c wirejson.Codec
	var buf bytes.Buffer
	if err := c.MarshalWriteStable(t.Context(), &buf, &shoalv1.BoardTopRequest{Board: "b"}); err != nil || buf.String() != `{"board":"b","ranks":""}` {
		t.Errorf("got %s, %v", buf.Bytes(), err)
	}
	if c.Name() != "json" || c.IsBinary() {
		t.Error("the codec is not the text codec named json")
	}
	if err := c.MarshalWrite(t.Context(), failingWriter{}, &shoalv1.BoardTopRequest{}); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the writer's error", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errBroken }

// What is read can be written, and reads as the same message again.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"set":"p","key":"a","ops":[{"op":"set","path":"/a","value":1e3}],"returnData":true}`,
		`{"board":"b","entries":[{"key":"a","score":"9223372036854775807"},{"key":"b","decimal":"1.5"}]}`,
		`{"time":"2026-08-11T00:00:00.000000001Z","season":"reef"}`,
		`{"entries":[{"key":"a","score":1,"meta":"+/8A"}],"durable":true}`,
		`{"found":true,"rank":1,"total":3,"top":33.333333333333336}`,
		`{"stats":{"a":-1},"titles":[{"rank":3}]}`,
		`{"wait":"-0.000000001s","stealAfter":null}`,
	} {
		f.Add(seed)
	}
	kinds := []proto.Message{
		&shoalv1.ProfileTransactRequest{}, &shoalv1.BoardSubmitRequest{}, &shoalv1.SeasonPreviewRequest{},
		&shoalv1.SeasonViewResponse{}, &shoalv1.ProfileLoadRequest{}, &shoalv1.ProfileLoadResponse{},
		&shoalv1.BoardPercentileResponse{},
	}
	var c wirejson.Codec
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range kinds {
			first := kind.ProtoReflect().New().Interface()
			err := c.UnmarshalRead(t.Context(), strings.NewReader(text), first)
			var refused *wirejson.Error
			if err != nil {
				if !errors.As(err, &refused) || refused.Problem == "" {
					t.Fatalf("%T: %v", kind, err)
				}
				continue
			}
			out, err := c.Append(nil, first)
			if err != nil {
				t.Fatalf("%T: read but not written: %v", kind, err)
			}
			second := kind.ProtoReflect().New().Interface()
			if err := c.UnmarshalRead(t.Context(), bytes.NewReader(out), second); err != nil {
				t.Fatalf("%T: %s: %v", kind, out, err)
			}
			if diff := cmp.Diff(first, second, protocmp.Transform()); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func BenchmarkWriteTop50(b *testing.B) {
	msg := &shoalv1.BoardTopResponse{Total: 1_000_000}
	for i := range 50 {
		msg.Entries = append(msg.Entries, &shoalv1.BoardStanding{Rank: int64(i + 1), Key: "player_00012345", Score: int64(1_000_000 - i)})
	}
	var c wirejson.Codec
	var buf []byte
	for b.Loop() {
		buf, _ = c.Append(buf[:0], msg)
	}
}

func BenchmarkReadSubmit(b *testing.B) {
	const text = `{"board":"coins","entries":[{"key":"player_00012345","score":123456}]}`
	var c wirejson.Codec
	var msg shoalv1.BoardSubmitRequest
	var r bytes.Buffer
	for b.Loop() {
		r.Reset()
		r.WriteString(text)
		if err := c.UnmarshalRead(b.Context(), &r, &msg); err != nil {
			b.Fatal(err)
		}
	}
}
