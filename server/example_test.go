package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store/memstore"
)

// A daemon over memory, and a game server that opens a player's profile there and changes it.
func Example() {
	ctx := context.Background()
	st, err := memstore.New(nil).Store()
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := shoal.Start(ctx, st, &shoal.Options{
		Node: node.Options{Logger: slog.New(slog.DiscardHandler)},
		Sets: map[string]*profile.Options{"players": nil},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.New(server.Config{Node: n})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error)
	go func() { served <- s.Serve(ctx, l) }()

	call := func(method, message string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.Addr().String()+"/shoal.v1.ProfileService/"+method, strings.NewReader(message))
		if err != nil {
			fmt.Println(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = res.Body.Close() }()
		_, _ = io.Copy(io.Discard, res.Body)
		fmt.Println(method, res.Status)
	}
	call("Load", `{"set":"players","key":"u_42"}`)
	call("Transact", `{"set":"players","key":"u_42","ops":[{"op":"increment","path":"/coins","by":25}]}`)
	call("Release", `{"set":"players","key":"u_42"}`)

	// The server first, then the node, then the store.
	http.DefaultClient.CloseIdleConnections()
	if err := s.Close(ctx); err != nil {
		fmt.Println(err)
	}
	if err := <-served; err != nil {
		fmt.Println(err)
	}
	if _, err := n.Close(ctx); err != nil {
		fmt.Println(err)
	}
	if err := st.Close(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Load 200 OK
	// Transact 200 OK
	// Release 200 OK
}
