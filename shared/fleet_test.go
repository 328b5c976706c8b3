package shared_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/shared"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fleet is several nodes on one memory, each behind faults of its own.
type fleet struct {
	t      *testing.T
	engine *memstore.Engine
	raw    *store.Store
}

// server is a node with shared documents.
type server struct {
	*shared.Documents
	t      *testing.T
	node   *node.Node
	faults *faultstore.Faults
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(&memstore.Options{Apart: true})
		raw, err := e.Store()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = raw.Close(context.Background()) })
		test(t, &fleet{t: t, engine: e, raw: raw})
	})
}

func (f *fleet) start(name string, o *shared.Options) *server {
	f.t.Helper()
	return f.startWith(&node.Options{Name: name}, o)
}

func (f *fleet) startWith(no *node.Options, o *shared.Options) *server {
	f.t.Helper()
	faults := faultstore.New(&faultstore.Options{KeepLate: true})
	st, err := store.New(faults.Wrap(f.engine.Parts()))
	if err != nil {
		f.t.Fatal(err)
	}
	no.Logger = slog.New(slog.DiscardHandler)
	n, err := node.Start(f.t.Context(), st, no)
	if err != nil {
		f.t.Fatal(err)
	}
	d, err := shared.New(n, "guilds", o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		faults.SetRule(nil)
		_, _ = n.Close(context.Background())
		_ = st.Close(context.Background())
	})
	return &server{Documents: d, t: f.t, node: n, faults: faults}
}

func storeKey(key string) string { return "shared/guilds/" + key }

// about matches the calls that concern a document.
func about(key string) func(faultstore.Call) bool {
	return func(c faultstore.Call) bool { return len(c.Keys) > 0 && c.Keys[0] == storeKey(key) }
}

// writesTo matches the writes of a document.
func writesTo(key string) func(faultstore.Call) bool {
	return func(c faultstore.Call) bool { return c.Write && about(key)(c) }
}

func (f *fleet) stored(key string) store.Record {
	f.t.Helper()
	recs, err := f.raw.Durable().Get(context.Background(), storeKey(key))
	if err != nil {
		f.t.Fatal(err)
	}
	return recs[0]
}

func (f *fleet) plant(key, value string) {
	f.t.Helper()
	w := store.Write{Key: storeKey(key), Op: store.Put, Value: []byte(value), Version: store.Version(len(value)*1000 + 7)}
	if err := f.raw.Durable().Commit(context.Background(), store.Tx{w})[0]; err != nil {
		f.t.Fatal(err)
	}
}

// count is the document's counter, 0 when there is none.
func count(v doc.Value) int64 {
	c, _, _ := v.Lookup("/n")
	n, _ := c.AsInt()
	return n
}

// add adds to the counter of a document, or ends the test.
func (s *server) add(key, id string) shared.Document {
	s.t.Helper()
	out, err := s.Transact(s.t.Context(), key, shared.Source{ID: id}, doc.Increment("/n", 1))
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *server) read(key string) shared.Document {
	s.t.Helper()
	out, err := s.Read(s.t.Context(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func next(t *testing.T, w *shared.Watch) shared.Document {
	t.Helper()
	out, err := w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}
