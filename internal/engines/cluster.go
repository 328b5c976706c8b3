package engines

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

const (
	clusterMasters = 3
	clusterSlots   = 16384
)

// Cluster is a Redis Cluster of three masters, without replicas.
type Cluster struct {
	nodes []*Redis
}

// StartCluster starts the three masters, shares the slots out, and answers when each of them
// takes the cluster for complete.
func StartCluster(ctx context.Context, o *RedisOptions) (*Cluster, error) {
	c := &Cluster{}
	if err := c.start(ctx, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, o *RedisOptions) error {
	buses := make([]string, clusterMasters)
	for i := range clusterMasters {
		bus, err := freePort(ctx)
		if err != nil {
			return err
		}
		buses[i] = strconv.Itoa(bus)
		r, err := StartRedis(ctx, clustered(o, buses[i]))
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, r)
	}
	for i, r := range c.nodes {
		if err := c.join(ctx, r, i, buses[0]); err != nil {
			return err
		}
	}
	for _, r := range c.nodes {
		if err := r.await(ctx, r.complete); err != nil {
			return fmt.Errorf("engines: the cluster is not complete: %w\n%s", err, r.logTail())
		}
	}
	return nil
}

// clustered is o for a member of a cluster.
func clustered(o *RedisOptions, bus string) *RedisOptions {
	out := RedisOptions{Settings: map[string]string{
		"cluster-enabled": "yes", "cluster-port": bus, "cluster-node-timeout": "2000",
	}}
	if o != nil {
		if out.AppendOnly, out.TLS = o.AppendOnly, o.TLS; o.TLS != nil {
			out.Settings["tls-cluster"] = "yes"
		}
		for name, value := range o.Settings {
			out.Settings[name] = value
		}
	}
	return &out
}

// join gives the i-th master its slots and makes it known to the first.
func (c *Cluster) join(ctx context.Context, r *Redis, i int, bus string) error {
	first, last := clusterSlots*i/clusterMasters, clusterSlots*(i+1)/clusterMasters-1
	if _, err := r.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)); err != nil {
		return err
	}
	if _, err := r.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
		return err
	}
	if i == 0 {
		return nil
	}
	_, err := r.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(c.nodes[0].peerPort()), bus)
	return err
}

// complete is nil once a master knows all others and all slots.
func (r *Redis) complete(ctx context.Context) error {
	answer, err := r.Do(ctx, "CLUSTER", "INFO")
	if err != nil {
		return err
	}
	text, _ := answer.(string)
	for _, want := range []string{
		"cluster_state:ok", fmt.Sprintf("cluster_slots_ok:%d", clusterSlots),
		fmt.Sprintf("cluster_known_nodes:%d", clusterMasters), fmt.Sprintf("cluster_size:%d", clusterMasters),
	} {
		if !strings.Contains(text, want+"\r\n") {
			return fmt.Errorf("not yet %s", want)
		}
	}
	return nil
}

// Announce has each master tell its callers the port of a proxy before it as its own, also after
// it was started again. They reach each other as before.
func (c *Cluster) Announce(ctx context.Context, proxies []*Proxy) error {
	for i, r := range c.nodes {
		_, port, err := net.SplitHostPort(proxies[i].Addr())
		if err == nil {
			_, err = r.Do(ctx, "CONFIG", "SET", "cluster-announce-port", port)
		}
		if err == nil {
			_, err = r.Do(ctx, "CONFIG", "REWRITE")
		}
		if err != nil {
			return fmt.Errorf("engines: announce: %w", err)
		}
	}
	for _, r := range c.nodes {
		err := r.await(ctx, func(ctx context.Context) error { return r.announced(ctx, proxies) })
		if err != nil {
			return fmt.Errorf("engines: announce: %w", err)
		}
	}
	return nil
}

// announced is nil once a master tells the addresses of all proxies.
func (r *Redis) announced(ctx context.Context, proxies []*Proxy) error {
	answer, err := r.Do(ctx, "CLUSTER", "NODES")
	if err != nil {
		return err
	}
	text, _ := answer.(string)
	for _, p := range proxies {
		if !strings.Contains(text, " "+p.Addr()+"@") {
			return fmt.Errorf("%s is not known yet", p.Addr())
		}
	}
	return nil
}

// Nodes are the masters, in the order of their slots.
func (c *Cluster) Nodes() []*Redis { return c.nodes }

// URL addresses the cluster by all of its masters.
func (c *Cluster) URL(prefix string) string {
	addrs := make([]string, len(c.nodes))
	for i, r := range c.nodes {
		addrs[i] = r.Addr()
	}
	return redisURL("redis+cluster", strings.Join(addrs, ","), "", prefix)
}

// URLAt is URL with the addresses of proxies before the masters.
func (c *Cluster) URLAt(proxies []*Proxy, prefix string) string {
	addrs := make([]string, len(proxies))
	for i, p := range proxies {
		addrs[i] = p.Addr()
	}
	return redisURL("redis+cluster", strings.Join(addrs, ","), "", prefix)
}

// Close ends the masters for good.
func (c *Cluster) Close() error {
	errs := make([]error, 0, len(c.nodes))
	for _, r := range c.nodes {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
