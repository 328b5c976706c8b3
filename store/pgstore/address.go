package pgstore

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DefaultSchema is the schema that an address without one means.
const DefaultSchema = "shoal"

// address is what an address says, checked.
type address struct {
	pool     *pgxpool.Config
	schema   string
	pooler   bool // a transaction pooler stands before the server
	logged   bool // the fast records are written ahead, too
	explicit bool // the address says how many connections
}

var schemaName = regexp.MustCompile(`^[a-z0-9_]{1,40}$`)

// fitSchema tells that a schema may have the name: the engine keeps pg_… for itself.
func fitSchema(name string) bool {
	return schemaName.MatchString(name) && !strings.HasPrefix(name, "pg_")
}

// parseAddress reads an address: what pgx takes, and the parameters of this package. What
// nobody knows is refused by name, since the server would take it for a setting.
func parseAddress(text string) (address, error) {
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return address{}, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	params := config.ConnConfig.RuntimeParams
	a := address{
		pool: config, schema: DefaultSchema,
		explicit: strings.Contains(text, "pool_max_conns="),
	}
	if s, ok := take(params, "schema"); ok {
		if a.schema = s; !fitSchema(s) {
			return address{}, fmt.Errorf("%w: schema: 1 to 40 of a-z, 0-9 and _ expected, not pg_…, got %q", ErrAddress, s)
		}
	}
	if a.pooler, err = choice(params, "pooler", "none", "transaction"); err != nil {
		return address{}, err
	}
	if a.logged, err = choice(params, "live", "unlogged", "logged"); err != nil {
		return address{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if name != "application_name" && name != "options" {
			return address{}, fmt.Errorf("%w: unknown parameter %q", ErrAddress, name)
		}
	}
	a.prepare()
	return a, nil
}

// prepare sets what the address leaves open: only servers that take writes, and no prepared
// statements where a pooler hands each transaction to another session.
func (a address) prepare() {
	c := a.pool.ConnConfig
	c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	if _, named := c.RuntimeParams["application_name"]; !named {
		c.RuntimeParams["application_name"] = "shoal"
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if !a.pooler {
		maps.Copy(c.RuntimeParams, session())
	} else {
		c.DefaultQueryExecMode = pgx.QueryExecModeExec
		c.StatementCacheCapacity, c.DescriptionCacheCapacity = 0, 0
	}
}

// connectTimeout is how long a host is waited for when the address does not say it.
const connectTimeout = 5 * time.Second

// idleTimeout is how long a transaction may wait for us before the server ends its session.
const idleTimeout = "10s"

// session are the settings of our sessions; a pooler would refuse them. A plan that is kept from
// when a table was empty would read the whole of it for ever: no plan does while it has an
// index. A process that stops in the middle of a transaction loses its locks.
func session() map[string]string {
	return map[string]string{
		"enable_seqscan": "off", "jit": "off",
		"idle_in_transaction_session_timeout": idleTimeout,
	}
}

// take removes a parameter.
func take(params map[string]string, name string) (value string, ok bool) {
	value, ok = params[name]
	delete(params, name)
	return value, ok
}

// choice removes a parameter that has two values; it answers whether it is the second.
func choice(params map[string]string, name, first, second string) (bool, error) {
	switch value, ok := take(params, name); {
	case !ok || value == first:
		return false, nil
	case value == second:
		return true, nil
	default:
		return false, fmt.Errorf("%w: %s: %s or %s expected, got %q", ErrAddress, name, first, second, value)
	}
}

// place says where the server is, without secrets.
func (a address) place() string {
	c := a.pool.ConnConfig
	hosts := []string{hostPort(c.Host, c.Port)}
	for _, f := range c.Fallbacks {
		if h := hostPort(f.Host, f.Port); !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	return fmt.Sprintf("%s/%s, schema %s", strings.Join(hosts, ","), c.Database, a.schema)
}

func hostPort(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return fmt.Sprintf("%s/.s.PGSQL.%d", host, port)
	}
	return fmt.Sprintf("%s:%d", host, port)
}
