package profile_test

import (
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// This file holds the tests that a mutant was found to need: nothing else saw it.

// A holder that changes nothing writes nothing. Its record may be older than LeaseTimeout, and
// says nothing about it as long as its beats land (PROTOCOL.md D S5).
func TestIdleHolderIsAskedHoweverOldItsRecord(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		b := f.start("b", nil)
		a.faults.Outage(faultstore.Bus, true) // it reads the note within a second
		time.Sleep(20 * time.Minute)
		if age := f.durable(profileKey("u")).Age; age < 19*time.Minute {
			t.Fatalf("the idle record was written %v ago", age)
		}
		next := b.load("u", nil)
		<-s.Done()
		if s.Reason() != profile.HandedOver || next.Loaded().Evidence != node.NoEvidence {
			t.Errorf("the holder: %v, the newcomer: %+v", s.Reason(), next.Loaded())
		}
	})
}

// The record names this very node by a token that it does not know, and there is a journal of
// that session: the orphan is taken by the steps of a takeover.
func TestOrphanOfThisNodeIsReplayed(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		b := f.start("b", nil)
		f.plant(f.raw.Durable(), profileKey("u"), `{"format":1,"data":{"coins":2},"epoch":4,"revision":9,"schema":1,"session":{"token":"lost","node":"`+b.node.ID()+`","beating":true}}`)
		j := `{"format":1,"epoch":4,"token":"lost","base":9,"baseDigest":"` + doc.Must(map[string]any{"coins": 2}).Digest() + `","schema":1,"rev":11,"effects":{"set":{"/coins":6}}}`
		f.plant(f.raw.Fast(), "journal/players/u", j)
		next := b.load("u", nil)
		if coins(next.Data()) != 6 || next.Epoch() != 5 || next.Loaded().Evidence != node.EvidenceOrphan {
			t.Errorf("epoch %d, %v, %+v", next.Epoch(), next.Data(), next.Loaded())
		}
	})
}

// A holder that beats, does nothing, and was deaf to an ask for long enough to be robbed by
// policy: neither a save of its own nor its beats tell it. The note does.
func TestIdleHolderHearsOfATakeoverByPolicy(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		b := f.start("b", nil)
		time.Sleep(5 * time.Second)
		wronglyTaken(t, f, a, b, false)
		time.Sleep(1100 * time.Millisecond) // AskEvery, and a call
		if s.Reason() != profile.Lost {
			t.Errorf("the old holder still believes in its session: %v", s.Reason())
		}
	})
}

// Looks that fail prove nothing, however many there are: a newcomer that cannot read beats
// takes over from nobody.
func TestLooksThatFailProveNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		b := f.start("b", nil)
		time.Sleep(5 * time.Second)
		a.faults.Outage(faultstore.Bus, true)
		a.faults.SetRule(always(on("scan", "note/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		b.faults.SetRule(always(on("get", "node/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		b.fails("u", &profile.LoadOptions{Policy: profile.Wait, Wait: 20 * time.Second}, profile.ErrTimeout)
		if s.Reason() != 0 {
			t.Errorf("the holder: %v", s.Reason())
		}
	})
}
