package engines

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
)

const (
	// firstPort and ports are below what systems give to outgoing connections, so that the
	// port of a server that is down is still free when it is started again.
	firstPort = 16000
	ports     = 14000
)

// freePort is a port of loopback on which nobody listens.
func freePort(ctx context.Context) (int, error) {
	var l net.ListenConfig
	var err error
	for range 100 {
		port := firstPort + int(chance()%ports)
		var probe net.Listener
		probe, err = l.Listen(ctx, "tcp", loopback(port))
		if err == nil {
			return port, probe.Close()
		}
	}
	return 0, fmt.Errorf("engines: free port: %w", err)
}

func chance() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint32(b[:])
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
