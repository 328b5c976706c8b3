package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
)

// What is larger than a full purse goes when the purse is full, at any rate.
func TestAFullPurseIsFullAtAnyRate(t *testing.T) {
	for rate := 1; rate <= 600; rate++ {
		synctest.Test(t, func(t *testing.T) {
			g := node.NewGate(node.Limits{Node: node.Rates{Read: node.Rate{Base: rate}}}, nobody)
			ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
			defer cancel()
			if err := g.Pass(ctx, node.ClassSave, node.KindRead, 1); err != nil {
				t.Error(err)
			}
			if err := g.Pass(ctx, node.ClassLoad, node.KindRead, rate); err != nil {
				t.Errorf("%d a minute: %v", rate, err)
			}
		})
	}
}
