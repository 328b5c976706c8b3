package pgstore

import (
	"context"
	"slices"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// Equal messages that are sent together all arrive, each in its place: PostgreSQL drops all but
// the first of equal notifications of a transaction.
func TestEqualMessagesOfAGroupArrive(t *testing.T) {
	url := enginetest.Postgres(t).URL(enginetest.Schema(t))
	var buses [2]*bus
	for i := range buses {
		e, err := Open(t.Context(), url, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		buses[i] = e.bus
	}
	in := make(chan string, 10)
	s, err := buses[1].Subscribe(t.Context(), "topic", func(payload []byte) { in <- string(payload) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var group []outgoing
	sent := []string{"on", "off", "on", "on", "end"}
	for _, payload := range sent {
		group = append(group, outgoing{"topic", []byte(payload)})
	}
	if _, err := buses[0].send(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) == 0 || got[len(got)-1] != "end" {
		got = append(got, <-in)
	}
	if !slices.Equal(got, sent) {
		t.Errorf("%q arrived, %q were sent", got, sent)
	}
}
