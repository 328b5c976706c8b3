package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store/memstore"
)

// field picks a member of an answer, for what differs between runs.
func (a answer) field(t testing.TB, path string) doc.Value {
	t.Helper()
	v, err := doc.Parse([]byte(a.body), nil)
	if err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	got, _ := v.Get(doc.MustPath(path))
	return got
}

// is checks members of an answer that was given with 200: path, value, path, value, ...
func (a answer) is(t *testing.T, pairs ...string) {
	t.Helper()
	if a.status != 200 {
		t.Errorf("status %d: %s", a.status, a.body)
		return
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if got := a.field(t, pairs[i]).String(); got != pairs[i+1] {
			t.Errorf("%s is %s, want %s (%s)", pairs[i], got, pairs[i+1], a.body)
		}
	}
}

const ann = `{"set":"players","key":"ann"}`

func TestProfileCalls(t *testing.T) {
	template, err := doc.Parse([]byte(`{"coins":0,"bag":[]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, setup{set: profile.Options{Template: template}})
	d.call("ProfileService/Get", ann).refused(t, 404, "not_found", "no_profile", "Load creates it")
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"unset","path":"/a"}]}`).
		refused(t, 400, "failed_precondition", "not_open", "players/ann is not open", "Load it first")

	loaded := d.call("ProfileService/Load", ann)
	loaded.is(t, "/how", `"created"`, "/profile/set", `"players"`, "/profile/key", `"ann"`, "/profile/epoch", "1")
	if strings.Contains(loaded.body, "evidence") || strings.Contains(loaded.body, `"from"`) {
		t.Errorf("got %s", loaded.body)
	}
	d.call("ProfileService/Load", ann).refused(t, 409, "already_exists", "already_open", "go on with Get")

	changed := d.call("ProfileService/Transact", `{"set":"players","key":"ann","note":"sold a fish","actor":"market","returnData":true,
		"ops":[{"op":"increment","path":"/coins","by":5},{"op":"append","path":"/bag","items":["rod"]}]}`)
	changed.is(t, "/data/coins", "5", "/data/bag", `["rod"]`, "/repeated", "false")
	quietly := d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/hat","value":"red"}]}`)
	if quietly.status != 200 || strings.Contains(quietly.body, `"data"`) {
		t.Errorf("%d %s", quietly.status, quietly.body)
	}
	if first, second := mustInt(t, changed.field(t, "/revision")), mustInt(t, quietly.field(t, "/revision")); second != first+1 {
		t.Errorf("revisions %d and %d", first, second)
	}
	revision := quietly.field(t, "/revision").String()
	d.call("ProfileService/Get", ann).is(t, "/openHere", "true", "/holder", `"`+d.node.ID()+`"`,
		"/profile/data", `{"bag":["rod"],"coins":5,"hat":"red"}`, "/profile/revision", revision)
	d.call("ProfileService/Save", ann).want(t, `{"revision":`+revision+`}`)
	d.call("ProfileService/Sync", ann).want(t, `{"revision":`+revision+`}`)
	d.call("ProfileService/Release", ann).want(t, `{"revision":`+revision+`}`)

	d.call("ProfileService/Get", ann).is(t, "/openHere", "false", "/holder", "null", "/profile/epoch", "1",
		"/profile/data", `{"bag":["rod"],"coins":5,"hat":"red"}`, "/profile/revision", revision)
	for _, method := range []string{"Save", "Sync", "Release"} {
		d.call("ProfileService/"+method, ann).refused(t, 400, "failed_precondition", "not_open")
	}
	d.call("ProfileService/Load", ann).is(t, "/how", `"free"`, "/profile/epoch", "2", "/profile/data/coins", "5")
}

func mustInt(t *testing.T, v doc.Value) int64 {
	t.Helper()
	n, ok := v.AsInt()
	if !ok {
		t.Fatalf("%v is no integer", v)
	}
	return n
}

// case P15: documents are exact, whatever passes between the caller and the store.
func TestDocumentsAreExactOnTheWire(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("ProfileService/Load", ann).is(t)
	const value = `{"":[],"big":9223372036854775807,"float":1.0,"low":-9223372036854775808,"odd":9007199254740993,"text":"\u0000é\"\\","tiny":1e-7,"1":{"2":[null,true]}}`
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/v","value":`+value+`}]}`).is(t)
	want, err := doc.Parse([]byte(value), nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		got := d.call("ProfileService/Get", ann)
		if !strings.Contains(got.body, `"v":`+want.String()) {
			t.Errorf("got %s, want %s in it", got.body, want)
		}
		for name, wire := range d.wires() {
			res, err := shoalv1connect.NewProfileServiceClient(wire).Get(t.Context(), &shoalv1.ProfileGetRequest{Set: "players", Key: "ann"})
			if err != nil || !strings.Contains(res.GetProfile().GetData(), `"v":`+want.String()) {
				t.Errorf("%s: %v, %v", name, res, err)
			}
		}
	}
	check()
	d.call("ProfileService/Release", ann).is(t)
	check()
	d.call("ProfileService/Load", ann).is(t)
	check()
}

func TestTransactCanBeRepeated(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("ProfileService/Load", ann).is(t)
	const buy = `{"set":"players","key":"ann","id":"buy-1","returnData":true,"ops":[{"op":"increment","path":"/coins","by":5}]}`
	first := d.call("ProfileService/Transact", buy)
	first.is(t, "/commit", `"buy-1"`, "/repeated", "false", "/data/coins", "5")
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"increment","path":"/coins","by":1}]}`).is(t)
	d.call("ProfileService/Transact", buy).is(t, "/commit", `"buy-1"`, "/repeated", "true",
		"/revision", first.field(t, "/revision").String(), "/data/coins", "6")
	d.call("ProfileService/Transact", strings.Replace(buy, `"by":5`, `"by":6`, 1)).refused(t, 409, "already_exists", "id_reused")

	// The next holder knows it too.
	d.call("ProfileService/Release", ann).is(t)
	d.call("ProfileService/Load", ann).is(t)
	d.call("ProfileService/Transact", buy).is(t, "/repeated", "true", "/data/coins", "6")
}

func TestBadProfileCallsChangeNothing(t *testing.T) {
	d := startDaemon(t, setup{set: profile.Options{HardBytes: 10_000}})
	d.call("ProfileService/Load", ann).is(t)
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/coins","value":9223372036854775807},{"op":"set","path":"/bag","value":[1]}]}`).is(t)
	before := d.call("ProfileService/Get", ann).body
	ops := func(list string) string { return `{"set":"players","key":"ann","ops":` + list + `}` }
	for _, c := range []struct {
		method, body string
		status       int
		code, reason string
		words        []string
	}{
		{"Load", `{"set":"player","key":"ann"}`, 404, "not_found", "unknown_set", []string{`"field":"set"`, `there is no set \"player\"; there are guilds, players`}},
		{"Load", `{"set":"players"}`, 400, "invalid_argument", "bad_field", []string{`"field":"key"`, "is empty"}},
		{"Load", `{"set":"players","key":"a/b"}`, 400, "invalid_argument", "bad_field", []string{`"field":"key"`, "at byte 1"}},
		{"Load", `{"set":"players","key":"` + strings.Repeat("k", 129) + `"}`, 400, "invalid_argument", "bad_field", []string{"at most 128"}},
		{"Load", `{"set":"players","key":"bob","policy":"grab"}`, 400, "invalid_argument", "bad_field", []string{`"field":"policy"`, "steal, wait or fail"}},
		{"Load", `{"set":"players","key":"bob","wait":"0s"}`, 400, "invalid_argument", "bad_field", []string{`"field":"wait"`, "at most 2m30s"}},
		{"Load", `{"set":"players","key":"bob","wait":"151s"}`, 400, "invalid_argument", "bad_field", []string{`"field":"wait"`}},
		{"Load", `{"set":"players","key":"bob","stealAfter":"-1s"}`, 400, "invalid_argument", "bad_field", []string{`"field":"stealAfter"`}},
		{"Load", `{"set":"players","key":"bob","force":true}`, 400, "invalid_argument", "malformed", []string{`"field":"force"`}},
		{"Get", `{"set":"","key":"ann"}`, 404, "not_found", "unknown_set", nil},
		{"Get", `{"set":"players","key":"bob"}`, 404, "not_found", "no_profile", nil},
		{"Save", `{"set":"players","key":"bob"}`, 400, "failed_precondition", "not_open", nil},
		{"Transact", `{"set":"players","key":"ann"}`, 400, "invalid_argument", "bad_field", []string{`"field":"ops"`, "is missing"}},
		{"Transact", ops(`[]`), 400, "invalid_argument", "bad_field", []string{`"field":"ops"`, "is empty"}},
		{"Transact", ops(`null`), 400, "invalid_argument", "bad_field", []string{`"field":"ops"`, "a list of operations"}},
		{"Transact", ops(`{"op":"unset","path":"/a"}`), 400, "invalid_argument", "bad_field", []string{`"field":"ops"`}},
		{"Transact", ops(`[{"op":"unset","path":"/coins"},{"op":"add","path":"/a"}]`), 400, "invalid_argument", "bad_operation", []string{`"field":"ops[1]"`, `there is no operation \"add\"`}},
		{"Transact", ops(`[{"op":"unset","path":"/coins"},{"op":"set","path":"/a"}]`), 400, "invalid_argument", "bad_operation", []string{`lacks \"value\"`}},
		{"Transact", ops(`[{"op":"unset","path":"/coins"},{"op":"set","path":"/a","value":1,"by":2}]`), 400, "invalid_argument", "bad_operation", []string{`has no field \"by\"`}},
		{"Transact", ops(`[{"op":"unset","path":"/coins"},{"op":"set","path":"a","value":1}]`), 400, "invalid_argument", "bad_operation", []string{`"field":"ops[1]"`}},
		{"Transact", ops(`[5]`), 400, "invalid_argument", "bad_operation", []string{`"field":"ops[0]"`}},
		{"Transact", ops(`[{"op":"set","path":"/a","value":1e999}]`), 400, "invalid_argument", "bad_operation", []string{`"field":"ops[0]"`}},
		{"Transact", ops(`[{"op":"set","path":"/a","value":9223372036854775808}]`), 400, "invalid_argument", "bad_operation", nil},
		{"Transact", ops(`[{"op":"set","path":"/a","value":{"x":1,"x":2}}]`), 400, "invalid_argument", "malformed", []string{`"field":"ops[0].value.x"`, "is given twice"}},
		{"Transact", ops(`[{"op":"set","path":"/a","value":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}]`), 400, "invalid_argument", "bad_operation", nil},
		{"Transact", ops(`[{"op":"unset","path":"/bag"},{"op":"increment","path":"/coins","by":1}]`), 400, "failed_precondition", "refused_operation", []string{`"field":"ops[1]"`, `"path":"/coins"`}},
		{"Transact", ops(`[{"op":"unset","path":"/bag"},{"op":"increment","path":"/coins","by":-1,"max":5}]`), 400, "failed_precondition", "refused_operation", []string{`"path":"/coins"`}},
		{"Transact", ops(`[{"op":"unset","path":"/coins"},{"op":"append","path":"/bag/0","items":[1]}]`), 400, "failed_precondition", "refused_operation", []string{`"path":"/bag/0"`}},
		{"Transact", ops(`[{"op":"unset","path":"/coins"},{"op":"remove","path":"/bag","index":7}]`), 400, "failed_precondition", "refused_operation", nil},
		{"Transact", ops(`[{"op":"unset","path":"/bag"},{"op":"compareAndSet","path":"/coins","old":1,"value":2}]`), 409, "aborted", "mismatch", []string{`"path":"/coins"`}},
		{"Transact", ops(`[{"op":"set","path":"/big","value":"` + strings.Repeat("x", 11_000) + `"}]`), 400, "failed_precondition", "data_too_large", []string{`"path":"/big"`}},
		{"Transact", ops(`[` + strings.Repeat(`{"op":"unset","path":"/a"},`, 10_000) + `{"op":"unset","path":"/a"}]`), 400, "invalid_argument", "bad_field", []string{"at most 10000 operations"}},
		{"Transact", `{"set":"players","key":"ann","note":"` + strings.Repeat("n", 1025) + `","ops":[{"op":"unset","path":"/coins"}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"note"`, "at most 1024 bytes"}},
		{"Transact", `{"set":"players","key":"ann","actor":"` + strings.Repeat("n", 129) + `","ops":[{"op":"unset","path":"/coins"}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"actor"`}},
		{"Transact", `{"set":"players","key":"ann","id":"` + strings.Repeat("n", 129) + `","ops":[{"op":"unset","path":"/coins"}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"id"`}},
		{"Transact", "{\"set\":\"players\",\"key\":\"ann\",\"ops\":[{\"op\":\"set\",\"path\":\"/a\",\"value\":\"\xff\"}]}", 400, "invalid_argument", "malformed", []string{"UTF-8"}},
	} {
		t.Run(c.method+" "+c.body[:min(len(c.body), 90)], func(t *testing.T) {
			d.call("ProfileService/"+c.method, c.body).refused(t, c.status, c.code, c.reason, append(c.words, `"outcome":"not_done"`)...)
		})
	}
	if after := d.call("ProfileService/Get", ann).body; after != before {
		t.Errorf("the profile changed:\n%s\n%s", before, after)
	}
}

// Binary messages bring the list of operations as they like: nothing has read it before.
func TestBadOperationsInBinaryMessages(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("ProfileService/Load", ann).is(t)
	client := shoalv1connect.NewProfileServiceClient(d.wires()["gRPC"])
	for ops, reason := range map[string]string{
		`[`:                               "bad_operation",
		`[{"op":"unset","path":"/a"}`:     "bad_operation",
		`[{"op":"unset","path":"/a"}] []`: "bad_field",
		`[{"op":"unset","path":"/a"},]`:   "bad_operation",
		`]`:                               "bad_field",
		``:                                "bad_field",
		`[{"op":"set","path":"/a","value":{"x":1,"x":2}}]`: "bad_operation",
	} {
		_, err := client.Transact(t.Context(), &shoalv1.ProfileTransactRequest{Set: "players", Key: "ann", Ops: ops})
		if _, detail := detailOf(t, err); detail.GetReason() != reason {
			t.Errorf("%s: %v", ops, detail)
		}
	}
	got, err := client.Transact(t.Context(), &shoalv1.ProfileTransactRequest{Set: "players", Key: "ann", Ops: ` [ {"op":"set","path":"/a","value":9007199254740993} ] `, ReturnData: true})
	if err != nil || got.GetData() != `{"a":9007199254740993}` {
		t.Errorf("%v, %v", got, err)
	}
}

func TestSessionsMoveBetweenDaemons(t *testing.T) {
	engine := memstore.New(nil)
	a, b := startDaemon(t, setup{engine: engine}), startDaemon(t, setup{engine: engine})
	a.call("ProfileService/Load", ann).is(t, "/how", `"created"`)
	a.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/coins","value":7}]}`).is(t)
	b.call("ProfileService/Get", ann).is(t, "/openHere", "false", "/holder", `"`+a.node.ID()+`"`)
	b.call("ProfileService/Load", `{"set":"players","key":"ann","quiet":true}`).refused(t, 409, "aborted", "held")
	b.call("ProfileService/Load", ann).is(t, "/how", `"granted"`, "/from", `"`+a.node.ID()+`"`, "/profile/epoch", "2", "/profile/data/coins", "7")
	a.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/coins","value":8}]}`).
		refused(t, 400, "failed_precondition", "not_open", "Get says who has it open")
	a.call("ProfileService/Get", ann).is(t, "/openHere", "false", "/holder", `"`+b.node.ID()+`"`, "/profile/data/coins", "7")
}

// stubborn is a holder elsewhere that does not let go until the test ends; asked is closed
// when it has been asked to.
func stubborn(t *testing.T, engine *memstore.Engine) (asked <-chan struct{}) {
	t.Helper()
	h := startDaemon(t, setup{engine: engine, set: profile.Options{HookTimeout: time.Minute}})
	letGo, heard := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(letGo) })
	h.set.OnLeave(func(context.Context, *profile.Session) {
		close(heard)
		<-letGo
	})
	h.call("ProfileService/Load", ann).is(t)
	return heard
}

// A caller that goes away while its profile is released does not stop the release.
func TestReleaseGoesOnWithoutItsCaller(t *testing.T) {
	d := startDaemon(t, setup{})
	leaving, goOn := make(chan struct{}), make(chan struct{})
	d.set.OnLeave(func(context.Context, *profile.Session) {
		close(leaving)
		<-goOn
	})
	d.call("ProfileService/Load", ann).is(t)
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/coins","value":7}]}`).is(t)
	session, _ := d.set.Session("ann")
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := shoalv1connect.NewProfileServiceClient(d.wires()["Connect"]).Release(ctx, &shoalv1.ProfileReleaseRequest{Set: "players", Key: "ann"})
		gone <- err
	}()
	<-leaving
	hangUp()
	if err := <-gone; connect.CodeOf(err) != connect.CodeCanceled {
		t.Errorf("got %v", err)
	}
	close(goOn)
	<-session.Done()
	d.call("ProfileService/Get", ann).is(t, "/openHere", "false", "/holder", "null", "/profile/data/coins", "7")
}

// A load that waits ends when the server closes: the session would be released at once.
func TestWaitingLoadsEndWhenTheServerCloses(t *testing.T) {
	engine := memstore.New(nil)
	asked := stubborn(t, engine)
	d := startDaemon(t, setup{engine: engine, config: func(c *server.Config) { c.Limits.Loads = 1 }})
	got := make(chan answer, 1)
	go func() { got <- d.call("ProfileService/Load", `{"set":"players","key":"ann","policy":"wait"}`) }()
	<-asked
	d.call("ProfileService/Load", `{"set":"players","key":"bob"}`).refused(t, 503, "unavailable", "overloaded", "1 calls of this kind")
	// Other calls have places of their own.
	d.call("ProfileService/Get", ann).is(t, "/openHere", "false")
	if err := d.server.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	(<-got).refused(t, 503, "unavailable", "closing", "call another daemon")
}

func TestALoadThatTimesOut(t *testing.T) {
	engine := memstore.New(nil)
	stubborn(t, engine)
	d := startDaemon(t, setup{engine: engine})
	d.call("ProfileService/Load", `{"set":"players","key":"ann","policy":"wait","wait":"0.05s"}`).refused(t, 504, "deadline_exceeded", "load_timeout", "nothing was taken")
	d.call("ProfileService/Get", ann).is(t, "/openHere", "false")
}

func TestLoadsWhileTheNodeCloses(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("ProfileService/Load", ann).is(t)
	if _, err := d.node.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.call("ProfileService/Load", `{"set":"players","key":"bob"}`).refused(t, 503, "unavailable", "closing")
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"unset","path":"/a"}]}`).refused(t, 400, "failed_precondition", "not_open")
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"a","score":1}]}`).refused(t, 503, "unavailable", "closing")
}

func TestDataThatIsNoProfile(t *testing.T) {
	d := startDaemon(t, setup{})
	put(t, d, "profile/players/ann", `{"coins":5}`)
	d.call("ProfileService/Load", ann).refused(t, 500, "data_loss", "foreign_data", "an operator has to look")
	d.call("ProfileService/Get", ann).refused(t, 500, "data_loss", "foreign_data")
}

func TestProfilesOverEveryProtocol(t *testing.T) {
	d := startDaemon(t, setup{})
	for name, wire := range d.wires() {
		key := strings.ReplaceAll(strings.ReplaceAll(name, " ", "_"), ",", "")
		key = strings.ReplaceAll(key, "/", "_")
		client := shoalv1connect.NewProfileServiceClient(wire)
		loaded, err := client.Load(t.Context(), &shoalv1.ProfileLoadRequest{Set: "players", Key: key})
		if err != nil || loaded.GetHow() != "created" || loaded.Evidence != nil {
			t.Fatalf("%s: %v, %v", name, loaded, err)
		}
		_, err = client.Load(t.Context(), &shoalv1.ProfileLoadRequest{Set: "players", Key: key})
		if _, detail := detailOf(t, err); detail.GetReason() != "already_open" {
			t.Errorf("%s: %v", name, detail)
		}
		done, err := client.Transact(t.Context(), &shoalv1.ProfileTransactRequest{Set: "players", Key: key, Ops: `[{"op":"set","path":"/n","value":1}]`, ReturnData: true})
		if err != nil || done.GetData() != `{"n":1}` {
			t.Errorf("%s: %v, %v", name, done, err)
		}
		released, err := client.Release(t.Context(), &shoalv1.ProfileReleaseRequest{Set: "players", Key: key})
		if err != nil || released.GetRevision() != done.GetRevision() {
			t.Errorf("%s: %v, %v", name, released, err)
		}
	}
}
