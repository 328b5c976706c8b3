package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// confirmFlag asks people to repeat the name of what they are about to change for good.
type confirmFlag struct {
	Confirm string `placeholder:"NAME" help:"The name of what is changed once more, instead of being asked for it."`
}

// confirm returns when the name was repeated: by flag, or by a person at a terminal.
func (c *confirmFlag) confirm(ctx context.Context, o *output, what, name string) error {
	return c.confirmNamed(ctx, o, what, "the key", name)
}

// confirmNamed is confirm for a name of a kind.
func (c *confirmFlag) confirmNamed(ctx context.Context, o *output, what, kind, name string) error {
	given := c.Confirm
	if given == "" {
		if !isTerminal(o.err) || !isTerminal(os.Stdin) {
			return &exitError{exitUsage, fmt.Errorf("%s: repeat %s with --confirm %s", what, kind, name)}
		}
		fmt.Fprintf(o.err, "This will %s.\nType %s to go on: ", what, name)
		line, err := readLine(ctx, os.Stdin)
		if err != nil {
			return &exitError{exitUsage, fmt.Errorf("%s: not confirmed: %w", what, err)}
		}
		given = line
	}
	if given != name {
		return &exitError{exitUsage, fmt.Errorf("%s: %q was typed, %q expected; nothing was changed", what, given, name)}
	}
	return nil
}

// readLine reads a line, or ends with ctx: a person who presses Ctrl-C has not confirmed.
func readLine(ctx context.Context, r io.Reader) (string, error) {
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := bufio.NewReader(r).ReadString('\n')
		done <- result{strings.TrimSpace(line), err}
	}()
	select {
	case got := <-done:
		return got.line, got.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
