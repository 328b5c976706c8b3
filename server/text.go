package server

import (
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// indexed names an item of a list field: ops[3].
func indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// bytesText is a size for people: 8 MiB.
func bytesText(n int) string { return humanize.IBytes(uint64(max(n, 0))) }

const maxNamed = 10 // names that an error lists

// someOf lists names for an error, the first ones of many.
func someOf(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > maxNamed:
		return strings.Join(names[:maxNamed], ", ") + " and " + strconv.Itoa(len(names)-maxNamed) + " more"
	}
	return strings.Join(names, ", ")
}

// clipped is a text of the caller for an error: not more of it than helps.
func clipped(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
