package engines

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shoalworks/shoal/clock"
)

// sentinelMaster is the name by which the sentinel knows its master.
const sentinelMaster = "shoal"

// Sentinel is a Redis master, its replica, and a sentinel that makes the replica the master
// one second after the master is gone.
type Sentinel struct {
	nodes    []*Redis
	sentinel *Redis
}

// StartSentinel starts the three, and answers when the sentinel knows the replica.
func StartSentinel(ctx context.Context, o *RedisOptions) (*Sentinel, error) {
	s := &Sentinel{}
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Sentinel) start(ctx context.Context, o *RedisOptions) error {
	master, err := StartRedis(ctx, o)
	if err != nil {
		return err
	}
	s.nodes = append(s.nodes, master)
	replica, err := StartRedis(ctx, o)
	if err != nil {
		return err
	}
	s.nodes = append(s.nodes, replica)
	if _, err := replica.Do(ctx, "REPLICAOF", "127.0.0.1", strconv.Itoa(master.peerPort())); err != nil {
		return err
	}
	if err := s.watch(ctx, master, o); err != nil {
		return err
	}
	return s.sentinel.await(ctx, func(ctx context.Context) error { return s.complete(ctx) })
}

// watch starts the sentinel.
func (s *Sentinel) watch(ctx context.Context, master *Redis, o *RedisOptions) error {
	of := &RedisOptions{}
	if o != nil {
		of.TLS = o.TLS
	}
	r, err := newRedis(ctx, of, "sentinel")
	if err != nil {
		return err
	}
	s.sentinel = r
	text := fmt.Sprintf(`bind 127.0.0.1
port %[1]d
dir %[2]s
sentinel monitor %[3]s 127.0.0.1 %[4]d 1
sentinel down-after-milliseconds %[3]s 1000
sentinel failover-timeout %[3]s 3000
`, r.port, r.folder, sentinelMaster, master.peerPort())
	for name, value := range r.secured {
		text += name + " " + value + "\n"
	}
	file := filepath.Join(r.folder, "sentinel.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("engines: configure Sentinel: %w", err)
	}
	r.args = []string{file, "--sentinel"}
	return r.Start(ctx)
}

// complete is nil once the sentinel knows the replica, which has all that the master has.
func (s *Sentinel) complete(ctx context.Context) error {
	answer, err := s.sentinel.Do(ctx, "SENTINEL", "MASTER", sentinelMaster)
	if err != nil {
		return err
	}
	if fields := pairs(answer); fields["num-slaves"] != "1" {
		return errors.New("the sentinel does not know the replica yet")
	}
	info, err := s.nodes[1].Do(ctx, "INFO", "replication")
	if err != nil {
		return err
	}
	if text, _ := info.(string); !strings.Contains(text, "master_link_status:up") {
		return errors.New("the replica is not connected yet")
	}
	return nil
}

// pairs is an answer of names and values in turn.
func pairs(answer any) map[string]string {
	out := make(map[string]string)
	list, _ := answer.([]any)
	for i := 0; i+1 < len(list); i += 2 {
		name, _ := list[i].(string)
		value, _ := list[i+1].(string)
		out[name] = value
	}
	return out
}

// Addr is host:port of the sentinel.
func (s *Sentinel) Addr() string { return s.sentinel.Addr() }

// URL addresses the master through the sentinel.
func (s *Sentinel) URL(prefix string) string {
	return redisURL("redis+sentinel", s.Addr(), "/"+sentinelMaster, prefix)
}

// Nodes are the two servers: first the one that was the master at the start.
func (s *Sentinel) Nodes() []*Redis { return s.nodes }

// Master is the one of Nodes that the sentinel takes for the master.
func (s *Sentinel) Master(ctx context.Context) (*Redis, error) {
	answer, err := s.sentinel.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinelMaster)
	if err != nil {
		return nil, err
	}
	for host, port := range pairs(answer) {
		for _, r := range s.nodes {
			if net.JoinHostPort(host, port) == loopback(r.peerPort()) {
				return r, nil
			}
		}
	}
	return nil, fmt.Errorf("engines: the sentinel names an unknown master: %v", answer)
}

// FailOver makes the replica the master, as an operator does, and answers when it is.
func (s *Sentinel) FailOver(ctx context.Context) error {
	was, err := s.Master(ctx)
	if err != nil {
		return err
	}
	if _, err := s.sentinel.Do(ctx, "SENTINEL", "FAILOVER", sentinelMaster); err != nil {
		return err
	}
	return s.AwaitMaster(ctx, was)
}

// AwaitMaster waits until another than was is the master and takes writes.
func (s *Sentinel) AwaitMaster(ctx context.Context, was *Redis) error {
	for {
		if now, err := s.Master(ctx); err == nil && now != was {
			if role, err := now.Do(ctx, "ROLE"); err == nil && isMaster(role) {
				return nil
			}
		}
		if err := clock.Sleep(ctx, clock.System(), askEvery); err != nil {
			return fmt.Errorf("engines: no other master: %w", err)
		}
	}
}

func isMaster(role any) bool {
	list, _ := role.([]any)
	return len(list) > 0 && list[0] == "master"
}

// Close ends the three for good.
func (s *Sentinel) Close() error {
	var errs []error
	if s.sentinel != nil {
		errs = append(errs, s.sentinel.Close())
	}
	for _, r := range s.nodes {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
