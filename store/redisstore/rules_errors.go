package redisstore

import (
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
)

// intent is what a call does to the data.
type intent uint8

const (
	reading intent = iota + 1 // nothing changes, whether the call runs or not
	writing                   // it may have run although no answer came
)

// refusals are the codes with which a server says that it has not run a command, nor ever
// will: it is not applied.
//
// OOM is one of them, and is not store.ErrTooLarge: room comes back, and the same call can be
// done then.
func refusals() []string {
	return []string{
		"OOM", "READONLY", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "MOVED", "ASK", "CROSSSLOT",
		"NOREPLICAS", "MISCONF", "BUSY", "NOSCRIPT", "NOAUTH", "NOPERM", "WRONGPASS", "WRONGTYPE", "DENIED", "NOPROTO", "EXECABORT",
	}
}

// passing are the refusals that are over in a moment: the call may be sent again.
func passing() []string {
	return []string{"LOADING", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "MOVED", "ASK"}
}

// codeOf is the code of an answer that is an error ("OOM"), or empty.
func codeOf(err error) string {
	answer, ok := errors.AsType[*rueidis.RedisError](err)
	if !ok {
		return ""
	}
	code, _, _ := strings.Cut(answer.Error(), " ")
	return code
}

// isAnswer tells that the server has answered with an error.
func isAnswer(err error) bool {
	_, ok := errors.AsType[*rueidis.RedisError](err)
	return ok
}

// unsent tells that no server can have got the call: there was no connection to send it on.
func unsent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	_, refused := errors.AsType[*unsentError](err)
	return refused || errors.Is(err, rueidis.ErrNoSlot) || errors.Is(err, rueidis.ErrNoAddr)
}

// sentinelOf is what an error of the engine or of the way to it means, as one word of the
// vocabulary of package store.
func sentinelOf(err error, i intent) error {
	switch {
	case i == reading, unsent(err), slices.Contains(refusals(), codeOf(err)):
		return store.ErrUnavailable
	}
	// The server may have run it: the connection broke, the wait was over, or the answer is
	// one that we do not know.
	return store.ErrUnknown
}

// mayRepeat tells that a call that failed with err may be sent once more.
func mayRepeat(err error, i intent) bool {
	if unsent(err) || slices.Contains(passing(), codeOf(err)) {
		return true
	}
	return i == reading && !isAnswer(err)
}
