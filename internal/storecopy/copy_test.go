package storecopy_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/storecopy"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// A store is copied, versions, ties, hidden keys, seals and all, from one engine to another and
// back; another pass finds nothing to do.
func TestACopyIsTheSource(t *testing.T) {
	for name, engines := range map[string][2]func(*testing.T) *place{
		"memory to memory": {placeOf, placeOf}, "memory to SQLite": {placeOf, sqlite}, "SQLite to memory": {sqlite, placeOf},
		"SQLite to PostgreSQL": {sqlite, postgres}, "PostgreSQL to memory": {postgres, placeOf},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := engines[0](t), engines[1](t)
			from.fill(600)
			dry, _ := pass(t, storecopy.Options{From: from.Store, To: to.Store, DryRun: true})
			if diff := cmp.Diff(picture{map[string]string{}, map[string][]string{}}, to.picture()); diff != "" {
				t.Errorf("a dry run has written:\n%s", diff)
			}
			sum, found := pass(t, storecopy.Options{From: from.Store, To: to.Store})
			wantSum(t, sum, all(600, sum.Records.Bytes))
			wantSum(t, dry, sum)
			wantCopy(t, from, to)
			if !sum.Complete() || len(found) > 0 || sum.Records.Bytes < 600*40 {
				t.Errorf("complete: %v, found %v", sum.Complete(), found)
			}
			sum, found = pass(t, storecopy.Options{From: from.Store, To: to.Store})
			wantSum(t, sum, same(600))
			if !sum.Complete() || len(found) > 0 {
				t.Errorf("complete: %v, found %v", sum.Complete(), found)
			}
			wantCopy(t, from, to)
		})
	}
}

// What belongs to running nodes is not copied, not even from a store with one record map.
func TestWhatBelongsToNodesStays(t *testing.T) {
	from, to := wrapped(t, memstore.New(nil).Parts()), placeOf(t)
	for _, key := range []string{"node/a", "mark/a/0", "note/a/players/u", "journal/players/u", "journaled/a/players/u", "probe/x", "pairing/fleet", "storecopy/chunk/000000000001"} {
		from.put(key, `{"format":1,"closed":true}`)
	}
	from.put("profile/players/u", free(1))
	if sum, _ := pass(t, storecopy.Options{From: from.Store, To: to.Store}); sum.Records.Copied != 1 || sum.Records.Seen != 1 {
		t.Errorf("%+v", sum.Records)
	}
}

// A profile in a session is left to a later pass, and a pass beside running nodes is not the
// last.
func TestWhatASessionHoldsWaits(t *testing.T) {
	from, to := placeOf(t), placeOf(t)
	from.put("profile/players/a", free(1))
	from.put("profile/players/b", held("eu-1"))
	from.beat("eu-1")
	sum, found := pass(t, storecopy.Options{From: from.Store, To: to.Store})
	if sum.Complete() || sum.Records.Held != 1 || !slices.Equal(sum.Nodes, []string{"eu-1"}) || !slices.Equal(found, findings{"held profile/players/b"}) {
		t.Errorf("%+v, found %v", sum, found)
	}
	from.put("profile/players/b", free(2))
	if sum, _ = pass(t, storecopy.Options{From: from.Store, To: to.Store}); sum.Complete() || sum.Waiting() != 0 {
		t.Errorf("a pass beside a running node is said to be the last: %+v", sum)
	}
	from.still("eu-1")
	if sum, _ = pass(t, storecopy.Options{From: from.Store, To: to.Store}); !sum.Complete() {
		t.Errorf("%+v", sum)
	}
	wantCopy(t, from, to)
}

// What changes at the source between passes is copied again; what it removes is removed only
// when that is asked for.
func TestLaterPassesFollowTheSource(t *testing.T) {
	from, to := sqlite(t), sqlite(t)
	from.fill(10)
	pass(t, storecopy.Options{From: from.Store, To: to.Store})
	from.put("profile/players/u_0003", free(33))
	from.put("profile/players/u_0003", free(34))
	from.put("receipt/players/r2", `{"format":1}`)
	from.remove("mail/players/u_0001/m1")
	from.merge("Kills", entry("a", 1), entry("h", 70)) // worse, and hidden
	from.merge("BestTime", entry("u_9", 3))            // ties, and comes last
	from.seal("Empty")
	from.board("New", store.Ascending, "g5")
	sum, found := pass(t, storecopy.Options{From: from.Store, To: to.Store})
	if sum.Complete() || sum.Records.Copied != 2 || sum.Records.Gone != 1 || sum.Boards.Copied != 4 || !slices.Equal(found, findings{"gone mail/players/u_0001/m1"}) {
		t.Errorf("%+v, found %v", sum, found)
	}
	from.drop("New")
	if sum, found = pass(t, storecopy.Options{From: from.Store, To: to.Store}); sum.Complete() || sum.Boards.Gone != 1 || len(found) != 2 {
		t.Errorf("%+v, found %v", sum, found)
	}
	sum, found = pass(t, storecopy.Options{From: from.Store, To: to.Store, Prune: true})
	if !sum.Complete() || sum.Records.Pruned != 1 || sum.Boards.Pruned != 1 || len(found) > 0 {
		t.Errorf("%+v, found %v", sum, found)
	}
	wantCopy(t, from, to)
	from.put("mail/players/u_0001/m1", `{"again":true}`) // what was pruned may come again
	if sum, _ = pass(t, storecopy.Options{From: from.Store, To: to.Store}); !sum.Complete() || sum.Records.Copied != 1 {
		t.Errorf("%+v", sum)
	}
	wantCopy(t, from, to)
}

// What somebody else wrote into the target, or removed there, stays so until it is overruled.
func TestTheTargetsOwnIsNotOverwritten(t *testing.T) {
	from, to := placeOf(t), placeOf(t)
	from.fill(10)
	to.put("profile/players/u_0001", free(1000)) // before the first pass
	to.board("BestTime", store.Ascending, "another")
	to.put("profile/players/only", free(1))
	to.board("Only", store.Descending, "own")
	_, found := pass(t, storecopy.Options{From: from.Store, To: to.Store})
	if !slices.Equal(found, findings{"conflict profile/players/u_0001", "conflict BestTime"}) {
		t.Errorf("found %v", found)
	}
	to.put("profile/players/u_0002", free(2000)) // a fleet plays on the target
	to.remove("mail/players/u_0001/m1")
	to.merge("Kills", entry("x", 8))
	to.drop("Empty")
	from.put("profile/players/u_0002", free(3)) // and the source goes on, too
	from.merge("Kills", entry("y", 7))
	before := to.picture()
	sum, found := pass(t, storecopy.Options{From: from.Store, To: to.Store, Prune: true})
	want := findings{"removed mail/players/u_0001/m1", "conflict profile/players/u_0001", "conflict profile/players/u_0002", "conflict BestTime", "removed Empty", "conflict Kills"}
	if sum.Complete() || sum.Refused() != 6 || !slices.Equal(found, want) || sum.Records.Foreign != 1 || sum.Boards.Foreign != 1 {
		t.Errorf("%+v, found %v", sum, found)
	}
	if diff := cmp.Diff(before, to.picture()); diff != "" {
		t.Errorf("the target was changed (-before +after):\n%s", diff)
	}
	sum, found = pass(t, storecopy.Options{From: from.Store, To: to.Store, Overwrite: true})
	if !sum.Complete() || len(found) > 0 {
		t.Errorf("%+v, found %v", sum, found)
	}
	to.remove("profile/players/only")
	to.drop("Only")
	wantCopy(t, from, to)
}

// A target that has the same without a ledger (a copy by other means) is taken as it is, and
// followed from then on.
func TestACopyByOtherMeansIsAdopted(t *testing.T) {
	e := memstore.New(&memstore.Options{Apart: true})
	from := wrapped(t, e.Parts())
	from.fill(10)
	clone := memstore.New(&memstore.Options{Apart: true})
	clone.Restore(e.Snapshot(memstore.All))
	to := wrapped(t, clone.Parts())
	sum, _ := pass(t, storecopy.Options{From: from.Store, To: to.Store})
	wantSum(t, sum, same(10))
	from.put("profile/players/u_0003", free(33))
	from.merge("Kills", entry("a", 80))
	if sum, found := pass(t, storecopy.Options{From: from.Store, To: to.Store}); !sum.Complete() || len(found) > 0 {
		t.Errorf("%+v, found %v", sum, found)
	}
	wantCopy(t, from, to)
}

// Nothing is written beside nodes of the target, into the source itself, or into what was copied
// from elsewhere.
func TestTargetsThatAreRefused(t *testing.T) {
	from, to := placeOf(t), placeOf(t)
	from.fill(3)
	to.beat("us-1")
	if _, err := storecopy.Copy(t.Context(), storecopy.Options{From: from.Store, To: to.Store}); !errors.Is(err, storecopy.ErrNodes) {
		t.Errorf("beside a node: %v", err)
	}
	if _, err := storecopy.Copy(t.Context(), storecopy.Options{From: from.Store, To: from.Store}); !errors.Is(err, storecopy.ErrSame) {
		t.Errorf("into itself: %v", err)
	}
	to.still("us-1")
	if p := to.picture(); len(p.Records)+len(p.Boards) > 0 {
		t.Errorf("something was written: %v", p)
	}
	pass(t, storecopy.Options{From: from.Store, To: to.Store})
	other := placeOf(t)
	other.fill(3)
	if _, err := storecopy.Copy(t.Context(), storecopy.Options{From: other.Store, To: to.Store, Prune: true}); !errors.Is(err, storecopy.ErrTaken) {
		t.Errorf("from another source: %v", err)
	}
	wantCopy(t, from, to)
}

// A node whose beat is old, or says that it has ended, runs no more.
func TestNodesThatHaveEnded(t *testing.T) {
	e := memstore.New(&memstore.Options{Apart: true})
	from, to := placeOf(t), wrapped(t, e.Parts())
	to.beat("old")
	e.StepClock(memstore.Fast, time.Minute)
	to.write(to.Fast(), store.Write{Key: "node/closed", Op: store.Put, Value: []byte(`{"format":1,"id":"closed","closed":true}`)})
	if sum, _ := pass(t, storecopy.Options{From: from.Store, To: to.Store}); !sum.Complete() {
		t.Errorf("%+v", sum)
	}
}

// Two copiers at once: the ledger has room for one.
func TestOneCopierAtATime(t *testing.T) {
	from, to := placeOf(t), placeOf(t)
	from.fill(600)
	nested := errors.New("the second one has not run")
	o := storecopy.Options{From: from.Store, To: to.Store}
	o.Progress = func(storecopy.Sum) {
		o.Progress = nil
		if errors.Is(nested, storecopy.ErrTaken) || nested == nil {
			return
		}
		_, nested = storecopy.Copy(t.Context(), storecopy.Options{From: from.Store, To: to.Store})
	}
	if _, err := storecopy.Copy(t.Context(), o); !errors.Is(err, storecopy.ErrTaken) || nested != nil {
		t.Errorf("%v beside a copier that ended with %v", err, nested)
	}
	wantCopy(t, from, to)
}
