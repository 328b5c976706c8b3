package main_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// Every part of a store is looked at, when two folders play them, too.
func TestStoreCheckLooksAtEveryPart(t *testing.T) {
	x := tool{t: t, store: t.TempDir()}
	fast := t.TempDir()
	a := x.does("0 boards with 0 entries checked", "store", "check", "--fast", fast)
	for _, want := range []string{"durable  SQLite", "durable, shared, multi-key, scan", "journal_mode wal", "synchronous FULL", "synchronous NORMAL", filepath.Join(x.store, "records.db"), filepath.Join(fast, "live.db"), filepath.Join(fast, "bus"), "durable: answers, with the time of this machine"} {
		if !strings.Contains(a.out, want) {
			t.Errorf("%q is not said:\n%s", want, a.out)
		}
	}
	var sum struct {
		Parts []struct {
			Part, Engine, Version, Place string
			Write                        float64 `json:"writeSeconds"`
			Settings                     []struct{ Name, Value string }
		}
	}
	if err := json.Unmarshal([]byte(x.run("store", "check", "--json").out), &sum); err != nil || len(sum.Parts) != 4 {
		t.Fatalf("%+v, %v", sum, err)
	}
	for _, p := range sum.Parts {
		if p.Engine == "" || p.Place == "" || p.Write <= 0 {
			t.Errorf("%+v", p)
		}
	}
}

// A store that keeps nothing safe is a danger, and the exit code says so.
func TestStoreCheckFailsOnDanger(t *testing.T) {
	x := tool{t: t, store: "memory:"}
	a := x.run("store", "check")
	if a.code != 1 || !strings.Contains(a.out, "durable: DANGER: what is kept here does not survive") || !strings.Contains(a.err, "1 danger") {
		t.Errorf("exit %d\n%s%s", a.code, a.out, a.err)
	}
	if a := x.run("store", "check", "--json"); a.code != 1 || !strings.Contains(a.out, `"danger":true`) {
		t.Errorf("exit %d\n%s%s", a.code, a.out, a.err)
	}
}
