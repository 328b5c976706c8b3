package redisstore

import "context"

// boards keeps leaderboards on the servers.
type boards struct {
	gate
	lane *lane
	keys keys
}

func newBoards(l *lane, k keys) *boards { return &boards{lane: l, keys: k} }

// Close waits for the calls in flight and refuses later ones.
func (b *boards) Close(ctx context.Context) error { return b.close(ctx) }
