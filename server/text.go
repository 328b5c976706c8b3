package server

import (
	"strconv"

	"github.com/dustin/go-humanize"
)

// indexed names an item of a list field: ops[3].
func indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// bytesText is a size for people: 8 MiB.
func bytesText(n int) string { return humanize.IBytes(uint64(max(n, 0))) }
