package redisstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

func TestMain(m *testing.M) {
	// The client of a cluster closes the connections that it began with some seconds after it
	// has better ones, and looks who is who after a pause, whether it is closed meanwhile or not.
	enginetest.Main(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}
