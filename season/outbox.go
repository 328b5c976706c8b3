package season

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// MaxOutbox is how many values (one per player and season) wait for their boards at most. When
// it is full, a session's values stay with the session and are sent in a later window; those of
// a player who has left are dropped, counted and logged, and sent when the player next loads.
const MaxOutbox = 100_000

// slot is a player's place in the outbox.
type slot struct {
	k   int64
	key string
}

// parcel is a player's values of one season on their way to the boards.
type parcel struct {
	slot
	stats  doc.Value // the season's counters, as stored
	meta   []byte    // the display name with them
	stamp  store.Stamp
	ticket uint64 // grows; says which of two parcels is newer to the outbox
	round  uint64 // how often the outbox had been cut short when the slot began to wait
	batch  *batch
}

// outbox holds the newest parcel of every slot until it is settled.
type outbox struct {
	limit int
	mu    struct {
		sync.Mutex
		parcels map[slot]parcel
		tickets uint64
		rounds  uint64
	}
}

func newOutbox(limit int) *outbox {
	o := &outbox{limit: limit}
	o.mu.parcels = make(map[slot]parcel)
	return o
}

// put adds a parcel, or replaces an older one of the same slot. It answers ErrFull when
// there is no room.
func (o *outbox) put(p parcel) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	old, found := o.mu.parcels[p.slot]
	if !found && len(o.mu.parcels) >= o.limit {
		return ErrFull
	}
	if found && old.stamp.After(p.stamp) {
		p.stats, p.meta, p.stamp = old.stats, old.meta, old.stamp
	}
	if p.round = o.mu.rounds; found {
		p.round = old.round
	}
	o.mu.tickets++
	p.ticket = o.mu.tickets
	o.mu.parcels[p.slot] = p
	return nil
}

// cutShort notes that parcels had to stay: they go before those that come from now on.
func (o *outbox) cutShort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.rounds++
}

// pending is all parcels, by season, how long they have waited, and key. They stay until
// settled.
func (o *outbox) pending() []parcel {
	o.mu.Lock()
	out := make([]parcel, 0, len(o.mu.parcels))
	for _, p := range o.mu.parcels {
		out = append(out, p)
	}
	o.mu.Unlock()
	slices.SortFunc(out, func(a, b parcel) int {
		return cmp.Or(cmp.Compare(a.k, b.k), cmp.Compare(a.round, b.round), strings.Compare(a.key, b.key))
	})
	return out
}

// settle removes a parcel that has been answered for, unless a newer one has taken its place.
func (o *outbox) settle(p parcel) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.parcels[p.slot].ticket == p.ticket {
		delete(o.mu.parcels, p.slot)
	}
}

// forget removes what waits of a player.
func (o *outbox) forget(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for at := range o.mu.parcels {
		if at.key == key {
			delete(o.mu.parcels, at)
		}
	}
}

// size is how many parcels wait.
func (o *outbox) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.mu.parcels)
}
