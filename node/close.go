package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// Stage is when a service ends while the node closes. Stages run one after the other, the
// services of one stage at the same time.
type Stage uint8

// The stages in their order. Board queues are open until the last one, because releases and
// last season values still write to boards.
const (
	StageSessions Stage = iota + 1 // leave hooks, final saves and releases
	StageSeasons                   // the last values of the seasons
	StageBoards                    // the queues of the boards drain
)

// String is "sessions", "seasons" or "boards".
func (s Stage) String() string {
	switch s {
	case StageSessions:
		return "sessions"
	case StageSeasons:
		return "seasons"
	case StageBoards:
		return "boards"
	}
	return "no stage"
}

// boardReserve is the part of the deadline that is kept for the boards.
const boardReserve = 5 * time.Second

// beatReserve is the part of the deadline that is kept for the last beat.
const beatReserve = 500 * time.Millisecond

// Unfinished is what a service could not finish within the deadline.
type Unfinished struct {
	Stage   Stage
	Service string
	Left    int   // sessions not released, values not written
	Err     error // what the service said; may be nil
}

// Report tells how Close went.
type Report struct {
	Unfinished []Unfinished
	Took       time.Duration
}

// Complete tells that every service finished.
func (r Report) Complete() bool { return len(r.Unfinished) == 0 }

type service struct {
	stage Stage
	name  string
	close func(ctx context.Context) (left int, err error)
}

type closing struct {
	once         sync.Once
	begun, ended chan struct{}
	report       Report
	err          error

	mu struct {
		sync.Mutex
		services []service
		cancel   context.CancelFunc
	}
}

// OnClose has the node end a service when it closes. close gets a context that ends with the
// stage's deadline and answers how much it left undone. A service that is registered after
// Close has begun is closed by its owner.
func (n *Node) OnClose(stage Stage, name string, end func(ctx context.Context) (left int, err error)) {
	n.closing.mu.Lock()
	defer n.closing.mu.Unlock()
	n.closing.mu.services = append(n.closing.mu.services, service{stage, name, end})
}

// Closing is closed when Close begins: new loads are refused, and the boards flush from now on.
func (n *Node) Closing() <-chan struct{} { return n.closing.begun }

// Close ends the node in order, within CloseTimeout or the end of ctx, and reports what it
// could not finish: sessions are released, seasons write their last values, boards drain, and
// the beat record is removed, or says closed when a session is left, so that its profiles can
// be taken over at once. Callers share one closing and one report. The node beats until the
// end. It does not close the store.
func (n *Node) Close(ctx context.Context) (Report, error) {
	n.closing.once.Do(func() {
		go n.close(context.WithoutCancel(ctx))
	})
	select {
	case <-n.closing.ended:
		return n.closing.report, n.closing.err
	case <-ctx.Done():
	}
	n.closing.cut()
	<-n.closing.ended
	return n.closing.report, n.closing.err
}

func (n *Node) close(ctx context.Context) {
	defer close(n.closing.ended)
	start := n.opts.Clock.Now()
	whole, cancel := clock.WithTimeout(ctx, n.opts.Clock, n.opts.CloseTimeout-min(beatReserve, n.opts.CloseTimeout/8))
	defer cancel()
	n.closing.cutBy(cancel)
	close(n.closing.begun)

	early, cancelEarly := clock.WithTimeout(whole, n.opts.Clock, n.opts.CloseTimeout-min(boardReserve, n.opts.CloseTimeout/4))
	defer cancelEarly()
	var unfinished []Unfinished
	for _, stage := range []Stage{StageSessions, StageSeasons, StageBoards} {
		stageCtx := early
		if stage == StageBoards {
			stageCtx = whole
		}
		unfinished = append(unfinished, n.closeStage(stageCtx, stage)...)
	}
	n.endLoops(start)
	n.mu.Lock()
	sub := n.mu.subscription
	n.mu.Unlock()
	if sub != nil {
		sub.Close()
	}
	last, cancelLast := clock.WithTimeout(ctx, n.opts.Clock, min(beatReserve, n.opts.CloseTimeout/8)+n.opts.Beat)
	defer cancelLast()
	n.closing.err = n.lastBeat(last, unfinished)
	n.closing.report = Report{Unfinished: unfinished, Took: n.opts.Clock.Now().Sub(start)}
	n.opts.Logger.InfoContext(ctx, "node closed", "node", n.id, "took", n.closing.report.Took, "unfinished", len(unfinished))
}

// closeStage ends the services of one stage side by side.
func (n *Node) closeStage(ctx context.Context, stage Stage) []Unfinished {
	n.closing.mu.Lock()
	services := append([]service(nil), n.closing.mu.services...)
	n.closing.mu.Unlock()
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		out []Unfinished
	)
	for _, s := range services {
		if s.stage != stage {
			continue
		}
		wg.Go(func() {
			left, err := s.close(ctx)
			if left == 0 && err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out = append(out, Unfinished{Stage: stage, Service: s.name, Left: left, Err: err})
		})
	}
	wg.Wait()
	return out
}

// endLoops ends the loops. A beat or a mark that is on its way may still land for a while,
// rather than to have its outcome unknown.
func (n *Node) endLoops(start time.Time) {
	n.stop()
	left := n.opts.CloseTimeout - n.opts.Clock.Now().Sub(start)
	t := n.opts.Clock.AfterFunc(max(0, min(n.opts.Beat, left/2)), n.cutBeat)
	n.loops.Wait()
	t.Stop()
	n.cutBeat()
}

// lastBeat removes what the node has in the store, or leaves a beat that says closed when a
// session is left. Either write may be lost: then the beat grows old, and the verdict comes
// by age.
func (n *Node) lastBeat(ctx context.Context, unfinished []Unfinished) error {
	select {
	case <-n.failed:
		return nil // what stands there is another process's
	default:
	}
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { n.drop(ctx, notePrefix(n.id)) }) // nobody will read them
	left := slices.ContainsFunc(unfinished, func(u Unfinished) bool { return u.Stage == StageSessions })
	if !left {
		others.Go(func() { n.drop(ctx, EstatePrefix(n.id)) }) // all is done
		return n.removeOwn(ctx)
	}
	others.Go(func() { n.removeMarks(ctx) })
	err := n.beatOnce(ctx, true)
	if errors.Is(err, errAdopted) || errors.Is(err, errForgotten) || err == nil && !n.saysClosed(ctx) {
		err = n.beatOnce(ctx, true) // the store forgot, or an earlier beat was adopted
	}
	return err
}

// removeOwn removes the beat and the marks, in one call where nothing is in doubt.
func (n *Node) removeOwn(ctx context.Context) error {
	n.mu.Lock()
	p := n.mu.pulse
	n.mu.Unlock()
	if p.version == 0 || len(p.pending) > 0 {
		n.removeMarks(ctx)
		return n.removeBeat(ctx)
	}
	beat := store.Tx{{Key: n.beatKey(), Op: store.Delete, If: store.Is(p.version)}}
	errs := n.st.Fast().Commit(ctx, append(n.marksRemoved(), beat)...)
	if errors.Join(errs[:len(errs)-1]...) != nil {
		n.removeMarks(ctx)
	}
	if errs[len(errs)-1] != nil {
		return n.removeBeat(ctx)
	}
	return nil
}

// removeBeat removes the beat record, whichever of this node's beats it is: one may have been
// on its way when the loops ended.
func (n *Node) removeBeat(ctx context.Context) error {
	for {
		recs, err := n.st.Fast().Get(ctx, n.beatKey())
		if err != nil {
			return fmt.Errorf("node: remove beat: %w", err)
		}
		n.mu.Lock()
		_, mine := n.mu.pulse.own(recs[0].Version)
		if !mine {
			_, mine = n.mu.pulse.wentBack(recs[0].Version)
		}
		n.mu.Unlock()
		if !mine {
			return nil // gone, or not ours
		}
		err = n.st.Fast().Commit(ctx, store.Tx{{Key: n.beatKey(), Op: store.Delete, If: store.Is(recs[0].Version)}})[0]
		if !isConflict(err) {
			if err != nil {
				return fmt.Errorf("node: remove beat: %w", err)
			}
			return nil
		}
	}
}

// removeMarks removes the marks. Nobody but this node reads them; what is left in spite of it
// is for the janitor.
func (n *Node) removeMarks(ctx context.Context) {
	for _, err := range n.st.Fast().Commit(ctx, n.marksRemoved()...) {
		if err != nil {
			n.opts.Logger.DebugContext(ctx, "mark not removed", "node", n.id, "err", err)
		}
	}
}

func (n *Node) marksRemoved() []store.Tx {
	txs := make([]store.Tx, 2)
	for slot := range txs {
		txs[slot] = store.Tx{{Key: n.markKey(slot), Op: store.Delete}}
	}
	return txs
}

// drop removes, best effort, what is left in a folder of this node's.
func (n *Node) drop(ctx context.Context, folder string) {
	r := store.Prefix(folder)
	r.Limit = maxNotes
	var txs []store.Tx
	for rec, err := range n.st.Fast().Scan(ctx, r) {
		if err != nil {
			n.opts.Logger.DebugContext(ctx, "folder not emptied", "node", n.id, "folder", folder, "err", err)
			return
		}
		txs = append(txs, store.Tx{{Key: rec.Key, Op: store.Delete, If: store.Is(rec.Version)}})
	}
	for chunk := range slices.Chunk(txs, maxTidied) {
		if err := errors.Join(n.st.Fast().Commit(ctx, chunk...)...); err != nil {
			n.opts.Logger.DebugContext(ctx, "folder not emptied", "node", n.id, "folder", folder, "err", err)
		}
	}
}

func (n *Node) saysClosed(ctx context.Context) bool {
	recs, err := n.st.Fast().Get(ctx, n.beatKey())
	if err != nil || recs[0].Missing() {
		return false
	}
	b, err := decodeBeat(recs[0].Value)
	return err == nil && b.Closed
}

// cutBy and cut let a caller's context shorten the closing that runs on its own.
func (c *closing) cutBy(cancel context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.cancel = cancel
}

func (c *closing) cut() {
	<-c.begun
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.cancel()
}
