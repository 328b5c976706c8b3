package redisstore

import (
	"context"
	"crypto/sha1" //nolint:gosec // it is how Redis names scripts
	"encoding/hex"
	"time"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/clock"
)

// Where a script runs, and when a server without memory for more may run it. Each script
// begins with one of these lines: since Redis 7 a script with such a line, and without
// no-writes, is refused as a whole by a replica (READONLY), and, without allow-oom, by a full
// server (OOM), before it has done anything.
const (
	whenRoom = "#!lua\n"                 // it needs memory: refused by a full server
	always   = "#!lua flags=allow-oom\n" // it reads, deletes, or keeps the fleet alive
)

// script is a Lua script, which checks first and writes last: there is no way back.
type script struct{ text, sha string }

// newScript makes a script of one of the first lines above and its text.
func newScript(when, text string) *script {
	text = when + text
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return &script{text: text, sha: hex.EncodeToString(sum[:])}
}

// call is one call of a script. Its keys are all of one slot. Whoever made the arguments does
// not change them any more: the connection may still read them after the call has ended.
type call struct {
	script *script
	intent intent
	keys   []string
	args   []string
}

// answer is what came of one call: err is one word of the vocabulary of package store.
type answer struct {
	message rueidis.RedisMessage
	err     error
}

// Calls that may be sent again are, after pauses that double.
const (
	tries      = 4
	firstPause = 10 * time.Millisecond
)

// lane is a set of connections to the servers.
type lane struct {
	client rueidis.Client
	clock  clock.Clock
}

// run runs one script.
func (l *lane) run(ctx context.Context, c call) (rueidis.RedisMessage, error) {
	a := l.runAll(ctx, []call{c})[0]
	return a.message, a.err
}

// runAll runs scripts, each for itself, and answers in their order. Those of one slot run in
// the order of calls.
//
// A script that the server has forgotten is sent whole. Otherwise a call is sent again only
// when it is certain that no server has run it, or when it only reads.
func (l *lane) runAll(ctx context.Context, calls []call) []answer {
	answers := make([]answer, len(calls))
	todo := make([]int, 0, len(calls))
	for i := range calls {
		todo = append(todo, i)
	}
	whole := make([]bool, len(calls)) // the text is sent, not its sum
	for try := 1; ; try++ {
		l.send(ctx, calls, todo, whole, answers)
		todo = todo[:0]
		for i, a := range answers {
			if a.err != nil && mayRepeat(a.err, calls[i].intent) {
				todo = append(todo, i)
			}
		}
		if len(todo) == 0 || try == tries || clock.Sleep(ctx, l.clock, firstPause<<(try-1)) != nil {
			break
		}
	}
	for i := range answers {
		answers[i].err = classify(answers[i].err, calls[i].intent)
	}
	return answers
}

// send sends the calls of todo once, and those of them whose script was forgotten once more,
// whole.
func (l *lane) send(ctx context.Context, calls []call, todo []int, whole []bool, answers []answer) {
	l.exchange(ctx, calls, todo, whole, answers)
	var again []int
	for _, i := range todo {
		if codeOf(answers[i].err) == "NOSCRIPT" {
			whole[i] = true
			again = append(again, i)
		}
	}
	if len(again) > 0 {
		l.exchange(ctx, calls, again, whole, answers)
	}
}

// exchange sends the calls of todo in one go and takes in the answers.
func (l *lane) exchange(ctx context.Context, calls []call, todo []int, whole []bool, answers []answer) {
	if ctx.Err() != nil {
		for _, i := range todo {
			answers[i].err = &unsentError{context.Cause(ctx)}
		}
		return
	}
	commands := make([]rueidis.Completed, len(todo))
	for n, i := range todo {
		commands[n] = l.command(calls[i], whole[i])
	}
	for n, r := range l.client.DoMulti(ctx, commands...) {
		m, err := r.ToMessage()
		if rueidis.IsRedisNil(err) {
			err = nil
		}
		answers[todo[n]] = answer{m, translate(err)}
	}
}

func (l *lane) command(c call, whole bool) rueidis.Completed {
	n := int64(len(c.keys))
	if whole {
		return l.client.B().Eval().Script(c.script.text).Numkeys(n).Key(c.keys...).Arg(c.args...).Build()
	}
	return l.client.B().Evalsha().Sha1(c.script.sha).Numkeys(n).Key(c.keys...).Arg(c.args...).Build()
}
