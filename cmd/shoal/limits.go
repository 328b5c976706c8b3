package main

import "github.com/shoalworks/shoal/node"

// limitsConfig is what a store that meters requests allows, by kind of request.
type limitsConfig struct {
	Node           ratesConfig `json:"node"`
	Fleet          ratesConfig `json:"fleet"`
	Reserve        int         `json:"reserve"`
	BackgroundWait span        `json:"backgroundWait"`
	Queue          int         `json:"queue"`
}

// ratesConfig are rates a minute by kind.
type ratesConfig struct {
	Read         rateConfig `json:"read"`
	Write        rateConfig `json:"write"`
	OrderedRead  rateConfig `json:"orderedRead"`
	OrderedWrite rateConfig `json:"orderedWrite"`
	List         rateConfig `json:"list"`
}

// rateConfig is base + perPlayer × players requests a minute.
type rateConfig struct {
	Base      int `json:"base"`
	PerPlayer int `json:"perPlayer"`
}

func (c limitsConfig) limits() node.Limits {
	return node.Limits{
		Node: c.Node.rates(), Fleet: c.Fleet.rates(), Reserve: c.Reserve,
		BackgroundWait: c.BackgroundWait.duration(), Queue: c.Queue,
	}
}

func (c ratesConfig) rates() node.Rates {
	return node.Rates{
		Read: node.Rate(c.Read), Write: node.Rate(c.Write), OrderedRead: node.Rate(c.OrderedRead),
		OrderedWrite: node.Rate(c.OrderedWrite), List: node.Rate(c.List),
	}
}
