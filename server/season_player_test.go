package server_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
	"github.com/shoalworks/shoal/server"
)

const reefAnn = `"season":"reef","set":"players","key":"ann"`

// Several events are one transaction: all are counted, or none.
func TestEventsAreCountedTogether(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("ProfileService/Load", ann).is(t)
	record := func(events string) answer {
		return d.call("SeasonService/Record", `{`+reefAnn+`,"events":`+events+`}`)
	}
	record(`[{"event":"catch"},{"event":"catch"},{"event":"coins","amount":25},{"event":"lose"}]`).
		want(t, `{"id":"C1S1","stats":{"bestStreak":2,"coins":25,"fish":2,"streak":0}}`)
	d.call("ProfileService/Get", ann).is(t, "/profile/revision", "1")
	record(`[{"event":"catch"},{"event":"dance"}]`).refused(t, 400, "invalid_argument", "unknown_event", `"field":"events[1].event"`, "dance")
	record(`[{"event":"catch"},{}]`).refused(t, 400, "invalid_argument", "bad_field", `"field":"events[1].event"`)
	record(`[{"event":"catch"},{"event":"coins","amount":9223372036854775807}]`).refused(t, 400, "failed_precondition", "refused_operation")
	record(`[`+strings.Repeat(`{"event":"catch"},`, 100)+`{"event":"catch"}]`).refused(t, 400, "invalid_argument", "bad_field", `"field":"events"`, "1 to 100")
	d.call("SeasonService/Record", `{`+reefAnn+`,"event":"catch","events":[{"event":"catch"}]}`).refused(t, 400, "invalid_argument", "bad_field", `"field":"events"`, "not both")
	d.call("SeasonService/Record", `{`+reefAnn+`,"event":"dance"}`).refused(t, 400, "invalid_argument", "unknown_event", `"field":"event"`)
	d.call("SeasonService/View", `{`+reefAnn+`}`).is(t, "/stats/fish", "2")
}

func TestThePlayersCard(t *testing.T) {
	d := startDaemon(t, setup{wire: small})
	d.call("ProfileService/Load", ann).is(t)
	const card = `{` + reefAnn + `}`
	d.read("SeasonService/Card", card).is(t, "/season/id", `"C1S1"`, "/stats", "{}", "/titles", "[]",
		"/boards/0", `{"board":"Fish","stat":"fish","title":"SEA KING","total":0}`, "/boards/1/board", `"Coins"`, "/boards/2", "null")
	d.call("SeasonService/Record", `{`+reefAnn+`,"event":"catch"}`).is(t)
	d.read("SeasonService/Card", card).is(t, "/stats/fish", "1", "/boards/0/live", "1", "/boards/0/standing", "null", "/boards/1/live", "null")
	d.call("ProfileService/Release", ann).is(t)
	d.catches(t, "bob", "cy")
	d.read("SeasonService/Card", strings.Replace(card, "ann", "bob", 1)).is(t, "/boards/0/live", "2", "/boards/0/standing/rank", "1", "/boards/0/standing/score", "2", "/boards/0/total", "3")
	d.read("SeasonService/Card", strings.Replace(card, "ann", "zoe", 1)).refused(t, 404, "not_found", "no_profile")
	d.read("SeasonService/Card", strings.Replace(card, "reef", "x", 1)).refused(t, 404, "not_found", "unknown_season")
	d.read("SeasonService/Card", strings.Replace(card, "players", "guilds", 1)).refused(t, 400, "invalid_argument", "bad_field", `"field":"set"`)
}

func (d *daemon) watchSeason(t *testing.T, wire *connect.Client, key string) shoalv1connect.SeasonServiceWatchClientStream {
	t.Helper()
	stream, err := shoalv1connect.NewSeasonServiceClient(wire).Watch(t.Context(), &shoalv1.SeasonWatchRequest{Season: "reef", Set: "players", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return stream
}

func TestASeasonIsWatched(t *testing.T) {
	d := startDaemon(t, setup{wire: small})
	for name, wire := range d.wires() {
		if name == "Connect with GET" || name == "Connect, packed" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d.call("ProfileService/Load", ann).is(t)
			stream := d.watchSeason(t, wire, "ann")
			next := func() *shoalv1.SeasonWatchResponse {
				t.Helper()
				step, err := stream.Receive()
				if err != nil {
					t.Fatal(err)
				}
				return step
			}
			first := next()
			if first.GetId() != "C1S1" || first.Ended != nil {
				t.Fatalf("%v", first)
			}
			if n := d.scrape()[`shoal_season_watches{season="reef"}`]; n != 1 {
				t.Errorf("%v watches", n)
			}
			d.call("SeasonService/Record", `{`+reefAnn+`,"event":"catch"}`).is(t)
			for step := next(); step.GetStats()["fish"] != first.GetStats()["fish"]+1; step = next() {
				if step.Ended != nil {
					t.Fatalf("%v", step)
				}
			}
			d.call("ProfileService/Release", ann).is(t)
			step := next()
			for step.Ended == nil { // the last values may have changed something
				step = next()
			}
			if step.GetEnded() != "released" || step.GetId() != "" {
				t.Errorf("%v", step)
			}
			if _, err := stream.Receive(); !errors.Is(err, io.EOF) {
				t.Errorf("got %v", err)
			}
			for d.scrape()[`shoal_season_watches{season="reef"}`] != 0 { // the daemon has ended the call by its last byte
				d.call("NodeService/Status", "{}")
			}
		})
	}
}

func TestSeasonWatchesThatAreRefused(t *testing.T) {
	d := startDaemon(t, setup{wire: small, config: func(c *server.Config) { c.Limits.Watches = 1 }})
	d.call("ProfileService/Load", ann).is(t)
	d.do("POST", "/shoal.v1.SeasonService/Watch", `{`+reefAnn+`}`, "Content-Type", "application/json").refused(t, 415, "unimplemented", "bad_content_type", "application/connect+json")
	d.read("SeasonService/Watch", `{`+reefAnn+`}`).refused(t, 405, "unimplemented", "bad_method", "POST")
	client := shoalv1connect.NewSeasonServiceClient(d.wires()["Connect"])
	refused := func(req *shoalv1.SeasonWatchRequest, code connect.Code, reason, field string) {
		t.Helper()
		stream, err := client.Watch(t.Context(), req)
		if err == nil {
			_, err = stream.Receive()
		}
		if got, detail := detailOf(t, err); got != code || detail.GetReason() != reason || detail.GetField() != field {
			t.Errorf("%v %v", got, detail)
		}
	}
	refused(&shoalv1.SeasonWatchRequest{Season: "reef", Set: "players", Key: "bob"}, connect.CodeFailedPrecondition, "not_open", "key")
	refused(&shoalv1.SeasonWatchRequest{Season: "x", Set: "players", Key: "ann"}, connect.CodeNotFound, "unknown_season", "season")
	refused(&shoalv1.SeasonWatchRequest{Season: "reef", Set: "guilds", Key: "ann"}, connect.CodeInvalidArgument, "bad_field", "set")
	stream := d.watchSeason(t, d.wires()["Connect"], "ann")
	if _, err := stream.Receive(); err != nil {
		t.Fatal(err)
	}
	refused(&shoalv1.SeasonWatchRequest{Season: "reef", Set: "players", Key: "ann"}, connect.CodeUnavailable, "overloaded", "")
	if err := d.server.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	for { // what was on its way comes first
		if _, err := stream.Receive(); err != nil {
			if _, detail := detailOf(t, err); detail.GetReason() != "closing" {
				t.Errorf("%v", detail)
			}
			return
		}
	}
}
