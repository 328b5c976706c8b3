package redisstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// Callers on three engines write one key at a time while connections break, answers are lost,
// scripts are forgotten, and the server is killed and comes back with all that it has
// acknowledged. One order explains every answer: nothing is done twice, nothing that is called
// not done is there, and nothing that is called done is missing.
func TestHistoriesUnderFaults(t *testing.T) {
	server := enginetest.OwnRedis(t, &engines.RedisOptions{AppendOnly: true})
	proxies := []*engines.Proxy{enginetest.Proxy(t, server.Addr()), enginetest.Proxy(t, server.Addr())}
	o := &redisstore.Options{Connections: 1, AnswerTimeout: time.Second, DialTimeout: time.Second}
	storetest.Troubles(t, storetest.Troubled{
		Handles: []store.Records{
			open(t, server.URL("p"), o).Fast(), open(t, server.URLAt(proxies[0].Addr(), "p"), o).Fast(), open(t, server.URLAt(proxies[1].Addr(), "p"), o).Fast(),
		},
		Troubles: []func() error{
			func() error { proxies[0].Reset(); return nil },
			func() error { proxies[1].Reset(); return nil },
			func() error { <-proxies[0].DropAnswers(); proxies[0].Heal(); return nil },
			func() error { <-proxies[1].DropAnswers(); proxies[1].Reset(); proxies[1].Heal(); return nil },
			func() error { _, err := server.Do(t.Context(), "SCRIPT", "FLUSH"); return err },
			func() error { return errors.Join(server.Kill(), server.Start(t.Context())) },
		},
		Rounds: 2,
		Key:    func(n int) string { return []string{journal, beat, note}[n%3] + fmt.Sprint(n) },
	})
}
