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

// run runs one script, as runAll does. What is answered at once, as nearly everything is, takes
// no way round.
func (l *lane) run(ctx context.Context, c call) (rueidis.RedisMessage, error) {
	answers := [1]answer{l.once(ctx, c, false)}
	if answers[0].err != nil {
		l.goOn(ctx, []call{c}, make([]bool, 1), answers[:])
	}
	return answers[0].message, answers[0].err
}

// runAll runs scripts, each for itself, and answers in their order. Those of one slot run in
// the order of calls.
//
// A script that the server has forgotten is sent whole. Otherwise a call is sent again only
// when it is certain that no server has run it, or when it only reads.
func (l *lane) runAll(ctx context.Context, calls []call) []answer {
	answers, todo, whole := make([]answer, len(calls)), make([]int, len(calls)), make([]bool, len(calls))
	for i := range calls {
		todo[i] = i
	}
	l.exchange(ctx, calls, todo, whole, answers)
	l.goOn(ctx, calls, whole, answers)
	return answers
}

// goOn sends again what may be sent again after these answers, in whole at once or after pauses,
// and leaves what has come of each call in the end.
func (l *lane) goOn(ctx context.Context, calls []call, whole []bool, answers []answer) {
	for try := 1; ; try++ {
		if again := failing(answers, func(i int) bool { return !whole[i] && codeOf(answers[i].err) == "NOSCRIPT" }); len(again) > 0 {
			for _, i := range again {
				whole[i] = true
			}
			l.exchange(ctx, calls, again, whole, answers)
		}
		todo := failing(answers, func(i int) bool { return mayRepeat(answers[i].err, calls[i].intent) })
		if len(todo) == 0 || try == tries || clock.Sleep(ctx, l.clock, firstPause<<(try-1)) != nil {
			break
		}
		l.exchange(ctx, calls, todo, whole, answers)
	}
	for i := range answers {
		answers[i].err = classify(answers[i].err, calls[i].intent)
	}
}

// failing are the places of the answers that are errors, and for which the condition holds.
func failing(answers []answer, condition func(i int) bool) []int {
	var all []int
	for i := range answers {
		if answers[i].err != nil && condition(i) {
			all = append(all, i)
		}
	}
	return all
}

// exchange sends the calls of todo in one go, in whole (with the text of the script, not its
// sum) where whole says so, and takes in the answers.
func (l *lane) exchange(ctx context.Context, calls []call, todo []int, whole []bool, answers []answer) {
	if len(todo) == 1 {
		i := todo[0]
		answers[i] = l.once(ctx, calls[i], whole[i])
		return
	}
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
		answers[todo[n]] = answerOf(r)
	}
}

// once sends one call, once.
func (l *lane) once(ctx context.Context, c call, whole bool) answer {
	if ctx.Err() != nil {
		return answer{err: &unsentError{context.Cause(ctx)}}
	}
	return answerOf(l.client.Do(ctx, l.command(c, whole)))
}

// answerOf is an answer whose error has not been classified.
func answerOf(r rueidis.RedisResult) answer {
	m, err := r.ToMessage()
	if err == nil || rueidis.IsRedisNil(err) {
		return answer{message: m}
	}
	return answer{m, translate(err)}
}

func (l *lane) command(c call, whole bool) rueidis.Completed {
	n := int64(len(c.keys))
	if whole {
		return l.client.B().Eval().Script(c.script.text).Numkeys(n).Key(c.keys...).Arg(c.args...).Build()
	}
	return l.client.B().Evalsha().Sha1(c.script.sha).Numkeys(n).Key(c.keys...).Arg(c.args...).Build()
}
