package pgstore

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// Equal messages that are sent together all arrive, each in its place: PostgreSQL drops all but
// the first of equal notifications of a transaction.
func TestEqualMessagesOfAGroupArrive(t *testing.T) {
	sendTogether(t, "on", "off", "on", "on", "end")
}

// Messages that go through the table arrive in the order in which they were sent, too.
func TestLargeMessagesOfAGroupKeepTheirOrder(t *testing.T) {
	var sent []string
	for i := range 100 {
		sent = append(sent, strings.Repeat("x", maxNotify)+strconv.Itoa(i))
	}
	sendTogether(t, append(sent, "end"+strings.Repeat("x", maxNotify))...)
}

// sendTogether sends messages in one group, and wants them to arrive like that.
func sendTogether(t *testing.T, sent ...string) {
	t.Helper()
	url := enginetest.Postgres(t).URL(enginetest.Schema(t))
	var buses [2]*bus
	for i := range buses {
		buses[i] = openEngine(t, url).bus
	}
	in := make(chan string, len(sent))
	s, err := buses[1].Subscribe(t.Context(), "topic", func(payload []byte) { in <- string(payload) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var group []outgoing
	for _, payload := range sent {
		group = append(group, outgoing{"topic", []byte(payload)})
	}
	if _, err := buses[0].send(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "end") {
		got = append(got, <-in)
	}
	if !slices.Equal(got, sent) {
		t.Errorf("%d arrived, %d were sent, or in another order: %.300q", len(got), len(sent), got)
	}
}
