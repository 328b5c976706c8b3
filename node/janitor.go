package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/store"
)

const (
	maxBurials  = 4   // dead nodes that are forgotten after one census
	maxTidied   = 512 // records that are removed, or looked at, in one go
	sweepChance = 64  // after every 64th census of the fleet what nobody owns is looked for
)

// EstatePrefix is the folder, in the fast store, of what is left to be done when a node dies:
// one record for each thing, removed when it is done. A dead node is not forgotten while it
// holds anything.
func EstatePrefix(id string) string { return EstateFolder + id + "/" }

// EstateFolder is where all estates are: one folder for each node.
const EstateFolder = "journaled/"

// janitor removes what nodes have left behind that are gone for long: their notes, their marks
// and, last, their beats. Beats of the dead are kept for long, because a session that is
// still held by one is taken over sooner by an old beat than by a missing one.
//
// It works on the census goroutine, in small portions, and by chance, so that of many nodes
// about one works after each census.
type janitor struct {
	draw  func(n int) int // 0 to n-1
	swept [3]string       // how far the last sweep of each folder came
}

// sweepable are the folders whose first part is the id of the node that a record is for.
func sweepable() [3]string { return [3]string{noteFolder, markPrefix, EstateFolder} }

// tidy is the janitor's work after a census that has shown these beats.
func (n *Node) tidy(ctx context.Context, beats []store.Record) {
	if n.opts.ForgetAfter < 0 || !n.Beating() || n.janitor.draw(max(1, n.living(beats))) != 0 {
		return
	}
	if err := n.forget(ctx, beats); err != nil {
		n.opts.Logger.DebugContext(ctx, "dead nodes not forgotten", "node", n.id, "err", err)
	}
	if n.janitor.draw(sweepChance) != 0 {
		return
	}
	for i, folder := range sweepable() {
		if err := n.sweep(ctx, i, folder, beats); err != nil {
			n.opts.Logger.DebugContext(ctx, "folder not swept", "node", n.id, "folder", folder, "err", err)
		}
	}
}

// living counts the nodes that seem to live, this one among them.
func (n *Node) living(beats []store.Record) int {
	count := 0
	for _, rec := range beats {
		if rec.Age <= n.opts.DeadAfter {
			count++
		}
	}
	return count
}

// forget removes what dead nodes have left, a few of them at a time.
func (n *Node) forget(ctx context.Context, beats []store.Record) error {
	var old []store.Record
	n.mu.Lock()
	for _, rec := range beats {
		if d, ok := n.mu.deaths[strings.TrimPrefix(rec.Key, beatPrefix)]; ok && d.version == rec.Version && rec.Age > n.opts.ForgetAfter {
			old = append(old, rec)
		}
	}
	n.mu.Unlock()
	for range min(len(old), maxBurials) {
		i := n.janitor.draw(len(old)) // so that one that cannot be forgotten holds up no other
		if err := n.bury(ctx, old[i]); err != nil {
			return err
		}
		old = slices.Delete(old, i, i+1)
	}
	return nil
}

// bury removes all that a dead node has left, its beat last and only if it has not moved.
// What is too much for one go is removed the next time.
func (n *Node) bury(ctx context.Context, beat store.Record) error {
	id := strings.TrimPrefix(beat.Key, beatPrefix)
	estate := store.Prefix(EstatePrefix(id))
	estate.Limit = 1
	left, err := n.list(ctx, estate)
	if err != nil || len(left) > 0 {
		return err
	}
	r := store.Prefix(notePrefix(id))
	r.Limit = maxTidied
	notes, err := n.list(ctx, r)
	if err != nil {
		return err
	}
	if err := n.remove(ctx, notes); err != nil || len(notes) == maxTidied {
		return err
	}
	marks := store.Prefix(markPrefix + id + "/")
	marks.Limit = maxTidied
	remains, err := n.list(ctx, marks)
	if err != nil {
		return err
	}
	if err := n.remove(ctx, remains); err != nil {
		return err
	}
	if err := n.remove(ctx, []store.Record{beat}); err != nil {
		return err
	}
	n.opts.Logger.InfoContext(ctx, "a dead node is forgotten", "node", n.id, "dead", id, "age", beat.Age)
	return nil
}

// sweep removes, from one portion of a folder, the old records of nodes without a beat: those
// were on their way when their node, or the node they are for, closed.
func (n *Node) sweep(ctx context.Context, i int, folder string, beats []store.Record) error {
	r := store.Prefix(folder)
	if from := n.janitor.swept[i]; from != "" {
		r.From = from + "\x00"
	}
	r.Limit = maxTidied
	recs, err := n.list(ctx, r)
	if err != nil {
		return err
	}
	n.janitor.swept[i] = ""
	if len(recs) == maxTidied {
		n.janitor.swept[i] = recs[len(recs)-1].Key
	}
	return n.remove(ctx, slices.DeleteFunc(recs, func(rec store.Record) bool {
		id, _, ok := strings.Cut(strings.TrimPrefix(rec.Key, folder), "/")
		_, beats := slices.BinarySearchFunc(beats, beatPrefix+id, func(b store.Record, key string) int { return strings.Compare(b.Key, key) })
		return !ok || beats || id == n.id || rec.Age <= n.opts.ForgetAfter
	}))
}

// list reads a portion in the background class.
func (n *Node) list(ctx context.Context, r store.Range) ([]store.Record, error) {
	var recs []store.Record
	for rec, err := range n.For(ClassBackground).Fast().Scan(ctx, r) {
		if err != nil {
			return nil, fmt.Errorf("node: list %s: %w", r.From, err)
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

// remove removes records that are still the same. One that is not is left alone, and so is one
// whose removal got lost: the next time finds it.
func (n *Node) remove(ctx context.Context, recs []store.Record) error {
	txs := make([]store.Tx, len(recs))
	for i, rec := range recs {
		txs[i] = store.Tx{{Key: rec.Key, Op: store.Delete, If: store.Is(rec.Version)}}
	}
	if len(txs) == 0 {
		return nil
	}
	for i, err := range n.For(ClassBackground).Fast().Commit(ctx, txs...) {
		if err != nil && !isConflict(err) {
			return fmt.Errorf("node: remove %s: %w", recs[i].Key, err)
		}
	}
	return nil
}

// defaultForget is for how long what a dead node has left is kept.
const defaultForget = 24 * time.Hour
