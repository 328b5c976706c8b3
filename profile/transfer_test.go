package profile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/exchange"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// freeRecord is the stored form of a profile that nobody holds.
func freeRecord(coins, epoch, revision int) string {
	return fmt.Sprintf(`{"created":"2026-08-11T12:00:00.000Z","data":{"coins":%d},"epoch":%d,"format":1,"later":[1.50],"revision":%d,"schema":1,"session":null,"updated":"2026-08-11T12:00:01.000Z"}`,
		coins, epoch, revision)
}

func exported(t *testing.T, s *server) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := s.Export(t.Context(), &out, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// exportOf is an export of these records, by key, in this order.
func exportOf(t *testing.T, records ...[2]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := exchange.NewWriter(&out, exchange.Header{Set: "players", At: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Profile(r[0], []byte(r[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// numbered are n profiles.
func numbered(n int) (out [][2]string) {
	for i := range n {
		out = append(out, [2]string{fmt.Sprintf("u_%04d", i), freeRecord(i, i%5, i)})
	}
	return out
}

// all are the stored profiles, by key.
func (f *fleet) all() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	for rec, err := range f.raw.Durable().Scan(context.Background(), store.Prefix("profile/players/")) {
		if err != nil {
			f.t.Fatal(err)
		}
		out[strings.TrimPrefix(rec.Key, "profile/players/")] = string(rec.Value)
	}
	return out
}

func mustImport(t *testing.T, s *server, text []byte, o *profile.ImportOptions) profile.ImportReport {
	t.Helper()
	r, err := s.Import(t.Context(), bytes.NewReader(text), o)
	if err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	return r
}

// Export then import is the identity, whatever the profiles.
func TestExportThenImportIsIdentity(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(rt, "profiles")
		var records [][2]string
		for i := range n {
			tags := rapid.SampledFrom([]string{``, `"tags":{"vip":true},`, `"tags":{},`}).Draw(rt, "tags")
			text := doc.MustString(rapid.String().Draw(rt, "text"))
			data := rapid.SampledFrom([]string{`{}`, `{"n":9223372036854775807}`, `{"a":[[],{},null,1.0,-0.5e-7]}`, `{"t":` + text.String() + `}`}).Draw(rt, "data")
			v, err := doc.Parse([]byte(data), nil)
			if err != nil {
				rt.Skip(err)
			}
			records = append(records, [2]string{fmt.Sprintf("u_%d", i), fmt.Sprintf(
				`{"created":"2026-08-11T12:00:00.000Z","data":%s,"epoch":%d,"format":1,"later":{"b": 1.50},"revision":%d,"schema":1,"session":null,%s"updated":"2026-08-11T12:00:01.000Z"}`,
				v, rapid.IntRange(0, 1<<40).Draw(rt, "epoch"), rapid.IntRange(0, 1<<40).Draw(rt, "revision"), tags)})
		}
		bubble(t, func(t *testing.T, f *fleet) {
			for _, r := range records {
				f.plant(f.raw.Durable(), profileKey(r[0]), r[1])
			}
			before := f.all()
			text := exported(t, f.start("a", nil))
			bubbleAgain(t, func(g *fleet) {
				report := mustImport(t, g.start("b", nil), text, nil)
				if diff := cmp.Diff(before, g.all()); diff != "" || report.Written != n || report.Read != n {
					t.Errorf("%+v\n%s", report, diff)
				}
			})
		})
	})
}

// bubbleAgain is another fleet, in the same bubble.
func bubbleAgain(t *testing.T, test func(g *fleet)) {
	t.Helper()
	e := memstore.New(&memstore.Options{Apart: true})
	raw, err := e.Store()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close(context.Background()) })
	test(&fleet{t: t, engine: e, raw: raw})
}

func TestExportLeavesOutWhatIsNoProfile(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		held := a.load("held", nil)
		add(t, held, 3)
		save(t, held)
		f.plant(f.raw.Durable(), profileKey("a-foreign"), `{"hello":1}`)
		f.plant(f.raw.Durable(), profileKey("b-number"), strings.Replace(freeRecord(1, 1, 1), `"coins":1`, `"coins":1e999`, 1))
		f.plant(f.raw.Durable(), profileKey("c-later"), `{"format":9}`)
		f.plant(f.raw.Durable(), profileKey("d-erased"), `{"data":null,"epoch":4,"erased":"2026-08-11T12:00:00.000Z","format":1,"revision":1,"session":null}`)
		f.plant(f.raw.Durable(), profileKey("free"), freeRecord(7, 2, 3))
		var out bytes.Buffer
		var steps []profile.ExportReport
		report, err := a.Export(t.Context(), &out, &profile.ExportOptions{Progress: func(r profile.ExportReport) { steps = append(steps, r) }})
		if err != nil || report.Profiles != 2 || report.Skipped != 3 || report.Last != "held" || report.Bytes != int64(out.Len()) || len(steps) == 0 {
			t.Errorf("%+v, %v, %d steps", report, err, len(steps))
		}
		if text := out.String(); !strings.Contains(text, `"profile":`+freeRecord(7, 2, 3)) || !strings.Contains(text, string(f.durable(profileKey("held")).Value)) {
			t.Errorf("not verbatim:\n%s", text)
		}
		out.Reset()
		if report, err := a.Export(t.Context(), &out, &profile.ExportOptions{Prefix: "fr"}); err != nil || report.Profiles != 1 || report.Last != "free" {
			t.Errorf("by prefix: %+v, %v", report, err)
		}
		bubbleAgain(t, func(g *fleet) { // nobody holds what is imported
			b := g.start("b", nil)
			mustImport(t, b, exported(t, a), nil)
			if v, err := b.Read(t.Context(), "held"); err != nil || v.Holder != nil || coins(v.Data) != 3 {
				t.Errorf("%+v, %v", v, err)
			}
		})
		release(t, held)
	})
}

// An export that fails anywhere can be resumed, and is then the same.
func TestExportResumed(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		for _, r := range numbered(700) {
			f.plant(f.raw.Durable(), profileKey(r[0]), r[1])
		}
		name := filepath.Join(t.TempDir(), "export")
		for fail := 1; fail <= 3; fail++ {
			a.faults.SetRule(faultstore.Nth(fail, on("scan", "profile/"), faultstore.Fault{Kind: faultstore.FailAfter}))
			file, err := os.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			report, err := a.Export(t.Context(), file, nil)
			if err == nil {
				t.Fatalf("scan %d failed, but %+v", fail, report)
			}
			if _, err := file.WriteString(`{"format":1,"set":"pla`); err != nil { // half a line
				t.Fatal(err)
			}
			again, err := a.ResumeExport(t.Context(), file, nil)
			if err != nil || again.Profiles != 700 || again.Last != "u_0699" {
				t.Fatalf("%+v, %v", again, err)
			}
			if _, err := a.ResumeExport(t.Context(), file, nil); !errors.Is(err, exchange.ErrComplete) {
				t.Errorf("resumed again: %v", err)
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_ = file.Close()
			bubbleAgain(t, func(g *fleet) {
				if report := mustImport(t, g.start("b", nil), text, nil); report.Written != 700 || !cmp.Equal(f.all(), g.all()) {
					t.Errorf("%+v", report)
				}
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.Export(ctx, &bytes.Buffer{}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func TestImportPolicies(t *testing.T) {
	held := strings.Replace(freeRecord(1, 9, 9), `"session":null`, `"session":{"beating":true,"node":"gone","since":"2026-08-11T12:00:00.000Z","token":"t"}`, 1)
	there := map[string]string{
		"older": freeRecord(1, 2, 3), "less": freeRecord(1, 3, 3), "newer": freeRecord(1, 8, 9), "same": freeRecord(5, 3, 4), "held": held,
		"again":  strings.Replace(freeRecord(5, 3, 4), `"epoch":3`, `"epoch":6`, 1),
		"erased": `{"data":null,"epoch":4,"erased":"2026-08-11T12:00:00.000Z","format":1,"revision":1,"session":null}`,
	}
	var records [][2]string
	for _, key := range []string{"again", "erased", "held", "less", "new", "newer", "older", "same"} {
		records = append(records, [2]string{key, freeRecord(5, 3, 4)})
	}
	for _, c := range []struct {
		policy   profile.Overwrite
		replaced map[string]int // key to epoch
		want     profile.ImportReport
	}{
		{profile.Skip, nil, profile.ImportReport{Written: 1, Same: 2, Skipped: 3}},
		{profile.ReplaceOlder, map[string]int{"older": 4, "less": 4}, profile.ImportReport{Written: 1, Same: 2, Replaced: 2, Skipped: 1}},
		{profile.Replace, map[string]int{"older": 4, "less": 4, "newer": 9}, profile.ImportReport{Written: 1, Same: 2, Replaced: 3}},
	} {
		t.Run(c.policy.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				for key, value := range there {
					f.plant(f.raw.Durable(), profileKey(key), value)
				}
				a, text := f.start("a", nil), exportOf(t, records...)
				want := map[string]string{"new": freeRecord(5, 3, 4)}
				for key, value := range there {
					want[key] = value
				}
				for key, epoch := range c.replaced {
					want[key] = freeRecord(5, epoch, 4)
					if key == "newer" { // whose revision was higher: neither goes back
						want[key] = freeRecord(5, epoch, 10)
					}
				}
				c.want.Read, c.want.Held, c.want.Erased, c.want.Line = 8, 1, 1, 9
				dry := mustImport(t, a, text, &profile.ImportOptions{Overwrite: c.policy, DryRun: true})
				if !cmp.Equal(f.all(), there) {
					t.Error("a dry run wrote")
				}
				got := mustImport(t, a, text, &profile.ImportOptions{Overwrite: c.policy})
				if len(got.Errors) != 1 || got.Errors[0].Key != "held" || !errors.Is(got.Errors[0], profile.ErrInUse) || len(dry.Errors) != 1 {
					t.Errorf("errors %v, dry %v", got.Errors, dry.Errors)
				}
				got.Errors, dry.Errors = nil, nil
				if diff := cmp.Diff(c.want, got); diff != "" || !cmp.Equal(dry, got) {
					t.Errorf("%s\ndry %+v", diff, dry)
				}
				if diff := cmp.Diff(want, f.all()); diff != "" {
					t.Error(diff)
				}
				again := mustImport(t, a, text, &profile.ImportOptions{Overwrite: c.policy})
				if again.Written+again.Replaced != 0 || !cmp.Equal(want, f.all()) {
					t.Errorf("once more: %+v", again)
				}
			})
		})
	}
}

func TestImportOfBrokenLines(t *testing.T) {
	lines := strings.SplitAfter(string(exportOf(t, numbered(3)...)), "\n")
	bad := []string{
		"hello\n",
		strings.Replace(lines[1], "u_0000", "a/b", 1),
		strings.Replace(lines[1], `"revision":0`, `"revision":-1`, 1),
		strings.Replace(lines[1], `"schema":1`, `"schema":2`, 1),
		strings.Replace(lines[1], `{"coins":0}`, `[1]`, 1),
		strings.Replace(lines[1], `{"coins":0}`, `{"text":"`+strings.Repeat("x", 100)+`"}`, 1),
		strings.Replace(lines[1], `"set":"players"`, `"set":"others"`, 1),
		strings.Replace(lines[1], `u_0000`, `there`, 1),
	}
	wants := []error{nil, nil, profile.ErrForeign, profile.ErrNewerSchema, profile.ErrForeign, profile.ErrTooLarge, profile.ErrOtherSet, profile.ErrForeign}
	for i, line := range bad {
		text := []byte(lines[0] + lines[1] + line + lines[2] + lines[3])
		bubble(t, func(t *testing.T, f *fleet) {
			f.plant(f.raw.Durable(), profileKey("there"), `{"hello":1}`)
			a := f.start("a", &profile.Options{HardBytes: 64})
			stop, err := a.Import(t.Context(), bytes.NewReader(text), nil)
			var at profile.ImportError
			if !errors.As(err, &at) || at.Line != 3 || !errors.Is(err, wants[i]) && wants[i] != nil || stop.Line != 2 || stop.Failed != 1 {
				t.Errorf("%s: %v, %+v", line, err, stop)
			}
			if _, ok := f.all()["u_0000"]; !ok || string(f.durable(profileKey("there")).Value) != `{"hello":1}` {
				t.Errorf("%s: stored %v", line, f.all())
			}
			on, err := a.Import(t.Context(), bytes.NewReader(text), &profile.ImportOptions{KeepGoing: true})
			if !errors.Is(err, exchange.ErrTruncated) || on.Read != 4 || on.Written+on.Same != 3 || on.Failed != 1 || on.Line != 5 || len(on.Errors) != 1 || on.Errors[0].Line != 3 {
				t.Errorf("%s: %v, %+v", line, err, on)
			}
			if len(f.all()) != 4 {
				t.Errorf("%s: then %v", line, f.all())
			}
		})
	}
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		many := lines[0] + strings.Repeat("hello\n", 1000)
		report, err := a.Import(t.Context(), strings.NewReader(many), &profile.ImportOptions{KeepGoing: true, MaxErrors: 3})
		if !errors.Is(err, exchange.ErrTruncated) || report.Failed != 1000 || len(report.Errors) != 3 {
			t.Errorf("%v, %+v", err, report)
		}
		other := strings.Replace(lines[0], `"players"`, `"others"`, 1) + lines[1]
		if _, err := a.Import(t.Context(), strings.NewReader(other), nil); !errors.Is(err, profile.ErrOtherSet) {
			t.Errorf("another set: %v", err)
		}
		if report, err := a.Import(t.Context(), strings.NewReader(other), &profile.ImportOptions{AnySet: true}); !errors.Is(err, exchange.ErrTruncated) || report.Written != 1 {
			t.Errorf("any set: %v, %+v", err, report)
		}
		if _, err := a.Import(t.Context(), strings.NewReader("hello"), nil); !errors.Is(err, exchange.ErrNoExport) {
			t.Errorf("no export: %v", err)
		}
	})
}

// Each answer of the store is lost in turn, in each way: the store is the same in the end, and
// so is the report.
func TestImportEveryAnswerLostInTurn(t *testing.T) {
	text := exportOf(t, append(numbered(6), [2]string{"u_0002", freeRecord(99, 9, 9)})...)
	for _, policy := range []profile.Overwrite{profile.Skip, profile.Replace} {
		for _, fault := range []faultstore.Fault{
			{Kind: faultstore.FailBefore},
			{Kind: faultstore.FailAfter},
			{Kind: faultstore.Hang},
			{Kind: faultstore.HangApplied},
			{Kind: faultstore.Late},
			{Kind: faultstore.Late, After: 20 * time.Millisecond},
		} {
			struck := 0
			for n := 1; n <= 10; n++ {
				bubble(t, func(t *testing.T, f *fleet) {
					f.plant(f.raw.Durable(), profileKey("u_0001"), freeRecord(50, 7, 7))
					a := f.start("a", nil)
					a.faults.SetRule(faultstore.Nth(n, func(c faultstore.Call) bool {
						return len(c.Keys) > 0 && strings.HasPrefix(c.Keys[0], "profile/")
					}, fault))
					r := mustImport(t, a, text, &profile.ImportOptions{Overwrite: policy})
					time.Sleep(time.Minute)
					a.faults.Land()
					want := map[string]string{"u_0001": freeRecord(50, 7, 7)}
					for _, rec := range numbered(6) {
						if rec[0] != "u_0001" {
							want[rec[0]] = rec[1]
						}
					}
					wantReport := []int{5, 0, 2}
					if policy == profile.Replace {
						want["u_0001"], want["u_0002"] = freeRecord(1, 8, 8), freeRecord(99, 10, 9)
						wantReport = []int{5, 2, 0}
					}
					if diff := cmp.Diff(want, f.all()); diff != "" {
						t.Errorf("%v, %v at %d: %s", policy, fault, n, diff)
					}
					if got := []int{r.Written, r.Replaced, r.Skipped}; !slices.Equal(got, wantReport) || r.Read != 7 || r.Line != 8 {
						t.Errorf("%v, %v at %d: %+v", policy, fault, n, r)
					}
					if strings.Contains(a.faults.String(), fault.Kind.String()) {
						struck++
					}
				})
			}
			if struck < 5 {
				t.Errorf("%v, %v: struck %d times only", policy, fault, struck)
			}
		}
	}
}

// The first write lands while the same write is on its way again: it is written, once.
func TestImportOvertakenByItself(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		commit := on("commit", "profile/")
		a.faults.SetRule(faultstore.First(
			faultstore.Nth(1, commit, faultstore.Fault{Kind: faultstore.Late, After: 5 * time.Second}),
			faultstore.Nth(1, commit, faultstore.Fault{Delay: 8 * time.Second}),
		))
		r := mustImport(t, a, exportOf(t, numbered(1)...), nil)
		if r.Written != 1 || r.Same != 0 || f.all()["u_0000"] != freeRecord(0, 0, 0) {
			t.Errorf("%+v", r)
		}
	})
}

// An import that is broken off, whatever was written by then, and goes on, or begins again,
// leaves the same store.
func TestImportInterrupted(t *testing.T) {
	text := exportOf(t, numbered(900)...)
	for _, policy := range []profile.Overwrite{profile.Skip, profile.ReplaceOlder, profile.Replace} {
		for _, fromLine := range []bool{true, false} {
			for _, n := range []int{1, 100, 256, 257, 700, 840} {
				bubble(t, func(t *testing.T, f *fleet) {
					for i := 0; i < 900; i += 7 {
						f.plant(f.raw.Durable(), profileKey(fmt.Sprintf("u_%04d", i)), freeRecord(-1, 2, 2))
					}
					bubbleAgain(t, func(g *fleet) { // what it would be without the interruption
						for i := 0; i < 900; i += 7 {
							g.plant(g.raw.Durable(), profileKey(fmt.Sprintf("u_%04d", i)), freeRecord(-1, 2, 2))
						}
						mustImport(t, g.start("b", nil), text, &profile.ImportOptions{Overwrite: policy})
						a := f.start("a", nil)
						a.faults.SetRule(faultstore.Nth(n, on("commit", "profile/"), faultstore.Fault{Kind: faultstore.CrashAfter}))
						first, err := a.Import(t.Context(), bytes.NewReader(text), &profile.ImportOptions{Overwrite: policy})
						if err == nil || first.Line > 901 {
							t.Fatalf("%v, %+v", err, first)
						}
						o := &profile.ImportOptions{Overwrite: policy}
						if fromLine {
							o.After = first.Line
						}
						second := mustImport(t, f.start("c", nil), text, o)
						if want := 900 - max(0, o.After-1); second.Read != want || second.Line != 901 {
							t.Errorf("behind line %d: %+v", o.After, second)
						}
						if diff := cmp.Diff(g.all(), f.all()); diff != "" {
							t.Errorf("%v, after %d writes: %s", policy, n, diff)
						}
					})
				})
			}
		}
	}
}

// A player who joins between the look and the write keeps the profile.
func TestImportDoesNotTakeFromAPlayer(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.plant(f.raw.Durable(), profileKey("u"), freeRecord(1, 1, 1))
		a, b := f.start("a", nil), f.start("b", nil)
		var sess *profile.Session
		loaded := make(chan struct{})
		a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Delay: time.Second}))
		go func() {
			defer close(loaded)
			time.Sleep(500 * time.Millisecond)
			sess = b.load("u", nil)
		}()
		r := mustImport(t, a, exportOf(t, [2]string{"u", freeRecord(5, 9, 9)}), &profile.ImportOptions{Overwrite: profile.Replace})
		<-loaded
		if r.Held != 1 || r.Replaced != 0 {
			t.Errorf("%+v", r)
		}
		add(t, sess, 1)
		release(t, sess)
		if v, err := b.Read(t.Context(), "u"); err != nil || coins(v.Data) != 2 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// An imported profile can be played, and what it came with survives.
func TestImportedProfileOfRoblox(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		const roblox = `{"Data":{"coins":9},"MetaData":{"ProfileCreateTime":1700000000,"SessionLoadCount":4,"LastUpdate":1700000001,"MetaTags":{},"KeepBlox":{"lease": 3}},"GlobalUpdates":[1,[[1,"hi"]]],"RobloxMetaData":[],"UserIds":[261],"WasOverwritten":false}`
		head, _, _ := strings.Cut(string(exportOf(t)), "\n")
		a := f.start("a", nil)
		r, err := a.Import(t.Context(), strings.NewReader(head+"\n"+`{"format":1,"key":"u","roblox":`+roblox+"}\n"), nil)
		if !errors.Is(err, exchange.ErrTruncated) || r.Written != 1 || r.Pending != 1 {
			t.Fatalf("%v, %+v", err, r)
		}
		sess := a.load("u", nil)
		add(t, sess, 1)
		save(t, sess)
		release(t, sess)
		out, err := exchange.ToRoblox(f.durable(profileKey("u")).Value)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{`"Data":{"coins":10}`, `"KeepBlox":{"lease": 3}`, `"UserIds":[261]`, `"GlobalUpdates":[1,[[1,"hi"]]]`, `"SessionLoadCount":5`} {
			if !strings.Contains(string(out), part) {
				t.Errorf("%s is not in %s", part, out)
			}
		}
	})
}

// The stream is read no further ahead than a few batches.
func TestImportReadsAheadALittle(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		text := exportOf(t, numbered(20_000)...)
		in := bytes.NewReader(text)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: time.Second}))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := a.Import(ctx, in, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if read := len(text) - in.Len(); read > len(text)/8 {
			t.Errorf("%d of %d bytes were read", read, len(text))
		}
	})
}

func TestTransferAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		if _, err := a.node.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Import(t.Context(), bytes.NewReader(exportOf(t, numbered(1)...)), nil); !errors.Is(err, profile.ErrClosing) {
			t.Errorf("%v", err)
		}
	})
}
