// Command cmd is `make cluster`: what a game with many machines runs, on this one. It starts a
// private PostgreSQL, a Redis and a Redis Cluster of three masters, three daemons on them and a
// load, and ends everything again.
//
// With arguments it is `make performance`: it starts PostgreSQL and Redis alone, runs the
// command that the arguments are, and ends them again. The command finds their addresses in
// SHOAL_STORE and SHOAL_FAST.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/chaos"
	"github.com/shoalworks/shoal/internal/engines"
)

const daemons = 3

func main() {
	length := flag.Duration("for", 90*time.Second, "how long; Ctrl-C ends it earlier")
	fast := flag.String("fast", "redis", "where beats, journals, boards and messages go: redis, cluster, or none (PostgreSQL)")
	players := flag.Int("players", 60, "players")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	s := new(stack)
	err := error(nil)
	if flag.NArg() > 0 {
		err = s.lend(ctx, flag.Args())
	} else {
		err = s.run(ctx, *fast, *length, *players)
	}
	err = errors.Join(err, s.close())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stack is everything that was started.
type stack struct {
	closers []func() error
	urls    []string
}

// keep notes what is to be closed, and passes on an error.
func keep[E interface{ Close() error }](s *stack, e E, err error) (E, error) {
	if err == nil {
		s.closers = append(s.closers, e.Close)
	}
	return e, err
}

// close ends what was started, the last first.
func (s *stack) close() error {
	var errs []error
	for i := range s.closers {
		errs = append(errs, s.closers[len(s.closers)-1-i]())
	}
	return errors.Join(errs...)
}

// lend starts PostgreSQL, with room for many connections, and Redis for a command.
func (s *stack) lend(ctx context.Context, command []string) error {
	postgres, err := engines.StartPostgres(ctx, &engines.PostgresOptions{
		Durable: true, Settings: map[string]string{"max_connections": "800", "shared_buffers": "256MB", "max_wal_size": "1GB"},
	})
	if postgres, err = keep(s, postgres, err); err != nil {
		return err
	}
	redis, err := engines.StartRedis(ctx, nil)
	if redis, err = keep(s, redis, err); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "SHOAL_STORE="+postgres.URL("shoal"), "SHOAL_FAST="+redis.URL("shoal"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// run starts everything, and plays until the time is up.
func (s *stack) run(ctx context.Context, fast string, length time.Duration, players int) error {
	postgres, err := engines.StartPostgres(ctx, &engines.PostgresOptions{Durable: true})
	if postgres, err = keep(s, postgres, err); err != nil {
		return err
	}
	redis, err := engines.StartRedis(ctx, nil)
	if redis, err = keep(s, redis, err); err != nil {
		return err
	}
	cluster, err := engines.StartCluster(ctx, nil)
	if cluster, err = keep(s, cluster, err); err != nil {
		return err
	}
	o := engines.ShoalOptions{Store: postgres.URL("shoal"), Config: chaos.Configuration(clock.System().Now())}
	addresses := map[string]string{"redis": redis.URL("shoal"), "cluster": cluster.URL("shoal"), "none": ""}
	known := false
	if o.Fast, known = addresses[fast]; !known {
		return fmt.Errorf("-fast %s: redis, cluster or none expected", fast)
	}
	fmt.Fprintf(os.Stdout, "PostgreSQL     %s\nRedis          %s\nRedis Cluster  %s\n", postgres.URL("shoal"), redis.URL("shoal"), cluster.URL("shoal"))
	if err := s.serve(ctx, o); err != nil {
		return err
	}
	return s.load(ctx, length, players)
}

// serve builds the daemon and starts some of them.
func (s *stack) serve(ctx context.Context, o engines.ShoalOptions) error {
	folder, err := os.MkdirTemp("", "shoal-cluster-")
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { return os.RemoveAll(folder) })
	o.Binary = filepath.Join(folder, "shoal")
	if err := engines.BuildShoal(ctx, o.Binary, ""); err != nil {
		return err
	}
	for i := range daemons {
		o.Name = fmt.Sprintf("d%d", i)
		d, err := engines.NewShoal(ctx, o)
		if d, err = keep(s, d, err); err != nil {
			return err
		}
		if err := d.Start(ctx); err != nil {
			return err
		}
		s.closers = append(s.closers, d.Stop)
		s.urls = append(s.urls, d.URL())
		fmt.Fprintf(os.Stdout, "daemon %d       %s\n", i, d.URL())
	}
	return nil
}

// load plays for a while.
func (s *stack) load(ctx context.Context, length time.Duration, players int) error {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	tally, err := chaos.Load(ctx, s.urls, chaos.Options{Players: players, Say: os.Stdout})
	fmt.Fprintln(os.Stdout, tally)
	return err
}
