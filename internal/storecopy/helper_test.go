package storecopy_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/internal/storecopy"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// place is a store under test.
type place struct {
	*store.Store

	t        *testing.T
	versions uint64
}

// placeOf is a store in memory whose fast records are apart.
func placeOf(t *testing.T) *place {
	t.Helper()
	return wrapped(t, memstore.New(&memstore.Options{Apart: true}).Parts())
}

func wrapped(t *testing.T, parts store.Parts) *place {
	t.Helper()
	st, err := store.New(parts)
	if err != nil {
		t.Fatal(err)
	}
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil { // two stores never write the same version
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close(context.WithoutCancel(t.Context())) })
	return &place{Store: st, t: t, versions: binary.LittleEndian.Uint64(seed[:]) >> 24}
}

func sqlite(t *testing.T) *place {
	t.Helper()
	e, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "game"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return wrapped(t, store.Parts{Durable: e.Durable(), Fast: e.Fast(), Boards: e.Boards(), Bus: e.Bus()})
}

func TestMain(m *testing.M) { enginetest.Main(m) }

func postgres(t *testing.T) *place {
	t.Helper()
	e, err := pgstore.Open(t.Context(), enginetest.Postgres(t).URL(enginetest.Schema(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return wrapped(t, store.Parts{Durable: e.Durable(), Fast: e.Fast(), Boards: e.Boards(), Bus: e.Bus()})
}

// put writes a record over whatever is there, with a version that no other one has.
func (p *place) put(key, value string) {
	p.t.Helper()
	p.write(p.Durable(), store.Write{Key: key, Op: store.Put, Value: []byte(value)})
}

func (p *place) write(r store.Records, w store.Write) {
	p.t.Helper()
	if p.versions += 1 << 40; w.Op == store.Put {
		w.Version = store.Version(p.versions)
	}
	if err := r.Commit(p.t.Context(), store.Tx{w})[0]; err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) remove(key string) {
	p.t.Helper()
	p.write(p.Durable(), store.Write{Key: key, Op: store.Delete})
}

// free and held are profiles.
func free(coins int) string { return fmt.Sprintf(`{"format":1,"data":{"coins":%d},"epoch":3}`, coins) }

func held(by string) string {
	return fmt.Sprintf(`{"format":1,"data":{},"epoch":4,"session":{"token":"x","node":%q}}`, by)
}

// beat lets a node run on the store.
func (p *place) beat(id string) {
	p.t.Helper()
	p.write(p.Fast(), store.Write{Key: "node/" + id, Op: store.Put, Value: []byte(`{"format":1,"id":"` + id + `"}`)})
}

// still ends it.
func (p *place) still(id string) {
	p.t.Helper()
	p.write(p.Fast(), store.Write{Key: "node/" + id, Op: store.Delete})
}

// fill puts in all kinds of things.
func (p *place) fill(n int) {
	p.t.Helper()
	for i := range n {
		p.put(fmt.Sprintf("profile/players/u_%04d", i), free(i))
	}
	p.put("receipt/players/r1", `{"format":1}`)
	p.put("mail/players/u_0001/m1", `{"format":1,"kind":"gift"}`)
	p.put("audit/players/u_0001/7", `[]`)
	p.put("shared/guilds/g", `{"format":1}`)
	p.put("season/reef/C1S1/result", `{"format":1}`)
	p.put("zz/last", "not JSON")
	p.fillBoards()
}

func (p *place) fillBoards() {
	p.t.Helper()
	p.board("Kills", store.Descending, "g1")
	p.merge("Kills", entry("b", 5), entry("a", 5), entry("d", 9), entry("c", 5), entry("h", 5))
	p.hide("Kills", "h", "never")
	p.board("BestTime", store.Ascending, "g2")
	for i := range 30 {
		p.merge("BestTime", entry(fmt.Sprintf("u_%d", 31-i), int64(i%7)))
	}
	p.board("season/reef/C1S1/Fish", store.Descending, "g3")
	p.merge("season/reef/C1S1/Fish", store.Submission{Key: "a", Score: 1, Meta: []byte("Ann")})
	p.seal("season/reef/C1S1/Fish")
	p.board("Empty", store.Descending, "g4")
}

func entry(key string, score int64) store.Submission { return store.Submission{Key: key, Score: score} }

func (p *place) board(name string, order store.Order, generation string) {
	p.t.Helper()
	if _, err := p.Boards().Create(p.t.Context(), name, store.BoardSpec{Order: order, Generation: generation}); err != nil {
		p.t.Fatal(err)
	}
}

// merge stores the scores as they are.
func (p *place) merge(name string, entries ...store.Submission) {
	p.t.Helper()
	p.versions++
	for i := range entries {
		entries[i].Stamp = store.Stamp{Epoch: p.versions}
	}
	if _, err := p.Boards().Merge(p.t.Context(), name, store.Batch{Rule: store.Last, Entries: entries}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) hide(name string, keys ...string) {
	p.t.Helper()
	if _, err := p.Boards().Hide(p.t.Context(), name, true, keys...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) seal(name string) {
	p.t.Helper()
	if _, err := p.Boards().Seal(p.t.Context(), name); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) drop(name string) {
	p.t.Helper()
	if err := p.Boards().Drop(p.t.Context(), name); err != nil {
		p.t.Fatal(err)
	}
}

// picture is all of a store that a copy has to have, in words.
type picture struct {
	Records map[string]string
	Boards  map[string][]string
}

func (p *place) picture() picture {
	p.t.Helper()
	ctx := p.t.Context()
	out := picture{make(map[string]string), make(map[string][]string)}
	for rec, err := range p.Durable().Scan(ctx, store.Range{}) {
		if err != nil {
			p.t.Fatal(err)
		}
		if !bytes.HasPrefix([]byte(rec.Key), []byte("storecopy/")) {
			out.Records[rec.Key] = fmt.Sprintf("%s at %s", rec.Value, rec.Version)
		}
	}
	names, err := p.Boards().List(ctx, "", "", store.MaxPage)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range names {
		out.Boards[name] = p.boardPicture(name)
	}
	return out
}

func (p *place) boardPicture(name string) (lines []string) {
	p.t.Helper()
	ctx := p.t.Context()
	page, err := p.Boards().Page(ctx, name, 0, store.MaxPage, store.Ordinal)
	if err != nil {
		p.t.Fatal(err)
	}
	lines = append(lines, fmt.Sprintf("%s %s sealed %v, %d entries, %d hidden", page.Info.Order, page.Info.Generation, page.Info.Sealed, page.Info.Count, page.Info.Hidden))
	for _, s := range page.Entries {
		lines = append(lines, fmt.Sprintf("%d. %s %d %q", s.Rank, s.Key, s.Score, s.Meta))
	}
	hidden, err := p.Boards().Hidden(ctx, name, "", store.MaxPage)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, h := range hidden {
		lines = append(lines, fmt.Sprintf("hidden %s %v %d", h.Key, h.Scored, h.Score))
	}
	return lines
}

// wantCopy fails unless to is all of from.
func wantCopy(t *testing.T, from, to *place) {
	t.Helper()
	if diff := cmp.Diff(from.picture(), to.picture()); diff != "" {
		t.Errorf("the copy differs (-source +target):\n%s", diff)
	}
}

// findings collects what is reported.
type findings []string

func (f *findings) report(x storecopy.Finding) {
	*f = append(*f, fmt.Sprintf("%s %s%s", x.Kind, x.Key, x.Board))
}

// pass makes one pass that must not fail.
func pass(t *testing.T, o storecopy.Options) (storecopy.Sum, findings) {
	t.Helper()
	var f findings
	o.Report = f.report
	sum, err := storecopy.Copy(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return sum, f
}

// wantSum compares counts.
func wantSum(t *testing.T, got, want storecopy.Sum) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sum (-want +got):\n%s", diff)
	}
}

// all is the sum of a pass that copied a store filled with n profiles.
func all(n int, bytes int64) storecopy.Sum {
	return storecopy.Sum{
		Records: storecopy.RecordSum{Seen: n + 6, Copied: n + 6, Bytes: bytes},
		Boards:  storecopy.BoardSum{Seen: 4, Copied: 4, Entries: 37},
	}
}

// same is the sum of the pass after it.
func same(n int) storecopy.Sum {
	return storecopy.Sum{
		Records: storecopy.RecordSum{Seen: n + 6, Same: n + 6},
		Boards:  storecopy.BoardSum{Seen: 4, Same: 4},
	}
}
