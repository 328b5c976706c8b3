package storecopy

import (
	"context"

	"github.com/shoalworks/shoal/store"
)

// A group of writes ends after so many of them, or so many bytes.
const (
	groupSize  = 256
	groupBytes = 8 << 20
)

// group is writes that go together: first into the ledger, then into the target.
type group struct {
	writes []store.Write
	bytes  int
}

// records goes through the records of both stores.
func (p *pass) records(ctx context.Context) error {
	source := &feed{records: p.From.Durable(), clock: p.Clock}
	there := &feed{records: p.To.Durable(), clock: p.Clock}
	defer source.close()
	defer there.close()
	var g group
	a, err := source.record(ctx)
	if err != nil {
		return err
	}
	b, err := there.record(ctx)
	if err != nil {
		return err
	}
	for !a.Missing() || !b.Missing() {
		first := before(a, b)
		if err := p.one(ctx, &g, pick(a, first), pick(b, first), first); err != nil {
			return err
		}
		if a.Key == first && !a.Missing() {
			if a, err = source.record(ctx); err != nil {
				return err
			}
		}
		if b.Key == first && !b.Missing() {
			if b, err = there.record(ctx); err != nil {
				return err
			}
		}
	}
	return p.flush(ctx, &g)
}

// before is the smaller key of two records, of which at most one is missing.
func before(a, b store.Record) string {
	if b.Missing() || !a.Missing() && a.Key < b.Key {
		return a.Key
	}
	return b.Key
}

// pick is the record if it has that key.
func pick(r store.Record, key string) store.Record {
	if r.Key == key {
		return r
	}
	return store.Record{Key: key}
}

// one deals with one key.
func (p *pass) one(ctx context.Context, g *group, source, there store.Record, key string) error {
	if !source.Missing() {
		p.sum.Records.Seen++
	}
	holder := ""
	if !source.Missing() {
		holder = holderOf(key, source.Value)
	}
	w := store.Write{Key: key, Op: store.Put, Value: source.Value, Version: source.Version, If: store.Is(there.Version)}
	switch judge(source.Version, there.Version, holder != "", p.ledger.knows(key, there.Version)) {
	case keep:
		p.sum.Records.Same++
		return nil
	case adopt:
		p.sum.Records.Same++
		w.Op = 0 // a word in the ledger only
		return p.add(ctx, g, w)
	case put:
		return p.add(ctx, g, w)
	case gone:
		return p.prune(ctx, g, there)
	case foreign:
		p.sum.Records.Foreign++
	case leave:
		p.sum.Records.Held++
		p.Report(Finding{Kind: Held, Key: key, Why: "by " + holder})
	case conflict, removed:
		return p.refused(ctx, g, w)
	}
	return nil
}

// refused reports what somebody else decided at the target, or overrules them.
func (p *pass) refused(ctx context.Context, g *group, w store.Write) error {
	if p.Overwrite {
		return p.add(ctx, g, w)
	}
	if v, _ := w.If.Wants(); v == 0 {
		p.sum.Records.Removed++
		p.Report(Finding{Kind: Removed, Key: w.Key, Why: "it was copied before, and somebody else removed it from the target"})
		return nil
	}
	p.sum.Records.Conflicts++
	p.Report(Finding{Kind: Conflict, Key: w.Key, Why: "the target has it as somebody else wrote it"})
	return nil
}

// prune removes what the source has no more.
func (p *pass) prune(ctx context.Context, g *group, there store.Record) error {
	if !p.Prune {
		p.sum.Records.Gone++
		p.Report(Finding{Kind: Gone, Key: there.Key, Why: "the source has it no more"})
		return nil
	}
	return p.add(ctx, g, store.Write{Key: there.Key, Op: store.Delete, If: store.Is(there.Version)})
}

// add puts a write into the group, and writes the group when it is full.
func (p *pass) add(ctx context.Context, g *group, w store.Write) error {
	g.writes = append(g.writes, w)
	if g.bytes += len(w.Value); len(g.writes) < groupSize && g.bytes < groupBytes {
		return nil
	}
	return p.flush(ctx, g)
}

// flush writes the group.
func (p *pass) flush(ctx context.Context, g *group) error {
	if len(g.writes) == 0 {
		return context.Cause(ctx)
	}
	writes := g.writes
	*g = group{}
	var own []store.Write
	for i := range writes {
		if writes[i].Op == 0 {
			writes[i].Op = store.Put // it is there: the ledger learns of it
			continue
		}
		own = append(own, writes[i])
	}
	if p.DryRun {
		p.count(own, make([]bool, len(own)), true)
		return nil
	}
	if err := p.pace.wait(ctx, len(own)); err != nil {
		return err
	}
	if err := p.ledger.intend(ctx, writes); err != nil {
		return err
	}
	done, err := p.to.write(ctx, own)
	p.count(own, done, err != nil)
	p.Progress(p.sum)
	return err
}

// count counts the writes that were done, and those that were refused unless that is not known.
func (p *pass) count(writes []store.Write, done []bool, open bool) {
	for i, w := range writes {
		switch {
		case !done[i] && open && !p.DryRun:
		case !done[i] && !open:
			p.sum.Records.Conflicts++
			p.Report(Finding{Kind: Conflict, Key: w.Key, Why: "somebody else wrote it into the target meanwhile"})
		case w.Op == store.Delete:
			p.sum.Records.Pruned++
		default:
			p.sum.Records.Copied++
			p.sum.Records.Bytes += int64(len(w.Value))
		}
	}
}
