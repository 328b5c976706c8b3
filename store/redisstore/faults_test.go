package redisstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// A journal, a beat and a note: each kind of record goes its own way.
const (
	journal = "journal/players/u1"
	beat    = "node/n1"
	note    = "note/n1/players/u1"
)

func kinds() []string { return []string{journal, beat, note} }

// put writes value under key with version.
func put(key, value string, version store.Version, c store.Condition) store.Tx {
	return store.Tx{{Key: key, Op: store.Put, Value: []byte(value), Version: version, If: c}}
}

func remove(key string, c store.Condition) store.Tx {
	return store.Tx{{Key: key, Op: store.Delete, If: c}}
}

func check(key string, v store.Version) store.Tx {
	return store.Tx{{Key: key, Op: store.Check, If: store.Is(v)}}
}

// commit runs one transaction.
func commit(ctx context.Context, r store.Records, tx store.Tx) error { return r.Commit(ctx, tx)[0] }

// must runs transactions that have to be done.
func must(t *testing.T, r store.Records, txs ...store.Tx) {
	t.Helper()
	for i, err := range r.Commit(t.Context(), txs...) {
		if err != nil {
			t.Fatalf("commit %s: %v", txs[i][0].Key, err)
		}
	}
}

// get reads one record.
func get(t *testing.T, r store.Records, key string) store.Record {
	t.Helper()
	found, err := r.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

// within bounds what must come.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), storetest.Patience)
	t.Cleanup(cancel)
	return ctx
}

// again runs do until it is done: what the servers do not take for a while must be taken
// when they are back. It returns the errors on the way.
func again(t *testing.T, what string, do func() error) (failures []error) {
	t.Helper()
	ctx := within(t)
	for {
		err := do()
		if err == nil {
			return failures
		}
		if failures = append(failures, err); ctx.Err() != nil {
			t.Fatalf("%s: still %v", what, err)
		}
	}
}

// ask sends the server a command of an operator.
func ask(t *testing.T, r *engines.Redis, args ...string) any {
	t.Helper()
	answer, err := r.Do(t.Context(), args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return answer
}

// The server forgets everything, by command or by a restart: what was there is absent, and
// nothing that a writer still believes can overwrite what comes after.
func TestMemoryIsLost(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	r := open(t, server.URL("p"), nil).Fast()
	for round, lose := range []func(){
		func() { ask(t, server, "FLUSHALL") },
		func() {
			if err := errors.Join(server.Kill(), server.Start(t.Context())); err != nil {
				t.Fatal(err)
			}
		},
	} {
		v := store.Version(10*round + 1)
		for _, key := range kinds() {
			must(t, r, put(key, "old", v, store.Any()))
		}
		lose()
		for _, key := range kinds() {
			again(t, "read after the loss", func() error { _, err := r.Get(t.Context(), key); return err })
			if rec := get(t, r, key); !rec.Missing() {
				t.Fatalf("round %d: %+v is still there", round, rec)
			}
			if err := commit(t.Context(), r, put(key, "blind", v+1, store.Is(v))); !errors.Is(err, store.ErrConflict) {
				t.Fatalf("round %d: a write over what was lost answers %v", round, err)
			}
			must(t, r, put(key, "new", v+2, store.Absent()))
		}
		for rec, err := range r.Scan(t.Context(), store.Prefix("note/")) {
			if err != nil || string(rec.Value) != "new" {
				t.Fatalf("round %d: the notes have %+v, %v", round, rec, err)
			}
		}
	}
}

// A server that comes back with an older memory is what a fail-over to a replica that lagged
// looks like: versions that were written since are unknown to it.
func TestMemoryGoesBackInTime(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	r := open(t, server.URL("p"), nil).Fast()
	for _, key := range kinds() {
		must(t, r, put(key, "kept", 1, store.Absent()))
	}
	if err := server.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range kinds() {
		must(t, r, put(key, "lost", 2, store.Is(1)))
	}
	if err := errors.Join(server.Kill(), server.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, key := range kinds() {
		again(t, "read", func() error { _, err := r.Get(t.Context(), key); return err })
		if rec := get(t, r, key); rec.Version != 1 || string(rec.Value) != "kept" {
			t.Fatalf("%+v, want what was kept", rec)
		}
		if err := commit(t.Context(), r, put(key, "on", 3, store.Is(2))); !errors.Is(err, store.ErrConflict) {
			t.Fatalf("a write over what was lost answers %v", err)
		}
		must(t, r, put(key, "on", 3, store.Is(1)))
	}
}

// While the server is down a write is not done, and none is reported done that is not there.
func TestServerIsDown(t *testing.T) {
	server := enginetest.OwnRedis(t, &engines.RedisOptions{AppendOnly: true})
	r := open(t, server.URL("p"), nil).Fast()
	must(t, r, put(journal, "v", 1, store.Absent()), put(beat, "v", 1, store.Absent()), put(note, "v", 1, store.Absent()))
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	for i, key := range kinds() {
		// The first calls may still find the old connection, and cannot know.
		for n := store.Version(2); ; n++ {
			err := commit(t.Context(), r, put(key, "down", n, store.Is(1)))
			if errors.Is(err, store.ErrUnavailable) {
				break
			}
			if !errors.Is(err, store.ErrUnknown) || n > 100 {
				t.Fatalf("a write to a server that is down answers %v", err)
			}
		}
		if _, err := r.Get(t.Context(), key); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("kind %d: a read from a server that is down answers %v", i, err)
		}
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range kinds() {
		again(t, "write", func() error { return commit(t.Context(), r, put(key, "up", 1000, store.Is(1))) })
	}
}

// sent is how often the server has run scripts.
func sent(t *testing.T, server *engines.Redis) (n int) {
	t.Helper()
	info, _ := ask(t, server, "INFO", "commandstats").(string)
	for line := range strings.Lines(info) {
		var calls int
		for _, name := range []string{"evalsha", "eval"} {
			if _, err := fmt.Sscanf(line, "cmdstat_"+name+":calls=%d,", &calls); err == nil {
				n += calls
			}
		}
	}
	return n
}

// The answer to a write is lost with the connection: it has happened, and we say that we do
// not know. It is not sent again.
func TestAnswersAreLost(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	proxy := enginetest.Proxy(t, server.Addr())
	r, other := open(t, server.URLAt(proxy.Addr(), "p"), &redisstore.Options{Connections: 1}).Fast(), open(t, server.URL("p"), nil).Fast()
	for _, key := range kinds() {
		must(t, r, put(key, "first", 1, store.Absent()), put(key+"x", "first", 1, store.Absent()))
		get(t, other, key) // so that the server knows the scripts
		before := sent(t, server)
		lost := proxy.DropAnswers()
		done := make(chan error, 1)
		go func() { done <- commit(t.Context(), r, put(key, "second", 2, store.Is(1))) }()
		<-lost
		proxy.Heal() // it breaks the connection, and the next one is good
		if err := <-done; !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("%s: a write whose answer was lost answers %v", key, err)
		}
		if rec := get(t, other, key); rec.Version != 2 {
			t.Fatalf("%s: the write did not happen: %+v", key, rec)
		}
		if n := sent(t, server) - before; n != 2 { // the write, and this Get
			t.Fatalf("%s: %d scripts have run, want the write and a read", key, n)
		}
		again(t, "read", func() error { _, err := r.Get(t.Context(), key); return err })
	}
}

// The answers to reads are lost: a read is not done, and never unknown.
func TestAnswersToReadsAreLost(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	proxy := enginetest.Proxy(t, server.Addr())
	r := open(t, server.URLAt(proxy.Addr(), "p"), nil).Fast()
	must(t, r, put(journal, "v", 1, store.Absent()))
	proxy.DropAnswers()
	for what, read := range map[string]func(context.Context) error{
		"get": func(ctx context.Context) error { _, err := r.Get(ctx, journal); return err },
		"now": func(ctx context.Context) error { _, err := r.Now(ctx); return err },
		"scan": func(ctx context.Context) error {
			for _, err := range r.Scan(ctx, store.Prefix("note/")) {
				return err
			}
			return nil
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := read(ctx); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s whose answer is lost answers %v", what, err)
		}
		cancel()
	}
	giveUp(t, r, put(journal, "w", 2, store.Is(1)))
}

// giveUp sends a write to servers that do not answer, and gives it up when it was sent.
func giveUp(t *testing.T, r store.Records, tx store.Tx) {
	t.Helper()
	for patience := 50 * time.Millisecond; ; patience *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := commit(ctx, r, tx)
		cancel()
		switch {
		case errors.Is(err, store.ErrUnknown):
			return
		case !errors.Is(err, store.ErrUnavailable) || patience > storetest.Patience:
			t.Fatalf("a write that is not answered answers %v", err)
		}
	}
}

// A call that was given up may still be on the way: it must not send what the caller has
// meanwhile written into the same bytes.
func TestValueIsCopied(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	r := open(t, server.URL("p"), &redisstore.Options{Connections: 1, AnswerTimeout: storetest.Patience}).Fast()
	must(t, r, put(journal, "v", 1, store.Absent()))
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	var value []byte
	for i := range 4 { // three fill all buffers on the way, so that the last is still with us
		value = bytes.Repeat([]byte("a"), store.MaxValue)
		giveUp(t, r, store.Tx{{Key: fmt.Sprint(journal, i), Op: store.Put, Value: value, Version: 2, If: store.Any()}})
	}
	for i := range value {
		value[i] = 'b'
	}
	if err := server.Continue(); err != nil {
		t.Fatal(err)
	}
	must(t, r, put(journal, "w", 2, store.Is(1))) // behind the others
	if rec := get(t, r, journal+"3"); rec.Version != 2 || bytes.Contains(rec.Value, []byte("b")) {
		t.Fatalf("version %v, and the value is what the caller wrote later", rec.Version)
	}
}

// The server forgets the scripts while they are in use.
func TestScriptsAreForgotten(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	r := open(t, server.URL("p"), nil).Fast()
	for i := range 30 {
		v := store.Version(i + 1)
		if i%3 == 0 {
			ask(t, server, "SCRIPT", "FLUSH")
		}
		txs := []store.Tx{put("journal/a", "v", v, store.Is(v-1)), put(beat, "v", v, store.Is(v-1)), put(note, "v", v, store.Is(v-1))}
		for k := range 40 {
			txs = append(txs, put(fmt.Sprintf("journal/%d", k), "v", v, store.Is(v-1)))
		}
		must(t, r, txs...)
		if i%3 == 1 {
			ask(t, server, "SCRIPT", "FLUSH")
		}
		found, err := r.Get(t.Context(), "journal/a", beat, note, "journal/7")
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range found {
			if rec.Version != v {
				t.Fatalf("round %d: %+v", i, rec)
			}
		}
	}
}

// A server without room refuses journals and notes as a whole; beats, reads and deletes go on.
func TestMemoryIsFull(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	r := open(t, server.URL("p"), nil).Fast()
	must(t, r, put(journal, "v", 1, store.Absent()), put(note, "v", 1, store.Absent()), put(beat, "v", 1, store.Absent()))
	ask(t, server, "CONFIG", "SET", "maxmemory", "1")
	for _, tx := range []store.Tx{
		put(journal, "w", 2, store.Is(1)), put("journal/new", "w", 2, store.Absent()), put(note, "w", 2, store.Is(1)), put("note/n2/new", "w", 2, store.Any()),
	} {
		err := commit(t.Context(), r, tx)
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrTooLarge) {
			t.Errorf("a full server answers a write of %s %v, want not done for now", tx[0].Key, err)
		}
	}
	for _, key := range []string{journal, note} {
		if rec := get(t, r, key); rec.Version != 1 {
			t.Errorf("a refused write changed %+v", rec)
		}
	}
	n := 0
	for rec, err := range r.Scan(t.Context(), store.Prefix("note/")) {
		if n++; err != nil || rec.Version != 1 {
			t.Errorf("a full server lists %+v, %v", rec, err)
		}
	}
	if n != 1 {
		t.Errorf("a full server lists %d notes, want 1", n)
	}
	must(t, r, put(beat, "w", 2, store.Is(1)), put("mark/n1/0", "w", 2, store.Any()), check(beat, 2), remove(note, store.Is(1)), remove(journal, store.Is(1)))
	ask(t, server, "CONFIG", "SET", "maxmemory", "0")
	must(t, r, put(journal, "w", 3, store.Absent()))
}

// A master that has become a replica takes no write, and shows nothing: what it has is old.
func TestReplicaIsNotRead(t *testing.T) {
	server, master := enginetest.OwnRedis(t, nil), enginetest.OwnRedis(t, nil)
	e := open(t, server.URL("p"), nil)
	r := e.Fast()
	must(t, r, put(journal, "v", 1, store.Absent()), put(beat, "v", 1, store.Absent()), put(note, "v", 1, store.Absent()))
	host, port, _ := strings.Cut(master.Addr(), ":")
	ask(t, server, "REPLICAOF", host, port)
	for _, key := range kinds() {
		if _, err := r.Get(t.Context(), key); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a replica shows %s: %v", key, err)
		}
		for _, tx := range []store.Tx{put(key, "w", 2, store.Any()), remove(key, store.Any()), check(key, 1)} {
			if err := commit(t.Context(), r, tx); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("a replica answers a write of %s: %v", key, err)
			}
		}
	}
	for _, err := range r.Scan(t.Context(), store.Prefix("note/")) {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a replica lists notes: %v", err)
		}
	}
	if _, err := r.Now(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a replica tells the time: %v", err)
	}
	if _, err := redisstore.Open(t.Context(), server.URL("p"), nil); !errors.Is(err, redisstore.ErrReplica) {
		t.Errorf("a replica is opened: %v", err)
	}
	ask(t, server, "REPLICAOF", "NO", "ONE")
	must(t, r, put(journal, "w", 3, store.Any()))
}

// The server's clock was set back since a record was written: its Age is 0, never less.
func TestClockStepsBack(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	r := open(t, server.URL("p"), nil).Fast()
	now, err := r.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ ahead, least, most time.Duration }{
		{time.Hour, 0, 0}, {-time.Hour, time.Hour, time.Hour + storetest.Patience},
	} {
		at := now.Add(c.ahead)
		frame := binary.BigEndian.AppendUint64(nil, 7)
		frame = binary.BigEndian.AppendUint32(frame, uint32(at.Unix()))
		frame = binary.BigEndian.AppendUint32(frame, uint32(at.Nanosecond()/1000))
		ask(t, server, "SET", "p:r:"+journal, string(frame)+"value")
		if rec := get(t, r, journal); rec.Version != 7 || string(rec.Value) != "value" || rec.Age < c.least || rec.Age > c.most {
			t.Errorf("written %v from now: %+v, want an Age from %v to %v", c.ahead, rec, c.least, c.most)
		}
	}
}

// What stands under a key of ours and is not ours is an error, and is not overwritten.
func TestForeignValues(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	r := open(t, server.URL("p"), nil).Fast()
	ask(t, server, "SET", "p:r:short", "x")
	ask(t, server, "RPUSH", "p:r:list", "x")
	for _, key := range []string{"short", "list"} {
		if _, err := r.Get(t.Context(), key); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := commit(t.Context(), r, put("list", "v", 1, store.Any())); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a list is overwritten: %v", err)
	}
	// Another write that is sent with it is done.
	errs := r.Commit(t.Context(), put("before", "v", 1, store.Any()), put("list", "v", 1, store.Any()), put("after", "v", 1, store.Any()))
	if errs[0] != nil || !errors.Is(errs[1], store.ErrUnavailable) || errs[2] != nil || get(t, r, "after").Version != 1 {
		t.Errorf("a list among others: %v", errs)
	}
	if n := ask(t, server, "LLEN", "p:r:list"); n != int64(1) {
		t.Errorf("the list has %v elements, want 1", n)
	}
}

// What is deleted is gone from a family as a whole: its keys come and go with its records, and
// a name that somebody has left there by hand is no record.
func TestFamilyIsEmptied(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	r := open(t, server.URL("p"), nil).Fast()
	for _, key := range []string{note, beat, "mark/n1/0", "journaled/n1/players/u1"} {
		must(t, r, put(key, "v", 1, store.Absent()), put(key+"x", "v", 1, store.Absent()))
		must(t, r, remove(key, store.Is(1)), remove(key+"x", store.Any()), remove(key+"y", store.Any()))
	}
	if left, ok := ask(t, server, "KEYS", "*").([]any); !ok || len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	must(t, r, put("note/n1/a", "v", 1, store.Absent()), put("note/n1/b", "v", 1, store.Absent()))
	ask(t, server, "HDEL", "p:{p.notes}:note/values", "n1/a")
	for rec, err := range r.Scan(t.Context(), store.Range{From: "note/", To: "note0", Limit: 1}) {
		if err != nil || rec.Key != "note/n1/b" {
			t.Errorf("it lists %+v, %v", rec, err)
		}
	}
}
