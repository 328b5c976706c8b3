package chaos

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/shoalworks/shoal/clock"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
)

// season is the competition that is played; its seasons last for seasonLength.
const (
	season       = "reef"
	seasonLength = 30 * time.Second
)

// catch counts an event in the season that runs, and answers which that is.
func (a *api) catch(ctx context.Context, key string) (number int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := a.season.Record(ctx, &shoalv1.SeasonRecordRequest{Season: season, Set: set, Key: key, Event: "catch"})
	if err != nil {
		return 0, err
	}
	return seasonNumber(res.GetId()), nil
}

// seasonNumber counts seasons from 1; 0 is none. All seasons are in one cycle.
func seasonNumber(id string) int64 {
	_, text, _ := strings.Cut(id, "S")
	n, _ := strconv.ParseInt(text, 10, 64) // 0 when it is no id
	return n
}

func seasonID(number int64) string { return fmt.Sprintf("C1S%d", number) }

// result is the fingerprint of a closed season's result; ok is false when it is not closed.
func (a *api) result(ctx context.Context, number int64) (digest string, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := a.season.Results(ctx, &shoalv1.SeasonResultsRequest{Season: season, Id: seasonID(number)})
	switch {
	case reason(err) == "no_result":
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(res)
	if err != nil {
		return "", false, fmt.Errorf("chaos: result: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), true, nil
}

// running is the number of the season that runs.
func (a *api) running(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := a.season.Current(ctx, &shoalv1.SeasonCurrentRequest{Season: season})
	return res.GetCurrent().GetNumber(), err
}

// watchResults reads the results of all seasons again and again, from all daemons.
func (w *world) watchResults(ctx context.Context) {
	for i := 0; clock.Sleep(ctx, clock.System(), time.Second) == nil; i++ {
		m := w.members[i%len(w.members)]
		now, err := m.api.running(ctx)
		if err != nil {
			continue
		}
		for n := int64(1); n < now; n++ {
			if digest, ok, err := m.api.result(ctx, n); err == nil && ok {
				w.ledger.Result(seasonID(n), digest)
			}
		}
	}
}

// auditResults has every daemon answer the results of all seasons that had been closed: each is
// there and is the same.
func (w *world) auditResults(ctx context.Context) error {
	for _, id := range w.ledger.Results() {
		for _, m := range w.members {
			err := again(ctx, func() error {
				digest, ok, err := m.api.result(ctx, seasonNumber(id))
				if err == nil && ok {
					w.ledger.Result(id, digest)
				}
				if err == nil && !ok {
					w.ledger.Violate(id, "its result has vanished")
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("result of %s: %w", id, err)
			}
		}
	}
	return nil
}

// Result notes what somebody has read of a closed season. It never changes.
func (l *Ledger) Result(id, digest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, known := l.mu.results[id]
	if known && before != digest {
		l.violateLocked(id, "its result has changed")
	}
	if !known {
		l.mu.results[id] = digest
		l.mu.tally.Seasons++
	}
}

// Results are the seasons whose results were read.
func (l *Ledger) Results() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]string, 0, len(l.mu.results))
	for id := range l.mu.results {
		out = append(out, id)
	}
	return out
}

// Caught notes in which season an event of the session was counted.
func (t *Tenure) Caught(number int64) {
	l := t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if number < t.season {
		l.violateLocked(t.key, "epoch %d counts in season %d after season %d", t.found.Epoch, number, t.season)
	}
	t.season = number
}

// seasonLocked checks what a profile says of seasons: it does not go back, and every title was
// paid once.
func (l *Ledger) seasonLocked(key string, before *Tenure, f Found) {
	if before != nil && f.Season < before.found.Season {
		l.violateLocked(key, "epoch %d is in season %d, epoch %d began in season %d", f.Epoch, f.Season, before.found.Epoch, before.found.Season)
	}
	l.mu.tally.Titles += int(f.Titles)
	if before != nil {
		l.mu.tally.Titles -= int(before.found.Titles)
	}
	if f.Prizes != f.Titles {
		l.violateLocked(key, "epoch %d has %d titles and %d prizes", f.Epoch, f.Titles, f.Prizes)
	}
}
