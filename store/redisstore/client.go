package redisstore

import (
	"context"
	"crypto/tls"
	"math/bits"
	"net"
	"time"

	"github.com/redis/rueidis"
)

// What our connections look like.
const (
	topologyEvery = 2 * time.Second         // how often we ask Sentinels and clusters who is who
	keepAlive     = time.Second             // a connection that is silent so long is asked whether it lives
	maxRedirects  = 8                       // MOVED and ASK that one call follows
	smallBuffer   = 32 << 10                // of connections for beats and messages
	beatPatience  = 1500 * time.Millisecond // AnswerTimeout and DialTimeout of the beats' connection, at most: a few fit before a node counts as dead
)

// connect makes a client for one purpose. Nothing is ever sent again by the client itself:
// it cannot know whether a call that broke off has run.
func connect(a address, o Options, purpose string, change func(*rueidis.ClientOption)) (rueidis.Client, error) {
	options := rueidis.ClientOption{
		InitAddress:       a.hosts,
		Username:          a.server.user,
		Password:          a.server.password,
		ClientName:        a.clientName + "-" + purpose,
		SelectDB:          a.database,
		DialCtxFn:         dial,
		Dialer:            net.Dialer{Timeout: o.DialTimeout, KeepAlive: keepAlive},
		ConnWriteTimeout:  o.AnswerTimeout,
		PipelineMultiplex: bits.Len(uint(o.Connections)) - 1,
		DisableRetry:      true,
		DisableCache:      true,
		// Without it a lonely call reads its answer by itself, and its context, when it ends,
		// takes the connection along.
		AlwaysPipelining:  true,
		ForceSingleClient: a.topology == single,
		ClusterOption:     rueidis.ClusterOption{ShardsRefreshInterval: topologyEvery, MaxMovedRedirections: maxRedirects},
	}
	if options.PipelineMultiplex == 0 {
		options.PipelineMultiplex = -1 // 0 would be the library's default
	}
	if a.tls {
		options.TLSConfig = o.TLS.Clone() // Open has made it
	}
	if a.topology == sentinel {
		options.Sentinel = rueidis.SentinelOption{
			MasterSet: a.master, Username: a.sentinels.user, Password: a.sentinels.password,
			Dialer: options.Dialer, TLSConfig: options.TLSConfig, TopologyRefreshInterval: topologyEvery,
		}
	}
	if change != nil {
		change(&options)
	}
	c, err := rueidis.NewClient(options)
	if err != nil {
		if c != nil {
			c.Close() // a single client that could not connect is answered with the error
		}
		return nil, err
	}
	return c, nil
}

// narrow is for connections that carry little, and not for long: one to each server.
func narrow(patience time.Duration) func(*rueidis.ClientOption) {
	return func(o *rueidis.ClientOption) {
		o.PipelineMultiplex = -1
		o.ReadBufferEachConn, o.WriteBufferEachConn = smallBuffer, smallBuffer
		o.ConnWriteTimeout, o.Dialer.Timeout = min(o.ConnWriteTimeout, patience), min(o.Dialer.Timeout, patience)
	}
}

// dial makes a connection, and marks a failure as one before anything was sent.
func dial(ctx context.Context, host string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	c, err := d.DialContext(ctx, "tcp", host)
	if err == nil && t != nil {
		c, err = greet(ctx, c, host, d.Timeout, t)
	}
	if err != nil {
		return nil, &unsentError{err}
	}
	return c, nil
}
