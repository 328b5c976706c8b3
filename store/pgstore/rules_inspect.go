package pgstore

import (
	"fmt"
	"strconv"
	"time"

	"github.com/shoalworks/shoal/store"
)

// maxOffset is how far a server's clock may be from ours before an operator should look.
const maxOffset = 5 * time.Second

// problems is what an operator should change, worst first.
func problems(s *serverState) []store.Problem {
	var found []store.Problem
	danger := func(format string, args ...any) {
		found = append(found, store.Problem{What: fmt.Sprintf(format, args...), Danger: true})
	}
	mind := func(format string, args ...any) {
		found = append(found, store.Problem{What: fmt.Sprintf(format, args...)})
	}
	if s.settings["fsync"] == "off" {
		danger("fsync is off, on expected: a crash of the machine destroys the database")
	}
	if s.settings["full_page_writes"] == "off" {
		danger("full_page_writes is off, on expected: the loss of power may tear pages that cannot be repaired")
	}
	if s.settings["synchronous_commit"] == "off" {
		danger("synchronous_commit is off, on expected: what was acknowledged is lost when the server crashes")
	}
	if s.recovery {
		mind("the server is a standby: it takes no writes")
	}
	if s.pooler && !s.address.pooler {
		mind("a pooler stands before the server and the address does not say pooler=transaction: prepared statements and messages may fail")
	}
	if isolation := s.settings["default_transaction_isolation"]; isolation != "" && isolation != "read committed" {
		mind("default_transaction_isolation is %s, read committed expected: transactions are repeated more often", isolation)
	}
	if s.offset.Abs() > maxOffset {
		mind("the server's clock is %v from this machine's", s.offset.Round(time.Millisecond))
	}
	if limit, err := strconv.Atoi(s.settings["max_connections"]); err == nil && limit < 3*s.poolSize {
		mind("max_connections is %d, and this process alone may have %d (pool_max_conns)", limit, s.poolSize+reservedConnections+1)
	}
	if compression := s.settings["default_toast_compression"]; compression != "" && !s.lz4 {
		mind("values are not compressed by lz4: saves take more of the server's time (ALTER TABLE … ALTER COLUMN value SET COMPRESSION lz4)")
	}
	return found
}
