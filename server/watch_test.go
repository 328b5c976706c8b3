package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
	"github.com/shoalworks/shoal/server"
)

// follow keeps a copy of the document by the steps of a watch, as its reader does.
type follow struct {
	t        *testing.T
	stream   shoalv1connect.ProfileServiceWatchClientStream
	data     doc.Value
	revision uint64
	missed   uint64
	ended    string
}

func (d *daemon) watch(t *testing.T, wire *connect.Client, key string) *follow {
	t.Helper()
	stream, err := shoalv1connect.NewProfileServiceClient(wire).Watch(t.Context(), &shoalv1.ProfileWatchRequest{Set: "players", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return &follow{t: t, stream: stream}
}

// next takes in a step.
func (f *follow) next() *shoalv1.ProfileWatchResponse {
	f.t.Helper()
	step, err := f.stream.Receive()
	if err != nil {
		f.t.Fatal(err)
	}
	f.revision, f.missed, f.ended = step.GetRevision(), f.missed+step.GetMissed(), step.GetEnded()
	switch {
	case step.Data != nil:
		f.data, err = doc.Parse([]byte(step.GetData()), nil)
	case step.GetCommit() != nil:
		list, parseErr := doc.Parse([]byte(step.GetCommit().GetEdits()), nil)
		if parseErr != nil {
			f.t.Fatal(parseErr)
		}
		var edits []doc.Edit
		for _, item := range list.Items() {
			var e doc.Edit
			if err := e.UnmarshalJSON(item.Encode()); err != nil {
				f.t.Fatal(err)
			}
			edits = append(edits, e)
		}
		f.data, err = doc.ApplyEdits(f.data, edits)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return step
}

func TestAWatchFollowsASession(t *testing.T) {
	d := startDaemon(t, setup{set: rich()})
	for name, wire := range d.wires() {
		if name == "Connect with GET" || name == "Connect, packed" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d.open("ann")
			f := d.watch(t, wire, "ann")
			first := f.next()
			if first.Data == nil || first.GetCommit() != nil || f.data.String() != `{"coins":10}` && f.data.Len() < 1 {
				t.Fatalf("%v", first)
			}
			for i := range 5 {
				d.call("ProfileService/Transact", `{"set":"players","key":"ann","actor":"me","ops":[{"op":"increment","path":"/coins","by":1},{"op":"set","path":"/list","value":[1,2]}]}`).is(t)
				step := f.next()
				if c := step.GetCommit(); c == nil || step.Data != nil || c.GetActor() != "me" || c.GetRevision() != f.revision || f.revision != first.GetRevision()+uint64(i)+1 {
					t.Fatalf("%v", step)
				}
			}
			sess, _ := d.set.Session("ann")
			if !sess.Data().Equal(f.data) {
				t.Errorf("%v, want %v", f.data, sess.Data())
			}
			d.call("ProfileService/Release", ann).is(t)
			if f.next(); f.ended != "released" || f.revision != sess.Revision() {
				t.Errorf("ended %q at %d", f.ended, f.revision)
			}
			if _, err := f.stream.Receive(); !errors.Is(err, io.EOF) {
				t.Errorf("got %v", err)
			}
			if n := d.set.Stats().Watches; n != 0 {
				t.Errorf("%d watches are left", n)
			}
		})
	}
}

func TestWatchesThatAreRefused(t *testing.T) {
	d := startDaemon(t, setup{set: rich(), config: func(c *server.Config) { c.Limits.Watches = 1 }})
	d.open("ann")
	json := []string{"Content-Type", "application/json"}
	d.do("POST", "/shoal.v1.ProfileService/Watch", ann, json...).refused(t, 415, "unimplemented", "bad_content_type", "application/connect+json")
	d.read("ProfileService/Watch", ann).refused(t, 405, "unimplemented", "bad_method", "POST")
	client := shoalv1connect.NewProfileServiceClient(d.wires()["Connect"])
	refused := func(req *shoalv1.ProfileWatchRequest, code connect.Code, reason, field string) {
		t.Helper()
		stream, err := client.Watch(t.Context(), req)
		if err == nil {
			_, err = stream.Receive()
		}
		if got, detail := detailOf(t, err); got != code || detail.GetReason() != reason || detail.GetField() != field {
			t.Errorf("%v %v", got, detail)
		}
	}
	most, least := int32(1025), int32(0)
	refused(&shoalv1.ProfileWatchRequest{Set: "players", Key: "bob"}, connect.CodeFailedPrecondition, "not_open", "key")
	refused(&shoalv1.ProfileWatchRequest{Set: "x", Key: "ann"}, connect.CodeNotFound, "unknown_set", "set")
	refused(&shoalv1.ProfileWatchRequest{Set: "players", Key: "ann", Buffer: &most}, connect.CodeInvalidArgument, "bad_field", "buffer")
	refused(&shoalv1.ProfileWatchRequest{Set: "players", Key: "ann", Buffer: &least}, connect.CodeInvalidArgument, "bad_field", "buffer")
	f := d.watch(t, d.wires()["Connect"], "ann")
	f.next()
	refused(&shoalv1.ProfileWatchRequest{Set: "players", Key: "ann"}, connect.CodeUnavailable, "overloaded", "")
	// Other calls have places of their own.
	d.call("ProfileService/Get", ann).is(t)
}

// deadlines notes until when each write must be taken.
type deadlines struct {
	*httptest.ResponseRecorder
	set []bool // whether there was an end to it
}

func (w *deadlines) SetWriteDeadline(at time.Time) error {
	w.set = append(w.set, !at.IsZero())
	return nil
}

// A watch outlives what bounds other calls: only its steps have a deadline, each its own.
func TestAWatchHasNoDeadline(t *testing.T) {
	d := startDaemon(t, setup{set: rich(), config: func(c *server.Config) { c.Limits.CallTimeout, c.Limits.LoadTimeout = 1, 1 }})
	sess, err := d.set.Load(t.Context(), "ann", nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	body := "\x00\x00\x00\x00" + string(rune(len(ann))) + ann
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/shoal.v1.ProfileService/Watch", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/connect+json")
	served := make(chan struct{})
	go func() {
		defer close(served)
		d.server.ServeHTTP(w, req)
	}()
	for d.set.Stats().Watches == 0 {
		d.read("livez", "")
	}
	for range 3 {
		if _, err := sess.Transact(profile.Source{}, doc.Increment("/coins", 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := sess.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-served
	if len(w.set) < 5 || w.set[0] {
		t.Fatalf("%v: %s", w.set, w.Body)
	}
	for i, bounded := range w.set {
		if bounded != (i%2 == 1) {
			t.Errorf("%v", w.set)
		}
	}
	if !strings.Contains(w.Body.String(), `"ended":"released"`) {
		t.Errorf("%q", w.Body)
	}
}

// When the daemon closes, watches end and say so; the session goes on.
func TestWatchesEndWhenTheServerCloses(t *testing.T) {
	d := startDaemon(t, setup{set: rich()})
	d.open("ann")
	f := d.watch(t, d.wires()["Connect"], "ann")
	f.next()
	if err := d.server.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	_, err := f.stream.Receive()
	if _, detail := detailOf(t, err); detail.GetReason() != "closing" {
		t.Errorf("%v", detail)
	}
	if sess, ok := d.set.Session("ann"); !ok || sess.Reason() != 0 {
		t.Error("the session has ended too")
	}
}

// A reader that goes away leaves nothing behind.
func TestAWatchEndsWithItsReader(t *testing.T) {
	d := startDaemon(t, setup{set: rich(), config: func(c *server.Config) { c.Limits.Watches = 1 }})
	d.open("ann")
	ctx, hangUp := context.WithCancel(t.Context())
	client := shoalv1connect.NewProfileServiceClient(d.wires()["Connect"])
	stream, err := client.Watch(ctx, &shoalv1.ProfileWatchRequest{Set: "players", Key: "ann"})
	if err == nil {
		_, err = stream.Receive()
	}
	if err != nil {
		t.Fatal(err)
	}
	hangUp()
	for d.set.Stats().Watches != 0 { // the daemon hears of it
		d.call("NodeService/Status", "{}")
	}
	if got := d.scrape()[`shoal_profile_watches{set="players"}`]; got != 0 {
		t.Errorf("%v", got)
	}
}

// What a slow reader has missed is told, and the copy is right afterwards.
func TestASlowReaderGetsANewDocument(t *testing.T) {
	d := startDaemon(t, setup{set: rich()})
	d.open("ann")
	sess, _ := d.set.Session("ann")
	f := d.watch(t, d.wires()["gRPC"], "ann")
	f.next()
	blob := strings.Repeat("x", 100_000)
	for i := range 400 {
		if _, err := sess.Transact(profile.Source{}, doc.Set("/blob", doc.Must(blob)), doc.Set("/i", doc.Int(int64(i)))); err != nil {
			t.Fatal(err)
		}
		blob = blob[1:] + "y"
	}
	for f.revision < sess.Revision() {
		f.next()
	}
	if f.missed == 0 || !f.data.Equal(sess.Data()) {
		t.Errorf("missed %d", f.missed)
	}
}
