package mutants

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// result is how a run of tests ended.
type result uint8

const (
	passed   result = iota + 1
	failed          // a test failed, or the program panicked
	hung            // no test had failed when the time was up
	notBuilt        // it does not compile
	notRun          // the pattern names no test, or the tool itself failed
)

// testRun is what a run of tests has shown.
type testRun struct {
	result result
	test   string // that failed first
	words  string // its message, or what else there is to say
}

// goTest runs the tests of a check in root. overlay is a file for the compiler, or empty.
func (r Runner) goTest(ctx context.Context, c Check, overlay string) testRun {
	args := []string{"test", "-json", "-count=1", "-vet=off", "-failfast", "-timeout=" + r.Timeout.String(), "-run=" + c.Pattern}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, c.Package)...)
	cmd.Dir = r.Root
	cmd.Env = append(os.Environ(), strings.Fields(c.Env)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return testRun{notRun, "", context.Cause(ctx).Error()}
	}
	tr := readEvents(&stdout, strings.Count(c.Pattern, "/"))
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return testRun{notRun, "", err.Error()}
	case tr.result == 0:
		return testRun{notRun, "", firstLine(stderr.String())}
	case tr.result == passed && err != nil:
		return testRun{failed, "", "the tests pass, and the program fails: " + firstLine(stderr.String())}
	}
	return tr
}

// event is a line of go test -json (see go doc test2json).
type event struct {
	Action      string
	Test        string
	Output      string
	FailedBuild string
}

// events is what the lines of a run of tests add up to.
type events struct {
	depth   int // of the tests that the pattern names: how many slashes
	ran     bool
	passed  bool
	build   string            // of the compiler's complaints the first
	unbuilt bool              //
	panics  string            // the first line of a panic
	output  map[string]string // by test
	first   string            // test that failed
}

// readEvents reads the lines of go test -json. depth is how many slashes the pattern has:
// when no test at that depth was run, it names none.
func readEvents(r io.Reader, depth int) testRun {
	e := events{depth: depth, output: make(map[string]string)}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var ev event
		if json.Unmarshal(lines.Bytes(), &ev) == nil {
			e.take(ev)
		}
	}
	return e.sum()
}

func (e *events) take(ev event) {
	switch ev.Action {
	case "run":
		e.ran = e.ran || strings.Count(ev.Test, "/") >= e.depth
	case "output":
		e.output[ev.Test] += ev.Output
		if e.panics == "" && (strings.HasPrefix(ev.Output, "panic: ") || strings.HasPrefix(ev.Output, "fatal error: ")) {
			e.panics = strings.TrimSpace(ev.Output)
		}
	case "build-output":
		if text := strings.TrimSpace(ev.Output); e.build == "" && !strings.HasPrefix(text, "#") {
			e.build = text
		}
	case "fail":
		if ev.Test != "" && e.first == "" {
			e.first = ev.Test
		}
		e.unbuilt = e.unbuilt || ev.FailedBuild != ""
	case "build-fail":
		e.unbuilt = true
	case "pass":
		e.passed = e.passed || ev.Test == ""
	}
}

func (e *events) sum() testRun {
	switch {
	case e.unbuilt:
		return testRun{notBuilt, "", e.build}
	case e.first != "":
		return testRun{failed, e.first, message(e.output[e.first], e.panics)}
	case strings.HasPrefix(e.panics, "panic: test timed out"):
		return testRun{hung, "", e.panics}
	case e.panics != "":
		return testRun{failed, "", e.panics}
	case e.passed && !e.ran:
		return testRun{notRun, "", "the pattern names no test"}
	case e.passed:
		return testRun{passed, "", ""}
	}
	return testRun{}
}

// said is the first line of what a test says, after its place in the source.
var said = regexp.MustCompile(`(?m)^ +\S+\.go:\d+: (.*)$`)

// message is the first thing that a failed test says, its first two lines. Where the first is
// how to reproduce the failure it comes last.
func message(output, panics string) string {
	at := said.FindStringSubmatchIndex(output)
	if at == nil {
		return panics
	}
	text := output[at[2]:at[3]]
	next, _, _ := strings.Cut(strings.TrimPrefix(output[at[1]:], "\n"), "\n")
	if strings.HasPrefix(next, "        ") {
		next = strings.TrimSpace(next)
		if strings.Contains(text, " go test ") {
			return next + " | " + text
		}
		text += " | " + next
	}
	return text
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
