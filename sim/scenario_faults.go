package sim

import (
	"bytes"
	"context"
	"time"

	"github.com/shoalworks/shoal/store"
)

// outage: every store call fails for 120 s, and one player leaves meanwhile.
func outage(f *Fleet) {
	s := f.Servers(2)
	visits := make([]*Visit, 5)
	for i := range visits {
		visits[i] = f.Join(s[i%2], f.Key(), sometimes())
	}
	for _, v := range visits {
		v.AwaitOpen()
	}
	f.sleep(10*time.Second, 60*time.Second)
	f.downFor(120*time.Second, Durable, Fast, Bus)
	f.sleep(10*time.Second, 100*time.Second)
	visits[0].Leave()
	f.sleep(0, 5*time.Second)
	w := f.Join(s[1], visits[0].Key, sometimes())
	w.AwaitOpen()
	f.Script.Sleep(30 * time.Second)
	for _, v := range visits[1:] {
		if isClosed(v.Over) {
			f.Ledger.Violated("lost in an outage", v.Key+": its session ended although nobody asked for it")
		}
	}
}

// fastOutage: the fast store is down for 10 s, and everybody comes back at once.
func fastOutage(f *Fleet) {
	s := f.Servers(3)
	visits := make([]*Visit, 6)
	for i := range visits {
		visits[i] = f.Join(s[i%3], f.Key(), sometimes())
	}
	for _, v := range visits {
		v.AwaitOpen()
	}
	f.sleep(10*time.Second, 30*time.Second)
	f.downFor(10*time.Second, Fast, Bus)
	for i, v := range visits[:3] { // three ask in the outage, or as it ends
		if i > 0 {
			f.sleep(0, 5*time.Second)
		}
		f.Join(s[(i+1)%3], v.Key, sometimes())
	}
	f.Script.Sleep(90 * time.Second)
}

// pausedHolder: the holder stops for 60 s and resumes.
func pausedHolder(f *Fleet) {
	s, key := f.Servers(2), f.Key()
	plan := Plan{Sync: 0.2, Save: 0.1}
	if f.rng.chance(0.3) {
		plan = Plan{Every: -1}
	}
	f.Join(s[0], key, plan).AwaitOpen()
	f.sleep(10*time.Second, 60*time.Second)
	f.pauseFor(s[0], time.Minute)
	f.sleep(0, 55*time.Second)
	w := f.Join(s[1], key, sometimes())
	w.AwaitOpen()
	f.Script.Sleep(70 * time.Second)
	depart(w)
}

// idleStolen: a holder who does nothing is cut off from beats, notes and messages, is robbed,
// and must learn of it.
func idleStolen(f *Fleet) {
	s, key := f.Servers(2), f.Key()
	f.Join(s[0], key, Plan{Every: -1}).AwaitOpen()
	f.sleep(10*time.Second, 60*time.Second)
	f.cutFor(s[0], 90*time.Second, Fast, Bus)
	f.sleep(0, 10*time.Second)
	w := f.Join(s[1], key, sometimes())
	w.AwaitOpen()
	f.Script.Sleep(100 * time.Second)
	depart(w)
}

// sameName: a server restarts under its name, and its players come back to it.
func sameName(f *Fleet) {
	s := f.Servers(2)
	keys := []string{f.Key(), f.Key(), f.Key()}
	for _, key := range keys {
		f.Join(s[0], key, Plan{Sync: 0.1}).AwaitOpen()
	}
	f.sleep(10*time.Second, 60*time.Second)
	f.Crash(s[0])
	f.sleep(0, 3*time.Second)
	again := f.Start("A")
	var visits []*Visit
	for i, key := range keys {
		to := again
		if i == 1 {
			to = s[1]
		}
		visits = append(visits, f.Join(to, key, sometimes()))
	}
	for _, v := range visits {
		v.AwaitOpen()
	}
	f.sleep(5*time.Second, 20*time.Second)
	for _, v := range visits {
		depart(v)
	}
}

// mixedReleases: a server with a newer schema has written a record, and one with a newer
// format another; an older server must leave them as they are.
func mixedReleases(f *Fleet) {
	old := f.Start("A")
	f.Settings.Schema = 2
	newer := f.Start("N")
	f.Script.Sleep(2 * f.Settings.Beat)

	key := f.Key()
	v := f.Join(old, key, sometimes())
	v.AwaitOpen()
	f.sleep(5*time.Second, 30*time.Second)
	w := f.Join(newer, key, Plan{Sync: 0.2}) // the newer one may take what is older
	w.AwaitOpen()
	f.sleep(10*time.Second, 30*time.Second)
	back := f.Join(old, key, Plan{How: How{Wait: 20 * time.Second}})
	if back.AwaitOpen() && w.Open() && f.Lib.Exact() {
		f.Ledger.Violated("newer schema", key+": opened by a release that does not know it")
	}
	f.Script.Sleep(5 * time.Second)
	if !isClosed(w.Over) {
		depart(w)
	}
	f.foreign(old, "later", `{"created":"2031-05-17T12:00:00.000Z","data":{"steps":7},"epoch":3,"format":99,"revision":4,"schema":1,"session":null,"updated":"2031-05-17T12:00:00.000Z"}`)
	f.foreign(newer, "strange", `{"coins":3}`)
	f.foreign(newer, "broken", `not even JSON`)
}

// foreign puts a value that a server must refuse, and leave as it is.
func (f *Fleet) foreign(s *Server, key, value string) {
	if !f.Lib.Exact() {
		return
	}
	f.Script.Do(func() {
		_ = f.records[Durable].Commit(context.Background(), store.Tx{{
			Key: recordPrefix + key, Op: store.Put, Value: []byte(value), Version: store.VersionFrom(f.rng.next()),
		}})
	})
	v := f.Join(s, key, Plan{})
	if v.AwaitOpen() {
		f.Ledger.Violated("foreign value", key+": opened")
	}
	recs, err := f.records[Durable].Get(context.Background(), recordPrefix+key)
	if err != nil || !bytes.Equal(recs[0].Value, []byte(value)) {
		f.Ledger.Violated("foreign value", key+": not left as it was")
	}
	f.Ledger.Met("foreign value")
}
