package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
)

// watched is a store over a spy.
func watched(t *testing.T, s *spy) *store.Store {
	t.Helper()
	st, err := store.New(store.Parts{Durable: spyRecords{s}, Boards: spyBoards{s}, Bus: spyBus{s}})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// refused is a malformed call: what it answers, and the field it must name.
type refused struct {
	name  string
	call  func(context.Context, *store.Store) error
	word  error
	field string
}

// check makes each call and fails when it is not refused, names another field, or reaches
// the driver.
func check(t *testing.T, cases []refused) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := &spy{multiKey: true}
			err := c.call(t.Context(), watched(t, s))
			if !errors.Is(err, c.word) || store.OutcomeOf(err) != store.NotDone {
				t.Errorf("it answers %v, want %v", err, c.word)
			}
			invalid, ok := errors.AsType[*store.InvalidError](err)
			if !ok || invalid.Field != c.field || !strings.Contains(err.Error(), c.field) {
				t.Errorf("it answers %v, which does not name the field %s", err, c.field)
			}
			if len(s.calls) > 0 {
				t.Errorf("the driver saw %q", s.calls)
			}
		})
	}
}

// keyCases is a bad key in every way, for a call that takes one.
func keyCases(name string, field string, limit int, call func(ctx context.Context, s *store.Store, key string) error) []refused {
	var cases []refused
	for problem, key := range map[string]string{
		"empty":     "",
		"long":      strings.Repeat("k", limit+1),
		"space":     "a b",
		"newline":   "a\n",
		"zero":      "a\x00b",
		"delete":    "a\x7f",
		"not ASCII": "žralok",
		"not UTF-8": "a\xff",
		"first":     " a",
	} {
		cases = append(cases, refused{
			name: name + " " + problem, word: store.ErrInvalid, field: field,
			call: func(ctx context.Context, s *store.Store) error { return call(ctx, s, key) },
		})
	}
	return cases
}

// distinct is n keys that are all different.
func distinct(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key/%d", i)
	}
	return keys
}

func get(ctx context.Context, s *store.Store, keys ...string) error {
	_, err := s.Durable().Get(ctx, keys...)
	return err
}

func TestMalformedGetIsRefused(t *testing.T) {
	cases := keyCases("key", "keys[1]", store.MaxKey, func(ctx context.Context, s *store.Store, key string) error {
		return get(ctx, s, "good", key, "fine")
	})
	for i, n := range []int{2, 8, 9, 100} {
		keys := distinct(n)
		cases = append(cases, refused{
			name: fmt.Sprintf("twice among %d", n), word: store.ErrInvalid, field: fmt.Sprintf("keys[%d]", n),
			call: func(ctx context.Context, s *store.Store) error { return get(ctx, s, append(keys, keys[i])...) },
		})
	}
	check(t, append(cases, refused{
		name: "too many", word: store.ErrTooLarge, field: "keys",
		call: func(ctx context.Context, s *store.Store) error { return get(ctx, s, distinct(store.MaxGetKeys+1)...) },
	}))
}

func scan(ctx context.Context, s *store.Store, r store.Range) error {
	var errs []error
	n := 0
	for _, err := range s.Durable().Scan(ctx, r) {
		errs = append(errs, err)
		n++
	}
	if n != 1 {
		return fmt.Errorf("the sequence yields %d times", n)
	}
	return errs[0]
}

func TestMalformedScanIsRefused(t *testing.T) {
	long := strings.Repeat("k", store.MaxKey+1)
	var cases []refused
	for name, r := range map[string]store.Range{"from": {From: long}, "to": {To: long}} {
		cases = append(cases, refused{name, func(ctx context.Context, s *store.Store) error { return scan(ctx, s, r) }, store.ErrInvalid, "range"})
	}
	check(t, append(cases, refused{
		"limit", func(ctx context.Context, s *store.Store) error { return scan(ctx, s, store.Range{Limit: -1}) }, store.ErrInvalid, "range.limit",
	}))
}

// put, remove and assert are well-formed writes.
func put(key string) store.Write {
	return store.Write{Key: key, Op: store.Put, Value: []byte("v"), Version: 7}
}

func remove(key string) store.Write { return store.Write{Key: key, Op: store.Delete} }

func assert(key string) store.Write {
	return store.Write{Key: key, Op: store.Check, If: store.Is(7)}
}

// with is the write changed by f.
func with(w store.Write, f func(*store.Write)) store.Write {
	f(&w)
	return w
}

func commitOne(writes ...store.Write) func(context.Context, *store.Store) error {
	return func(ctx context.Context, s *store.Store) error { return s.Durable().Commit(ctx, writes)[0] }
}

func TestMalformedWriteIsRefused(t *testing.T) {
	cases := keyCases("key", "txs[0].writes[0]", store.MaxKey, func(ctx context.Context, s *store.Store, key string) error {
		return commitOne(put(key))(ctx, s)
	})
	for name, w := range map[string]store.Write{
		"put without a value":        with(put("k"), func(w *store.Write) { w.Value = nil }),
		"put without a version":      with(put("k"), func(w *store.Write) { w.Version = 0 }),
		"put of 64 bits":             with(put("k"), func(w *store.Write) { w.Version = 1 << 63 }),
		"put of all bits":            with(put("k"), func(w *store.Write) { w.Version = math.MaxUint64 }),
		"delete with a value":        with(remove("k"), func(w *store.Write) { w.Value = []byte{} }),
		"delete with a version":      with(remove("k"), func(w *store.Write) { w.Version = 1 }),
		"check with a value":         with(assert("k"), func(w *store.Write) { w.Value = []byte("v") }),
		"check with a version":       with(assert("k"), func(w *store.Write) { w.Version = 1 }),
		"check of anything":          with(assert("k"), func(w *store.Write) { w.If = store.Any() }),
		"check of absence":           with(assert("k"), func(w *store.Write) { w.If = store.Absent() }),
		"check of version 0":         with(assert("k"), func(w *store.Write) { w.If = store.Is(0) }),
		"no operation":               with(put("k"), func(w *store.Write) { w.Op = 0 }),
		"an operation of the future": with(put("k"), func(w *store.Write) { w.Op = 4 }),
	} {
		cases = append(cases,
			refused{name, commitOne(w), store.ErrInvalid, "txs[0].writes[0]"},
			refused{name + ", last", commitOne(put("a"), assert("b"), w), store.ErrInvalid, "txs[0].writes[2]"})
	}
	big := with(put("k"), func(w *store.Write) { w.Value = make([]byte, store.MaxValue+1) })
	check(t, append(cases, refused{"a large value", commitOne(put("a"), big), store.ErrTooLarge, "txs[0].writes[1]"}))
}

func TestMalformedTransactionIsRefused(t *testing.T) {
	many := make([]store.Write, store.MaxTxWrites+1)
	for i, key := range distinct(len(many)) {
		many[i] = put(key)
	}
	heavy := make([]store.Write, store.MaxTxBytes/store.MaxValue+1)
	for i, key := range distinct(len(heavy)) {
		heavy[i] = with(put(key), func(w *store.Write) { w.Value = make([]byte, store.MaxValue) })
	}
	check(t, []refused{
		{"no write", commitOne(), store.ErrInvalid, "txs[0]"},
		{"too many writes", commitOne(many...), store.ErrTooLarge, "txs[0]"},
		{"too many bytes", commitOne(heavy...), store.ErrTooLarge, "txs[0]"},
		{"a key twice", commitOne(put("a"), put("b"), remove("a")), store.ErrInvalid, "txs[0].writes[2].key"},
		{"a key checked and put", commitOne(assert("a"), put("a")), store.ErrInvalid, "txs[0].writes[1].key"},
	})
}

// The limits themselves are allowed.
func TestLargestCallsReachTheDriver(t *testing.T) {
	s := &spy{multiKey: true}
	st := watched(t, s)
	ctx := t.Context()
	longest := strings.Repeat("~", store.MaxKey)
	writes := make([]store.Write, store.MaxTxWrites)
	for i, key := range distinct(len(writes)) {
		writes[i] = put(key)
	}
	for i := range store.MaxTxBytes / store.MaxValue {
		writes[i].Value = make([]byte, store.MaxValue)
	}
	for i := store.MaxTxBytes / store.MaxValue; i < len(writes); i++ {
		writes[i].Value = []byte{}
	}
	calls := map[string]error{
		"keys":     get(ctx, st, distinct(store.MaxGetKeys)...),
		"key":      get(ctx, st, longest, "!", "~"),
		"bounds":   scan(ctx, st, store.Range{From: longest, To: longest, Limit: math.MaxInt}),
		"any byte": scan(ctx, st, store.Range{From: "\x00", To: "\xff"}),
		"publish":  st.Bus().Publish(ctx, strings.Repeat("t", store.MaxTopic), make([]byte, store.MaxPayload)),
	}
	_, calls["merge"] = st.Boards().Merge(ctx, strings.Repeat("b", store.MaxBoardName), largestBatch())
	_, calls["page"] = st.Boards().Page(ctx, "b", math.MaxInt64, store.MaxPage, store.Ordinal)
	_, calls["around"] = st.Boards().Around(ctx, "b", strings.Repeat("k", store.MaxEntryKey), (store.MaxPage-1)/2, store.Ordinal)
	_, calls["list"] = st.Boards().List(ctx, "", "", store.MaxPage)
	_, calls["create"] = st.Boards().Create(ctx, "b", store.BoardSpec{Order: store.Ascending, Generation: strings.Repeat("g", store.MaxGeneration)})
	for name, err := range calls {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i, err := range st.Durable().Commit(ctx, writes, store.Tx{with(put("max"), func(w *store.Write) { w.Version = math.MaxInt64 })}) {
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("transaction %d: %v, want the driver's answer", i, err)
		}
	}
	if len(s.calls) != len(calls)+1 {
		t.Errorf("the driver saw %d calls, want %d: %.80q", len(s.calls), len(calls)+1, s.calls)
	}
}

func largestBatch() store.Batch {
	b := store.Batch{Rule: store.Sum, Source: strings.Repeat("s", store.MaxSource), N: math.MaxInt64}
	for _, key := range distinct(store.MaxMerge) {
		b.Entries = append(b.Entries, store.Submission{Key: key, Meta: make([]byte, store.MaxMeta)})
	}
	return b
}

// The malformed transactions of a call are answered, and the others handed on, each answer
// in its place.
func TestCommitHandsOnTheGoodOnes(t *testing.T) {
	s := &spy{multiKey: true}
	st := watched(t, s)
	good := func(key string) store.Tx { return store.Tx{put(key)} }
	errs := st.Durable().Commit(t.Context(),
		good("a"),
		store.Tx{},
		good("b"),
		good("a"),                   // the key came before
		store.Tx{put(""), put("c")}, // malformed, so that c is still free
		good("c"),
		store.Tx{put("d"), put("b")}, // b came before, so that d is still free
		store.Tx{put("d"), assert("e")},
		good("e"), // checked before
	)
	want := []string{"conflict a", "invalid txs[1]", "conflict b", "invalid txs[3].writes[0].key", "invalid txs[4].writes[0]", "conflict c", "invalid txs[6].writes[1].key", "conflict d", "invalid txs[8].writes[0].key"}
	for i, err := range errs {
		got := fmt.Sprint(err)
		if conflict, ok := errors.AsType[*store.ConflictError](err); ok {
			got = "conflict " + conflict.Key
		} else if invalid, ok := errors.AsType[*store.InvalidError](err); ok {
			got = "invalid " + invalid.Field
		}
		if got != want[i] {
			t.Errorf("transaction %d: %s, want %s", i, got, want[i])
		}
	}
	if len(errs) != len(want) || len(s.commits) != 1 || len(s.commits[0]) != 4 {
		t.Errorf("%d answers, and the driver saw %v", len(errs), s.commits)
	}
}

func TestCommitOfTooManyTransactions(t *testing.T) {
	s := &spy{}
	txs := make([]store.Tx, store.MaxCommit+3)
	for i, key := range distinct(len(txs)) {
		txs[i] = store.Tx{put(key)}
	}
	for i, err := range watched(t, s).Durable().Commit(t.Context(), txs...) {
		if want := []error{store.ErrConflict, store.ErrTooLarge}[i/store.MaxCommit]; !errors.Is(err, want) {
			t.Fatalf("transaction %d: %v, want %v", i, err, want)
		}
	}
	if len(s.commits) != 1 || len(s.commits[0]) != store.MaxCommit {
		t.Errorf("the driver saw %d commits, the first of %d", len(s.commits), len(s.commits[0]))
	}
}

func TestCallsOfNothingAreDone(t *testing.T) {
	s := &spy{}
	st := watched(t, s)
	ctx := t.Context()
	if found, err := st.Durable().Get(ctx); len(found) != 0 || err != nil {
		t.Errorf("Get = %v, %v", found, err)
	}
	if errs := st.Durable().Commit(ctx); len(errs) != 0 {
		t.Errorf("Commit = %v", errs)
	}
	if changes, err := st.Boards().Merge(ctx, "b", store.Batch{Rule: store.Best}); len(changes) != 0 || err != nil {
		t.Errorf("Merge = %v, %v", changes, err)
	}
	if scores, err := st.Boards().Scores(ctx, "b"); scores == nil || len(scores) != 0 || err != nil {
		t.Errorf("Scores = %v, %v", scores, err)
	}
	if n, err := st.Boards().Erase(ctx, "b"); n != 0 || err != nil {
		t.Errorf("Erase = %d, %v", n, err)
	}
	if n, err := st.Boards().Remove(ctx, "b"); n != 0 || err != nil {
		t.Errorf("Remove = %d, %v", n, err)
	}
	if n, err := st.Boards().Hide(ctx, "b", true); n != 0 || err != nil {
		t.Errorf("Hide = %d, %v", n, err)
	}
	if len(s.calls) > 0 {
		t.Errorf("the driver saw %q", s.calls)
	}
}

// Without the ability a transaction of several keys is unsupported, whatever the keys.
func TestSeveralKeysNeedTheAbility(t *testing.T) {
	s := &spy{}
	errs := watched(t, s).Durable().Commit(t.Context(), store.Tx{put("a"), put("b")}, store.Tx{put("a")}, store.Tx{assert("c"), put("d")})
	for i, want := range []error{store.ErrUnsupported, store.ErrConflict, store.ErrUnsupported} {
		if !errors.Is(errs[i], want) {
			t.Errorf("transaction %d: %v, want %v", i, errs[i], want)
		}
	}
	if !strings.Contains(errs[0].Error(), "txs[0]") || len(s.commits) != 1 || len(s.commits[0]) != 1 {
		t.Errorf("%v; the driver saw %v", errs[0], s.commits)
	}
}

func boardCalls(ctx context.Context, s *store.Store, board, key string) map[string]error {
	b := s.Boards()
	answers := map[string]error{"drop": b.Drop(ctx, board)}
	_, answers["create"] = b.Create(ctx, board, store.BoardSpec{Order: store.Ascending, Generation: "g"})
	_, answers["merge"] = b.Merge(ctx, board, store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "k"}}})
	_, answers["page"] = b.Page(ctx, board, 0, 1, store.Ordinal)
	_, _, answers["standing"] = b.Standing(ctx, board, key, store.Ordinal)
	_, answers["around"] = b.Around(ctx, board, key, 1, store.Ordinal)
	_, answers["scores"] = b.Scores(ctx, board, key)
	_, answers["remove"] = b.Remove(ctx, board, key)
	_, answers["erase"] = b.Erase(ctx, board, key)
	_, answers["hide"] = b.Hide(ctx, board, true, key)
	_, answers["hidden"] = b.Hidden(ctx, board, "after", 1)
	_, _, answers["walk"] = b.Walk(ctx, board, store.Cursor{}, 1)
	_, answers["check"] = b.Check(ctx, board, true)
	_, answers["seal"] = b.Seal(ctx, board)
	_, answers["info"] = b.Info(ctx, board)
	return answers
}

func TestMalformedBoardNameIsRefused(t *testing.T) {
	var cases []refused
	for name := range boardCalls(t.Context(), watched(t, &spy{}), "b", "k") {
		cases = append(cases, keyCases(name, "board", store.MaxBoardName, func(ctx context.Context, s *store.Store, board string) error {
			return boardCalls(ctx, s, board, "k")[name]
		})...)
	}
	check(t, cases)
}

func TestMalformedEntryKeyIsRefused(t *testing.T) {
	for name, field := range map[string]string{"standing": "key", "around": "key", "scores": "keys[0]", "remove": "keys[0]", "erase": "keys[0]", "hide": "keys[0]"} {
		for _, key := range []string{"", "a b", "\x7f", strings.Repeat("k", store.MaxEntryKey+1)} {
			s := &spy{}
			err := boardCalls(t.Context(), watched(t, s), "b", key)[name]
			invalid, ok := errors.AsType[*store.InvalidError](err)
			if !ok || invalid.Field != field || !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%s of %.10q = %v, want %s refused", name, key, err, field)
			}
			for _, call := range s.calls {
				if strings.HasPrefix(call, name+" ") {
					t.Errorf("the driver saw %q", call)
				}
			}
		}
	}
}

// merge is a call of Merge with one entry and whatever f changes.
func merge(f func(*store.Batch)) func(context.Context, *store.Store) error {
	return func(ctx context.Context, s *store.Store) error {
		b := store.Batch{Rule: store.Sum, Source: "s", N: 1, Entries: []store.Submission{{Key: "a"}, {Key: "b"}}}
		f(&b)
		_, err := s.Boards().Merge(ctx, "board", b)
		return err
	}
}

func TestMalformedBatchIsRefused(t *testing.T) {
	cases := keyCases("key", "entries[1].key", store.MaxEntryKey, func(ctx context.Context, s *store.Store, key string) error {
		return merge(func(b *store.Batch) { b.Entries[1].Key = key })(ctx, s)
	})
	cases = append(cases, keyCases("source", "source", store.MaxSource, func(ctx context.Context, s *store.Store, source string) error {
		return merge(func(b *store.Batch) { b.Source = source })(ctx, s)
	})...)
	check(t, append(cases,
		refused{"no rule", merge(func(b *store.Batch) { b.Rule = 0 }), store.ErrInvalid, "rule"},
		refused{"a rule of the future", merge(func(b *store.Batch) { b.Rule = 4 }), store.ErrInvalid, "rule"},
		refused{"number 0", merge(func(b *store.Batch) { b.N = 0 }), store.ErrInvalid, "n"},
		refused{"a number of 64 bits", merge(func(b *store.Batch) { b.N = 1 << 63 }), store.ErrInvalid, "n"},
		refused{"a number for nothing", merge(func(b *store.Batch) { b.N, b.Entries = 0, nil }), store.ErrInvalid, "n"},
		refused{"a key twice", merge(func(b *store.Batch) { b.Entries[1].Key = "a" }), store.ErrInvalid, "entries[1].key"},
		refused{"a stamp of 64 bits", merge(func(b *store.Batch) { b.Entries[1].Stamp.Epoch = 1 << 63 }), store.ErrInvalid, "entries[1].stamp"},
		refused{"large metadata", merge(func(b *store.Batch) { b.Entries[1].Meta = make([]byte, store.MaxMeta+1) }), store.ErrTooLarge, "entries[1].meta"},
		refused{"too many entries", merge(func(b *store.Batch) {
			b.Entries = append(largestBatch().Entries, store.Submission{Key: "more"})
		}), store.ErrTooLarge, "entries"},
	))
}

func TestMalformedBoardArgumentsAreRefused(t *testing.T) {
	create := func(spec store.BoardSpec) func(context.Context, *store.Store) error {
		return func(ctx context.Context, s *store.Store) error {
			_, err := s.Boards().Create(ctx, "b", spec)
			return err
		}
	}
	page := func(offset int64, limit int) func(context.Context, *store.Store) error {
		return func(ctx context.Context, s *store.Store) error {
			_, err := s.Boards().Page(ctx, "b", offset, limit, store.Ordinal)
			return err
		}
	}
	around := func(n int) func(context.Context, *store.Store) error {
		return func(ctx context.Context, s *store.Store) error {
			_, err := s.Boards().Around(ctx, "b", "k", n, store.Ordinal)
			return err
		}
	}
	list := func(limit int) func(context.Context, *store.Store) error {
		return func(ctx context.Context, s *store.Store) error {
			_, err := s.Boards().List(ctx, "", "", limit)
			return err
		}
	}
	long := func(ctx context.Context, s *store.Store) error {
		_, err := s.Boards().List(ctx, strings.Repeat("p", store.MaxBoardName+1), "", 1)
		return err
	}
	keys := func(keys ...string) func(context.Context, *store.Store) error {
		return func(ctx context.Context, s *store.Store) error {
			_, err := s.Boards().Scores(ctx, "b", keys...)
			_, removeErr := s.Boards().Remove(ctx, "b", keys...)
			if fmt.Sprint(err) != fmt.Sprint(removeErr) {
				return fmt.Errorf("Scores = %w, Remove = %w", err, removeErr)
			}
			return err
		}
	}
	cases := keyCases("generation", "generation", store.MaxGeneration, func(ctx context.Context, s *store.Store, generation string) error {
		return create(store.BoardSpec{Order: store.Ascending, Generation: generation})(ctx, s)
	})
	check(t, append(cases,
		refused{"no order", create(store.BoardSpec{Generation: "g"}), store.ErrInvalid, "order"},
		refused{"an order of the future", create(store.BoardSpec{Order: 3, Generation: "g"}), store.ErrInvalid, "order"},
		refused{"page before the first", page(-1, 1), store.ErrInvalid, "offset"},
		refused{"page of less than nothing", page(0, -1), store.ErrInvalid, "limit"},
		refused{"page too large", page(0, store.MaxPage+1), store.ErrInvalid, "limit"},
		refused{"around less than nothing", around(-1), store.ErrInvalid, "n"},
		refused{"around too large", around(store.MaxPage / 2), store.ErrInvalid, "n"},
		refused{"list of less than nothing", list(-1), store.ErrInvalid, "limit"},
		refused{"list too large", list(store.MaxPage + 1), store.ErrInvalid, "limit"},
		refused{"list with a long prefix", long, store.ErrInvalid, "prefix"},
		refused{"too many keys", keys(distinct(store.MaxPage + 1)...), store.ErrTooLarge, "keys"},
		refused{"a key twice", keys("a", "b", "a"), store.ErrInvalid, "keys[2]"},
	))
}

func TestMalformedMessageIsRefused(t *testing.T) {
	publish := func(ctx context.Context, s *store.Store, topic string) error { return s.Bus().Publish(ctx, topic, nil) }
	subscribe := func(ctx context.Context, s *store.Store, topic string) error {
		_, err := s.Bus().Subscribe(ctx, topic, func([]byte) {})
		return err
	}
	cases := append(keyCases("publish", "topic", store.MaxTopic, publish), keyCases("subscribe", "topic", store.MaxTopic, subscribe)...)
	check(t, append(cases, refused{"a large payload", func(ctx context.Context, s *store.Store) error {
		return s.Bus().Publish(ctx, "topic", make([]byte, store.MaxPayload+1))
	}, store.ErrTooLarge, "payload"}))
}

// Well-formed calls of every kind reach the driver as they are.
func TestGoodCallsReachTheDriver(t *testing.T) {
	s := &spy{}
	st := watched(t, s)
	ctx := t.Context()
	for name, err := range boardCalls(ctx, st, "board", "key") {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := st.Bus().Subscribe(ctx, "topic", func([]byte) {}); err != nil {
		t.Error(err)
	}
	now, err := st.Durable().Now(ctx)
	if want := time.Date(2026, 8, 11, 10, 0, 0, 0, time.UTC); err != nil || now != want {
		t.Errorf("Now = %v, %v, want %v in UTC", now, err, want)
	}
	want := []string{"drop board", "create board", "merge board", "page board", "standing board key", "around board key", `scores board ["key"]`, `remove board ["key"]`, `erase board ["key"]`, `hide board true ["key"]`, `hidden board "after"`, "walk board", "check board true", "seal board", "info board", "subscribe topic", "now"}
	if !slices.Equal(s.calls, want) {
		t.Errorf("the driver saw %q, want %q", s.calls, want)
	}
}
