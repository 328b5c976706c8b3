package shoal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/shoalworks/shoal/internal/address"
	"github.com/shoalworks/shoal/internal/pairing"
	"github.com/shoalworks/shoal/store"
)

// Addresses say where the parts of a store are.
type Addresses struct {
	// Store keeps what must not be lost: profiles, results, receipts. Required.
	Store string
	// Fast takes over what many nodes do all the time: beats, notes, the journal, boards and
	// the bus. It may be an engine that forgets (Redis). Default: Store plays all parts.
	Fast string
	// AsGiven opens the parts as they are given, whether or not they are those of the fleet, and
	// writes nothing about it: for tools that look at a store. A node on it may take over
	// sessions that are alive. Default: what is not the fleet's is refused.
	AsGiven bool
	// Logger hears what the engines have to tell: connections lost and found, and memory that
	// the fast part has lost. Default: nothing is logged.
	Logger *slog.Logger
}

// ErrPairing tells that the parts that were given are not those that the fleet uses: another
// fast part, none where it has one or one where it has none, or another way of messages. Nothing
// was written. The text says what was expected, since when, and what to do.
var ErrPairing = pairing.ErrRefused

// Open opens the store at address:
//
//   - a folder ("./game", "sqlite:./game"): SQLite, for all processes of one machine; the
//     folder is made when it is missing,
//   - "postgres://user:password@host:5432/database?schema=shoal": PostgreSQL, for many machines;
//     with "&sslmode=verify-full&sslrootcert=ca.pem" by TLS to a server that has proved who it is,
//   - "memory:": this process's memory, gone with it; for tests and trials.
//
// An address of another form is an error that says which forms there are. Close the store
// after the nodes that use it. Errors show no password.
func Open(ctx context.Context, address string) (*store.Store, error) {
	return OpenWith(ctx, Addresses{Store: address})
}

// OpenWith opens a store whose fast parts may be on another engine than the durable ones. Beside
// the addresses of [Open], Fast takes those of Redis:
//
//   - "redis://user:password@host:6379/0?prefix=shoal",
//   - "redis+sentinel://host1,host2/master",
//   - "redis+cluster://host1:7000,host2:7001".
//
// The same with rediss instead of redis speak TLS; cacert, cert, key, sni and skip_verify are
// parameters then (see package redisstore).
//
// An engine that may forget what it acknowledged is refused as Store, and so are two parts of
// which only one is shared by several processes: nodes would see each other's profiles without
// each other's beats.
//
// So would be nodes that differ in the fast part. Therefore the durable part remembers which one
// the fleet uses, from the first opening on, and any other is an [ErrPairing]; shoal store pair
// changes it while nobody runs. A fast part that is another engine and has lost its memory is
// asked about: while another process lives the sign comes back within two seconds, otherwise it
// takes six. Until Close a goroutine answers such questions of others.
func OpenWith(ctx context.Context, a Addresses) (*store.Store, error) {
	if a.Logger == nil {
		a.Logger = slog.New(slog.DiscardHandler)
	}
	st, err := a.open(ctx)
	if err != nil {
		return nil, address.Hide(fmt.Errorf("shoal: %w", err), a.Store, a.Fast)
	}
	return st, nil
}

func (a Addresses) open(ctx context.Context) (*store.Store, error) {
	kinds, err := a.kinds()
	if err != nil {
		return nil, err
	}
	parts, err := openEngine(ctx, kinds.store, a.Store, a.Logger)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", address.Redacted(a.Store), err)
	}
	if kinds.fast == 0 {
		return a.paired(ctx, kinds, parts)
	}
	fast, err := openEngine(ctx, kinds.fast, a.Fast, a.Logger)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the fast part %s: %w", address.Redacted(a.Fast), err), ended(ctx, parts))
	}
	return a.paired(ctx, kinds, composed(parts, fast))
}

// partKinds are the engines of the parts; fast is 0 when there is but one.
type partKinds struct{ store, fast address.Kind }

// kinds finds the engines, or what is wrong with the addresses.
func (a Addresses) kinds() (k partKinds, err error) {
	if k.store, err = address.KindOf(a.Store); err != nil {
		return k, fmt.Errorf("open %q: %w", address.Redacted(a.Store), err)
	}
	if k.store == address.Redis {
		return k, fmt.Errorf("open %s: Redis may forget what it has acknowledged, so profiles are not kept there; name a durable store (a folder, or postgres://…), and this one as the fast part beside it", address.Redacted(a.Store))
	}
	if a.Fast == "" || a.Fast == a.Store {
		return k, nil
	}
	if k.fast, err = address.KindOf(a.Fast); err != nil {
		return k, fmt.Errorf("open the fast part %q: %w", address.Redacted(a.Fast), err)
	}
	if k.store.Shared() != k.fast.Shared() {
		return k, fmt.Errorf("open %s with the fast part %s: memory: is seen by this process alone, so both parts are there, or none", address.Redacted(a.Store), address.Redacted(a.Fast))
	}
	return k, nil
}

// composed is a store with the fast parts of another engine. The parts of the first engine that
// nobody uses then end with it.
func composed(durable, fast store.Parts) store.Parts {
	out := store.Parts{Durable: durable.Durable, Fast: fast.Fast, Boards: fast.Boards, Bus: fast.Bus}
	if out.Fast == nil {
		out.Fast = fast.Durable
	}
	out.Also = append(closers(durable), closers(fast)...)
	return out
}

// closers are the ends of all parts that there are. A part takes it that it is closed more than
// once.
func closers(p store.Parts) []func(context.Context) error {
	var out []func(context.Context) error
	if p.Bus != nil {
		out = append(out, p.Bus.Close)
	}
	if p.Boards != nil {
		out = append(out, p.Boards.Close)
	}
	for _, r := range []store.Records{p.Fast, p.Durable} {
		if r != nil {
			out = append(out, r.Close)
		}
	}
	return append(out, p.Also...)
}

// ended ends an engine that is not used after all.
func ended(ctx context.Context, p store.Parts) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, end := range closers(p) {
		errs = append(errs, end(ctx))
	}
	return errors.Join(errs...)
}
