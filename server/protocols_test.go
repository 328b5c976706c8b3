package server_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"

	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
	"github.com/shoalworks/shoal/proto/wirejson"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store"
)

// http2Client speaks HTTP/2 without TLS, as gRPC does inside a data centre.
func http2Client(tb testing.TB) *http.Client {
	tb.Helper()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// wires are all ways to call the daemon from generated code.
func (d *daemon) wires() map[string]*connect.Client {
	d.t.Helper()
	url, h2 := "http://"+d.addr, http2Client(d.t)
	json := connecthttp.WithCodecs(&wirejson.Codec{})
	return map[string]*connect.Client{
		"gRPC":              connect.NewClient(connecthttp.NewTransport(h2, url, connecthttp.WithGRPC())),
		"gRPC with JSON":    connect.NewClient(connecthttp.NewTransport(h2, url, connecthttp.WithGRPC(), json)),
		"gRPC-Web":          connect.NewClient(connecthttp.NewTransport(d.client, url, connecthttp.WithGRPCWeb())),
		"Connect":           connect.NewClient(connecthttp.NewTransport(d.client, url)),
		"Connect on HTTP/2": connect.NewClient(connecthttp.NewTransport(h2, url)),
		"Connect with JSON": connect.NewClient(connecthttp.NewTransport(d.client, url, json)),
		"Connect with GET":  connect.NewClient(connecthttp.NewTransport(d.client, url, json, connecthttp.WithHTTPGet())),
		"Connect, packed":   connect.NewClient(connecthttp.NewTransport(d.client, url, connecthttp.WithSendGzip())),
	}
}

// detailOf is the detail that comes with an error of a generated client.
func detailOf(t *testing.T, err error) (connect.Code, *shoalv1.ErrorDetail) {
	t.Helper()
	var rpc *connect.Error
	if !errors.As(err, &rpc) || len(rpc.Details()) != 1 {
		t.Fatalf("got %v, want an error with one detail", err)
	}
	msg, err := connectproto.UnmarshalErrorDetail(rpc.Details()[0])
	if err != nil {
		t.Fatal(err)
	}
	return rpc.Code(), msg.(*shoalv1.ErrorDetail)
}

func TestEveryProtocol(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install})
	for name, wire := range d.wires() {
		t.Run(name, func(t *testing.T) {
			client := shoalv1connect.NewNodeServiceClient(wire)
			got, err := client.Status(t.Context(), &shoalv1.NodeStatusRequest{})
			if err != nil || got.GetId() != d.node.ID() || len(got.GetFleet()) != 1 || got.GetFleet()[0].GetState() != "alive" {
				t.Fatalf("%v, %v", got, err)
			}
			v.breakWith(store.ErrUnavailable, nil)
			defer v.breakWith(nil, nil)
			_, err = client.Status(t.Context(), &shoalv1.NodeStatusRequest{})
			code, detail := detailOf(t, err)
			if code != connect.CodeUnavailable || detail.GetReason() != "store_unavailable" || detail.GetOutcome() != "not_done" {
				t.Errorf("%v %v", code, detail)
			}
		})
	}
}

// Refusals before a call is reached take the form of the caller's protocol too.
func TestRefusalsInEveryProtocol(t *testing.T) {
	d := startDaemon(t, setup{config: func(c *server.Config) { c.APIKey = testKey }})
	for name, wire := range d.wires() {
		_, err := shoalv1connect.NewNodeServiceClient(wire).Status(t.Context(), &shoalv1.NodeStatusRequest{})
		code, detail := detailOf(t, err)
		if code != connect.CodeUnauthenticated || detail.GetReason() != "unauthenticated" {
			t.Errorf("%s: %v %v", name, code, detail)
		}
	}
}

func TestUnknownCallsInEveryProtocol(t *testing.T) {
	d := startDaemon(t, setup{})
	spec := connect.Spec{Procedure: "/shoal.v1.NodeService/Stats", StreamType: connect.StreamTypeUnary}
	for name, wire := range d.wires() {
		if name == "gRPC-Web" {
			continue // over HTTP/1.1 Connect answers 505: the unknown call might be a stream
		}
		err := wire.CallUnary(t.Context(), spec, &shoalv1.NodeStatusRequest{}, &shoalv1.NodeStatusResponse{})
		code, detail := detailOf(t, err)
		if code != connect.CodeUnimplemented || detail.GetReason() != "unknown_path" {
			t.Errorf("%s: %v %v", name, code, detail)
		}
	}
}

func TestLargeMessagesInEveryProtocol(t *testing.T) {
	d := startDaemon(t, setup{config: func(c *server.Config) { c.Limits.BodyBytes = 100 }})
	for name, wire := range d.wires() {
		_, err := shoalv1connect.NewBoardServiceClient(wire).Top(t.Context(), &shoalv1.BoardTopRequest{Board: strings.Repeat("x", 101)})
		code, detail := detailOf(t, err)
		if code != connect.CodeResourceExhausted || detail.GetReason() != "too_large" {
			t.Errorf("%s: %v %v", name, code, detail)
		}
	}
}
