package redisstore_test

import (
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }
