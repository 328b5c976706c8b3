package exchange_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/exchange"
)

var header = exchange.Header{Set: "players", At: time.Date(2026, 8, 11, 12, 0, 0, 0, time.UTC)}

// export is an export of n profiles.
func export(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := exchange.NewWriter(&out, header)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.Profile(key(i), record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func key(i int) string    { return fmt.Sprintf("u_%03d", i) }
func record(i int) []byte { return fmt.Appendf(nil, `{"data":{"n":%d},"format":1}`, i) }

// read reads all of an export: what was read of each line, and how it ended.
func read(text []byte, o *exchange.ReaderOptions) (keys []string, broken []error, end error) {
	r, err := exchange.NewReader(bytes.NewReader(text), o)
	if err != nil {
		return nil, nil, err
	}
	for {
		line, err := r.Next()
		if lineErr := new(exchange.LineError); errors.As(err, &lineErr) {
			broken = append(broken, err)
			continue
		}
		if err != nil {
			return keys, broken, err
		}
		keys = append(keys, fmt.Sprint(line.Number, " ", line.Set, "/", line.Key, " ", string(line.Record)))
	}
}

func TestExportRoundTrip(t *testing.T) {
	text := export(t, 3)
	const want = `{"shoal":"export","version":1,"set":"players","at":"2026-08-11T12:00:00.000Z"}
{"format":1,"set":"players","key":"u_000","profile":{"data":{"n":0},"format":1}}
{"format":1,"set":"players","key":"u_001","profile":{"data":{"n":1},"format":1}}
{"format":1,"set":"players","key":"u_002","profile":{"data":{"n":2},"format":1}}
{"shoal":"end","profiles":3,"digest":"`
	if got, _, _ := strings.Cut(string(text), `digest":"`); got+`digest":"` != want {
		t.Errorf("export:\n%s", text)
	}
	keys, broken, end := read(text, nil)
	wantKeys := []string{`2 players/u_000 {"data":{"n":0},"format":1}`, `3 players/u_001 {"data":{"n":1},"format":1}`, `4 players/u_002 {"data":{"n":2},"format":1}`}
	if diff := cmp.Diff(wantKeys, keys); diff != "" || broken != nil || !errors.Is(end, io.EOF) {
		t.Errorf("%s\n%v, %v", diff, broken, end)
	}
}

// A record of a later release may have line breaks between its members.
func TestLineBreaksInARecord(t *testing.T) {
	var out bytes.Buffer
	w, err := exchange.NewWriter(&out, header)
	if err == nil {
		err = w.Profile("u", []byte("{\"a\":1,\r\n\"b\":\"\\n\"}"))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	keys, _, end := read(out.Bytes(), nil)
	if want := []string{`2 players/u {"a":1,  "b":"\n"}`}; !errors.Is(end, io.EOF) || !cmp.Equal(keys, want) {
		t.Errorf("%q, %v", keys, end)
	}
}

// Wherever an export is cut, it is seen; whole lines before are read.
func TestCutAnywhere(t *testing.T) {
	text := export(t, 3)
	first := bytes.IndexByte(text, '\n')
	for n := range text {
		keys, _, end := read(text[:n], nil)
		switch {
		case errors.Is(end, io.EOF) && n == len(text)-1: // all but the last newline
		case n < first && !errors.Is(end, exchange.ErrNoExport), n > first && !errors.Is(end, exchange.ErrTruncated):
			t.Fatalf("cut at %d: %v", n, end)
		case len(keys) > 3:
			t.Fatalf("cut at %d: %v", n, keys)
		}
	}
}

// A changed byte is seen, wherever it is.
func TestChangedAnywhere(t *testing.T) {
	text := export(t, 3)
	for n := range text {
		changed := bytes.Clone(text)
		changed[n] ^= 1
		if _, broken, end := read(changed, nil); errors.Is(end, io.EOF) && len(broken) == 0 && n < len(text)-1 {
			t.Fatalf("byte %d of %q is not missed", n, changed)
		}
	}
	if _, _, end := read(append(bytes.Clone(text), "{}\n"...), nil); !errors.Is(end, exchange.ErrDamaged) {
		t.Errorf("more behind the end: %v", end)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for _, order := range [][]int{{0, 2, 3, 4}, {0, 2, 1, 3, 4}, {0, 1, 1, 2, 3, 4}} {
		var other []byte
		for _, i := range order {
			other = append(other, lines[i]...)
		}
		if _, _, end := read(other, nil); !errors.Is(end, exchange.ErrDamaged) {
			t.Errorf("lines %v: %v", order, end)
		}
	}
}

func TestBrokenLinesAreNumbered(t *testing.T) {
	lines := strings.SplitAfter(string(export(t, 1)), "\n")
	bad := map[string]string{
		"nothing":             ``,
		"no JSON":             `hello`,
		"no key":              `{"format":1,"set":"players","profile":{}}`,
		"no profile":          `{"format":1,"set":"players","key":"u"}`,
		"no format":           `{"set":"players","key":"u","profile":{}}`,
		"both":                `{"format":1,"key":"u","profile":{},"roblox":{}}`,
		"profile a list":      `{"format":1,"key":"u","profile":[]}`,
		"twice":               `{"format":1,"key":"u","key":"v","profile":{}}`,
		"no record of Roblox": `{"format":1,"key":"u","roblox":{"Data":{}}}`,
		"another header":      `{"shoal":"export","version":1,"set":"players"}`,
		"too long":            `{"format":1,"key":"u","profile":{"x":"` + strings.Repeat("x", 300) + `"}}`,
	}
	for name, line := range bad {
		text := lines[0] + line + "\n" + lines[1]
		keys, broken, end := read([]byte(text), &exchange.ReaderOptions{MaxLine: 200})
		if lineErr := new(exchange.LineError); len(broken) != 1 || !errors.As(broken[0], &lineErr) || lineErr.Line != 2 {
			t.Errorf("%s: %v", name, broken)
		}
		if len(keys) != 1 || !errors.Is(end, exchange.ErrTruncated) {
			t.Errorf("%s: then %v, %v", name, keys, end)
		}
	}
	_, broken, _ := read([]byte(lines[0]+`{"format":2}`+"\n"), nil)
	if len(broken) != 1 || !errors.Is(broken[0], exchange.ErrNewerVersion) {
		t.Errorf("a later format: %v", broken)
	}
	if _, _, end := read([]byte(`{"shoal":"export","version":2,"set":"x"}`+"\n"), nil); !errors.Is(end, exchange.ErrNewerVersion) {
		t.Errorf("a later version: %v", end)
	}
	for _, text := range []string{"", "\n", "{}\n", lines[1], `{"shoal":"export","version":1}` + "\n"} {
		if _, _, end := read([]byte(text), nil); !errors.Is(end, exchange.ErrNoExport) {
			t.Errorf("%q: %v", text, end)
		}
	}
}

func TestRobloxLine(t *testing.T) {
	lines := strings.SplitAfter(string(export(t, 0)), "\n")
	r, err := exchange.NewReader(strings.NewReader(lines[0]+`{"format":1,"key":"Player_261","roblox":`+keepBlox+"}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	line, err := r.Next()
	if err != nil || line.Key != "Player_261" || !line.Held || line.Pending != 0 || !bytes.Equal(line.Record, fromRoblox(t, keepBlox).Record) {
		t.Errorf("%+v, %v", line, err)
	}
}

// An export that is broken off anywhere goes on, and is then the one that it would have been.
func TestResumeAnywhere(t *testing.T) {
	whole := export(t, 3)
	first := bytes.IndexByte(whole, '\n')
	end := bytes.Index(whole, []byte(`{"shoal":"end"`))
	name := filepath.Join(t.TempDir(), "export")
	for n := first + 1; n < len(whole)-1; n++ {
		if err := os.WriteFile(name, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		w, after, at, err := exchange.Resume(file)
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		done := 0
		if after != "" {
			if _, err := fmt.Sscanf(after, "u_%d", &done); err != nil {
				t.Fatal(err)
			}
			done++
		}
		if at > int64(n) || done != w.Profiles() || n >= end && done != 3 {
			t.Fatalf("cut at %d: resumed at %d after %q, %d profiles", n, at, after, w.Profiles())
		}
		if err := file.Truncate(at); err != nil {
			t.Fatal(err)
		}
		for i := done; i < 3; i++ {
			if err := w.Profile(key(i), record(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), file.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, whole) {
			t.Fatalf("cut at %d: %v\n%s", n, err, got)
		}
	}
	for text, want := range map[string]error{string(whole): exchange.ErrComplete, string(whole[:first]): exchange.ErrNoExport, "": exchange.ErrNoExport} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := exchange.Resume(file); !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", text, err, want)
		}
		_ = file.Close()
	}
}

type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errors.New("full")
	}
	return len(p), nil
}

func TestWriterKeepsItsError(t *testing.T) {
	w, err := exchange.NewWriter(&full{left: 2}, header)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Profile("a", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if w.Profile("b", []byte("{}")) == nil || w.Profile("c", []byte("{}")) == nil || w.Close() == nil || w.Profiles() != 1 {
		t.Error("went on")
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("{\"shoal\":\"export\",\"version\":1,\"set\":\"players\",\"at\":\"2026-08-11T12:00:00.000Z\"}\n{\"format\":1,\"set\":\"players\",\"key\":\"u\",\"profile\":{}}\n{\"shoal\":\"end\",\"profiles\":1,\"digest\":\"\"}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, _, end := read(text, &exchange.ReaderOptions{MaxLine: 1 << 12}); end == nil {
			t.Fatal("no end")
		}
	})
}
