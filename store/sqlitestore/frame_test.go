package sqlitestore_test

import (
	"bytes"
	"testing"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

func FuzzFrame(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(sqlitestore.EncodeFrame("topic", []byte("payload")))
	f.Add([]byte{1, 0, 0})
	f.Add([]byte{2, 0, 1, 'x'})
	f.Fuzz(func(t *testing.T, in []byte) {
		topic, payload, ok := sqlitestore.DecodeFrame(in)
		if ok && !bytes.Equal(in, sqlitestore.EncodeFrame(topic, payload)) {
			t.Fatalf("%x became topic %q, payload %x", in, topic, payload)
		}
		if ok && (topic == "" || len(topic) > store.MaxTopic || len(payload) > store.MaxPayload) {
			t.Fatalf("a frame over the limits was taken: %d and %d bytes", len(topic), len(payload))
		}
	})
}

func TestFramesOfAnySize(t *testing.T) {
	for _, n := range []int{0, 1, store.MaxPayload} {
		for _, m := range []int{1, store.MaxTopic} {
			topic, payload := string(bytes.Repeat([]byte{'t'}, m)), bytes.Repeat([]byte{'p'}, n)
			frame := sqlitestore.EncodeFrame(topic, payload)
			gotTopic, gotPayload, ok := sqlitestore.DecodeFrame(frame)
			if !ok || gotTopic != topic || !bytes.Equal(gotPayload, payload) || len(frame) > sqlitestore.FrameMost {
				t.Fatalf("topic of %d and payload of %d bytes do not come through", m, n)
			}
		}
	}
}

// A result code means something else before COMMIT than during it.
func TestSentinels(t *testing.T) {
	for _, c := range []struct {
		code               int
		before, committing error
	}{
		{1, store.ErrUnavailable, store.ErrUnknown},      // error
		{5, store.ErrUnavailable, store.ErrUnavailable},  // busy
		{6, store.ErrUnavailable, store.ErrUnavailable},  // locked
		{7, store.ErrUnavailable, store.ErrUnknown},      // out of memory
		{10, store.ErrUnavailable, store.ErrUnknown},     // I/O error
		{11, store.ErrUnavailable, store.ErrUnknown},     // corrupt
		{13, store.ErrUnavailable, store.ErrUnavailable}, // disk full, which passes
		{18, store.ErrTooLarge, store.ErrTooLarge},       // too big
		{0, store.ErrUnavailable, store.ErrUnknown},      // not the engine's
	} {
		if got := sqlitestore.Sentinel(c.code, false); got != c.before { //nolint:errorlint // the sentinel itself
			t.Errorf("code %d before COMMIT: %v, want %v", c.code, got, c.before)
		}
		if got := sqlitestore.Sentinel(c.code, true); got != c.committing { //nolint:errorlint // the sentinel itself
			t.Errorf("code %d during COMMIT: %v, want %v", c.code, got, c.committing)
		}
	}
}
