package engines

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// RedisError is an error that a Redis server has answered, for example "LOADING …".
type RedisError string

// Error is what the server said.
func (e RedisError) Error() string { return "engines: redis: " + string(e) }

// ask sends one command on a connection of its own. The answer is a string, an int64, nil, or
// a slice of these.
func ask(ctx context.Context, addr string, args ...string) (any, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("engines: redis: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }()
	var text strings.Builder
	fmt.Fprintf(&text, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&text, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(c, text.String()); err != nil {
		return nil, fmt.Errorf("engines: redis %s: %w", args[0], err)
	}
	answer, err := readAnswer(bufio.NewReader(c))
	if err != nil {
		return nil, fmt.Errorf("engines: redis %s: %w", args[0], errors.Join(err, context.Cause(ctx)))
	}
	if e, ok := answer.(RedisError); ok {
		return nil, e
	}
	return answer, nil
}

// readAnswer reads one value of Redis' protocol, version 2.
func readAnswer(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return nil, errors.New("an empty line")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return RedisError(rest), nil
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q: %w", line, err)
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		b := make([]byte, n+2)
		_, err := io.ReadFull(r, b)
		return string(b[:n]), err
	case kind == '*':
		return readAnswers(r, n)
	}
	return nil, fmt.Errorf("%q is no answer", line)
}

func readAnswers(r *bufio.Reader, n int64) ([]any, error) {
	out := make([]any, 0, n)
	for range n {
		a, err := readAnswer(r)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}
