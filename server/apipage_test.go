package server_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

var update = flag.Bool("update", false, "write what docs/api.md and docs/metrics.md show of the server")

const apiPage = "../docs/api.md"

// The page's day: the first one of the first season.
var pageDay = time.Date(2026, time.August, 11, 12, 0, 0, 0, time.UTC)

// shifted is the system's clock, as if it were another day.
type shifted struct {
	clock.Clock
	by time.Duration
}

func (c shifted) Now() time.Time { return c.Clock.Now().Add(c.by) }

// TestAPIPage runs the examples of docs/api.md in their order against a daemon and compares
// the answers. -update writes them.
func TestAPIPage(t *testing.T) {
	text, err := os.ReadFile(apiPage)
	if err != nil {
		t.Fatal(err)
	}
	c := shifted{clock.System(), time.Until(pageDay)}
	d := startDaemon(t, setup{
		engine: memstore.New(&memstore.Options{Clock: c}), clock: c, epoch: pageDay.Truncate(24 * time.Hour), name: "node",
		// What is saved is what the page asks for, however long its examples take.
		set: profile.Options{VersionEvery: time.Nanosecond, Autosave: time.Hour, JournalEvery: time.Hour},
		wire: func(o *shoal.Options) {
			delete(o.Sets, "guilds")
			o.Flush.FlushEvery = time.Hour // what is durable hurries, and the page says when else
		},
		boards: map[string]board.Config{"Kills": {}, "BestTime": {Order: store.Ascending, Decimals: 3}},
	})
	page := reasonsIn(string(text))
	out, examples := runPage(t, d, page)
	if examples < 30 {
		t.Errorf("ran %d examples", examples)
	}
	if *update {
		if err := os.WriteFile(apiPage, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != page {
		t.Error("the table of reasons is not the server's: run go test ./server -run TestAPIPage -update")
	}
}

// reasonsIn is the page with the server's table of reasons.
func reasonsIn(page string) string {
	const begin, end = "<!-- reasons -->\n", "<!-- /reasons -->"
	before, rest, ok1 := strings.Cut(page, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		return page
	}
	var b strings.Builder
	b.WriteString("\n| `reason` | `code` | HTTP | `outcome` | what to do |\n|---|---|---|---|---|\n")
	for _, r := range server.Rulings() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %d | `%s` | %s |\n", r.Reason, r.Code, r.Status, r.Outcome, strings.ReplaceAll(r.Advice, "<", "&lt;"))
	}
	b.WriteString("\n")
	return before + begin + b.String() + end + after
}

var fence = regexp.MustCompile("(?ms)^<!-- test: (.*?) -->$|^```sh\n(curl .*?)\n```\n\n```(json|text)( \\d+)?\n(.*?)```$")

// runPage runs the examples and answers the page with their answers in it.
func runPage(t *testing.T, d *daemon, page string) (out string, examples int) {
	t.Helper()
	out = fence.ReplaceAllStringFunc(page, func(block string) string {
		m := fence.FindStringSubmatch(block)
		if m[1] != "" {
			direct(t, d, m[1])
			return block
		}
		examples++
		got := d.curl(m[2])
		want := http.StatusOK
		if m[4] != "" {
			want, _ = strconv.Atoi(m[4][1:])
		}
		body := steady(d, got.body)
		if got.status != want {
			t.Errorf("%s\nstatus %d, the page says %d: %s", m[2], got.status, want, body)
		}
		if m[3] == "json" {
			body = pretty(t, body)
		}
		if !*update && body != m[5] {
			t.Errorf("%s\ngot  %s\nwant %s", m[2], body, m[5])
		}
		return "```sh\n" + m[2] + "\n```\n\n```" + m[3] + m[4] + "\n" + body + "```"
	})
	return out, examples
}

// direct does what the page's reader waits for.
func direct(t *testing.T, d *daemon, what string) {
	t.Helper()
	switch what {
	case "flush":
		d.flush()
	case "mail arrives":
		for applied := false; !applied; {
			list := d.call("MailService/List", `{"set":"players","key":"u_42"}`)
			applied = list.status == http.StatusOK && !strings.Contains(list.body, `"ops"`)
		}
	case "season ends":
		d.engine.StepClock(memstore.Durable, 46*24*time.Hour)
		for d.reef.Current().K == 0 { // the node reads the store's clock at its next beat
			d.call("NodeService/Status", "{}")
		}
		closed, err := d.reef.CloseDue(t.Context())
		if err != nil || len(closed) != 1 {
			t.Fatalf("%v, %v", closed, err)
		}
		for !strings.Contains(d.call("NodeService/Status", "{}").body, `"state":"alive"`) { // the step has made its last beat old
			continue
		}
	case "parts answer":
		for strings.Contains(d.call("NodeService/Parts", "{}").body, `"state":"unasked"`) { // it asks when it begins to serve
			continue
		}
	default:
		t.Fatalf("the page asks for %q", what)
	}
}

// curl does what the command would, as far as the page uses it.
func (d *daemon) curl(command string) answer {
	d.t.Helper()
	var target, body, contentType string
	command = strings.ReplaceAll(command, pageCursor, d.cursor)
	words := shellWords(d.t, command)
	query, get := url.Values{}, false
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-G":
			get = true
		case "-H":
			i++
			contentType = strings.TrimPrefix(words[i], "Content-Type: ")
		case "-d", "--data-urlencode":
			i++
			body = words[i]
			name, value, _ := strings.Cut(words[i], "=")
			query.Set(name, value)
		default:
			target = strings.TrimPrefix(words[i], "http://127.0.0.1:7077")
		}
	}
	if get {
		return d.do(http.MethodGet, target+"?"+query.Encode(), "")
	}
	if body == "" {
		return d.do(http.MethodGet, target, "")
	}
	return d.do(http.MethodPost, target, body, "Content-Type", contentType)
}

// shellWords splits a command as a shell does: blanks, single quotes, and \ before a line's end.
func shellWords(tb testing.TB, command string) []string {
	tb.Helper()
	var words []string
	for i, part := range strings.Split(strings.ReplaceAll(command, "\\\n", " "), "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	if strings.Count(command, "'")%2 != 0 {
		tb.Fatalf("open quote in %s", command)
	}
	return words
}

// What differs from run to run, in the form that the page shows.
var (
	aTime     = regexp.MustCompile(`"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)"`)
	aSize     = regexp.MustCompile(`"bytes":\d+`)
	aCursor   = regexp.MustCompile(`"next":"([\w-]{60,})"`)
	anID      = regexp.MustCompile(`"(id|next)":"[0-9a-f]{24}"`)
	aLife     = regexp.MustCompile(`"generation":"[0-9a-f]{32}"`)
	aDuration = regexp.MustCompile(`"(waited|age|clockDifference|for|took)":"[^"]*"|"(remaining)":"\d+\.\d+s"`)
)

// pageCursor stands on the page for the cursor of the walk before.
const pageCursor = "ASBjM2RhN2IxMDk5MmU0ZGI"

// steady replaces what differs from run to run: the node's id, the present, and durations.
func steady(d *daemon, body string) string {
	body = strings.ReplaceAll(body, d.node.ID(), "node-5h8s2kq7")
	body = aTime.ReplaceAllStringFunc(body, func(text string) string {
		at, err := time.Parse(time.RFC3339Nano, strings.Trim(text, `"`))
		for _, now := range []time.Time{pageDay, pageDay.Add(46 * 24 * time.Hour)} {
			if err == nil && at.After(now.Add(-time.Minute)) && at.Before(now.Add(10*time.Minute)) {
				return `"` + now.Format(time.RFC3339) + `"`
			}
		}
		return text
	})
	if m := aCursor.FindStringSubmatch(body); m != nil {
		d.cursor = m[1]
		body = strings.ReplaceAll(body, m[1], pageCursor)
	}
	body = anID.ReplaceAllString(body, `"$1":"e712f593c89ba2828d4cd691"`)
	body = aLife.ReplaceAllString(body, `"generation":"c3da7b10992e4db1"`)
	body = aSize.ReplaceAllString(body, `"bytes":312`)
	sample := map[string]string{"waited": "0.004s", "age": "0.412s", "remaining": "3844800s", "clockDifference": "0.003s", "for": "3600s", "took": "0.002s"}
	return aDuration.ReplaceAllStringFunc(body, func(text string) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(text, `"`), `"`)
		return `"` + name + `":"` + sample[name] + `"`
	})
}

// pretty is how the page shows an answer: whatever fits stays on one line.
func pretty(t *testing.T, body string) string {
	t.Helper()
	dec := jsontext.NewDecoder(strings.NewReader(body))
	v, err := dec.ReadValue()
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return layOut(t, v.Clone(), "") + "\n"
}

const lineWidth = 110

func layOut(t *testing.T, v jsontext.Value, indent string) string {
	t.Helper()
	if kind := v.Kind(); len(indent)+len(v) <= lineWidth || kind != '{' && kind != '[' {
		return string(v)
	}
	dec := jsontext.NewDecoder(strings.NewReader(string(v)))
	begin, err := dec.ReadToken()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
		line := indent + "  "
		if begin.Kind() == '{' {
			name, err := dec.ReadValue()
			if err != nil {
				t.Fatal(err)
			}
			line += string(name) + ": "
		}
		item, err := dec.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line+layOut(t, item.Clone(), indent+"  "))
	}
	ends := map[jsontext.Kind][2]string{'{': {"{", "}"}, '[': {"[", "]"}}[v.Kind()]
	return ends[0] + "\n" + strings.Join(lines, ",\n") + "\n" + indent + ends[1]
}
