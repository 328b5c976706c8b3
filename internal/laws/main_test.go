package laws_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// A connection that rueidis has replaced is looked after for 5 s more.
func TestMain(m *testing.M) {
	enginetest.Main(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}
