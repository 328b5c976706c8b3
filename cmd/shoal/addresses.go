package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/internal/address"
)

// storeFlags say where the store is.
type storeFlags struct {
	Store string `placeholder:"ADDRESS" help:"The store that the fleet shares: a folder, postgres://… (with sslmode=verify-full for TLS), or memory: for a trial. Default ./game ($$SHOAL_STORE)."`
	Fast  string `placeholder:"ADDRESS" help:"Another engine for beats, journals, boards and messages: redis://…, redis+sentinel://…, redis+cluster://… (rediss for TLS, with cacert=FILE for an authority of your own), postgres://…. Default: the store ($$SHOAL_FAST)."`
}

// override adds what the flags say to a layer of the configuration.
func (f *storeFlags) override(layer map[string]any) {
	for member, value := range map[string]string{"store": f.Store, "fast": f.Fast} {
		if value != "" {
			layer[member] = value
		}
	}
}

// addresses are where the parts of the configured store are.
func (c *config) addresses(logger *slog.Logger) shoal.Addresses {
	return shoal.Addresses{Store: c.Store, Fast: c.Fast, Logger: logger}
}

// checkExists refuses a folder that is no store: a mistyped path would show an empty fleet.
func (c *config) checkExists() error {
	errs := []error{checkFolder("--store", c.Store)}
	if c.Fast != "" {
		errs = append(errs, checkFolder("--fast", c.Fast))
	}
	return errors.Join(errs...)
}

func checkFolder(flag, where string) error {
	if kind, _ := address.KindOf(where); kind != address.Folder { // opening it says what is wrong
		return nil
	}
	if _, err := os.Stat(address.Path(where)); err != nil {
		return fmt.Errorf("%s %s: there is no store: %w", flag, where, err)
	}
	return nil
}
