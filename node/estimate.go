package node

import "time"

// estimateFresh is how old an estimate may be for [Node.FleetTime] to call it fresh.
const estimateFresh = time.Minute

// estimate carries the durable store's clock on the local monotonic one. Pure.
type estimate struct {
	local time.Time // local, monotonic, at the middle of the round trip
	store time.Time // the store's clock at that moment, error at most half the round trip
}

// estimateFrom makes an estimate from one round trip.
func estimateFrom(sent, answered, store time.Time) estimate {
	return estimate{local: sent.Add(answered.Sub(sent) / 2), store: store.UTC()}
}

// at is fleet time at the local time now. Without an estimate it is the local clock.
func (e estimate) at(now time.Time) (t time.Time, fresh bool) {
	if e.local.IsZero() {
		return now.UTC().Round(0), false
	}
	passed := now.Sub(e.local)
	return e.store.Add(passed), passed >= 0 && passed <= estimateFresh
}
