//go:build !unix

package sqlitestore

import "context"

// peers: without datagram sockets in the file system, messages stay within the engine.
type peers struct{}

func startPeers(ctx context.Context, folder string, o Options, _ func(topic string, payload []byte)) *peers {
	o.Logger.WarnContext(ctx, "sqlitestore: no messages between processes on this system", "folder", folder)
	return &peers{}
}

func (*peers) send([]byte)                {}
func (*peers) stop()                      {}
func (*peers) wait(context.Context) error { return nil }

func (*peers) place() (folder string, connected bool) { return "", false }
