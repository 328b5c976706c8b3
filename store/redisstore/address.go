package redisstore

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// ErrAddress says that the address is not one that Open understands. The text says what is wrong, and
// never shows a password.
var ErrAddress = errors.New("redisstore: bad address")

const (
	defaultPrefix = "shoal"
	defaultPort   = "6379"
	sentinelPort  = "26379"
	maxPrefix     = 64  // bytes of a prefix
	maxHosts      = 256 // hosts of an address
)

// topology is how the servers of an address stand together.
type topology uint8

const (
	single   topology = iota + 1 // one server
	sentinel                     // a master and its replicas, which Sentinels name
	cluster                      // a Redis Cluster
)

// String is "single", "sentinel" or "cluster".
func (t topology) String() string {
	switch t {
	case single:
		return "single"
	case sentinel:
		return "sentinel"
	case cluster:
		return "cluster"
	}
	return "no topology"
}

// credentials are a user and a password; both may be empty.
type credentials struct{ user, password string }

// address is where the servers are, and what our keys begin with.
type address struct {
	topology   topology
	tls        bool
	security   security
	hosts      []string // host:port, at least one; of the Sentinels when there are some
	master     string   // sentinel only: the name of the master
	database   int      // 0 on a cluster
	server     credentials
	sentinels  credentials
	prefix     string
	clientName string
}

// parseAddress reads
//
//	redis://[user:password@]host[:port][/database]
//	redis+sentinel://[user:password@]host[:port],…/master[/database]
//	redis+cluster://[user:password@]host[:port],…
//
// and the same with rediss for TLS. Parameters: prefix, client_name, for Sentinels that want
// them sentinel_user and sentinel_password, and those of security.
func parseAddress(text string) (address, error) {
	a, err := readAddress(text)
	if err != nil && torn(text) {
		err = errEscapes // what it says else may be a part of the password
	}
	if err != nil {
		return address{}, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	return a, nil
}

var errEscapes = errors.New("a URL expected (special characters of a password as %XX)")

// torn tells that a password may have ended the part of the address that names the servers: what
// stands for a host is the user then, and what stands for a port, a path or a parameter is of the
// password.
func torn(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	return end >= 0 && strings.LastIndexByte(rest, '@') > end && !strings.Contains(rest[:end], "@")
}

func readAddress(text string) (address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return address{}, errors.New("redis://host:port expected")
	}
	a := address{prefix: defaultPrefix, clientName: defaultPrefix}
	if a.topology, a.tls, ok = schemeOf(scheme); !ok {
		return address{}, fmt.Errorf("redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster or rediss+cluster expected, got %q", scheme)
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	user, hosts := "", authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, hosts = authority[:i+1], authority[i+1:]
	}
	// net/url takes one host only; and its errors show the password.
	u, err := url.Parse("redis://" + user + "host" + tail)
	if err != nil || u.Fragment != "" {
		return address{}, errEscapes
	}
	if u.User != nil {
		a.server.user = u.User.Username()
		a.server.password, _ = u.User.Password()
	}
	if a.hosts, err = hostsOf(hosts, a.topology); err != nil {
		return address{}, err
	}
	if err := a.readPath(strings.Trim(u.Path, "/")); err != nil {
		return address{}, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return address{}, errors.New("parameters after the question mark that cannot be read")
	}
	return a, a.readParameters(query)
}

func schemeOf(scheme string) (t topology, tls, ok bool) {
	name, kind, _ := strings.Cut(scheme, "+")
	if tls = name == "rediss"; !tls && name != "redis" {
		return 0, false, false
	}
	switch kind {
	case "":
		return single, tls, !strings.Contains(scheme, "+")
	case "sentinel":
		return sentinel, tls, true
	case "cluster":
		return cluster, tls, true
	}
	return 0, false, false
}

func hostsOf(list string, t topology) ([]string, error) {
	port := defaultPort
	if t == sentinel {
		port = sentinelPort
	}
	var hosts []string
	for text := range strings.SplitSeq(list, ",") {
		h, err := hostOf(text, port)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, h)
	}
	if t == single && len(hosts) > 1 {
		return nil, errors.New("one host expected; several are those of redis+sentinel or redis+cluster")
	}
	if len(hosts) > maxHosts {
		return nil, fmt.Errorf("at most %d hosts expected", maxHosts)
	}
	return hosts, nil
}

// hostOf is host:port of "host", "host:port", "[::1]" or "[::1]:port".
func hostOf(text, port string) (string, error) {
	host := text
	if bare, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(bare, "]") {
		host = strings.TrimSuffix(bare, "]")
	} else if strings.Contains(text, ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", fmt.Errorf("host:port expected, got %q", text)
		}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || host == "" || strings.ContainsAny(host, " /@[]") {
		return "", fmt.Errorf("host:port expected, got %q", text)
	}
	return net.JoinHostPort(host, port), nil
}

func (a *address) readPath(path string) error {
	database := path
	switch a.topology {
	case sentinel:
		if a.master, database, _ = strings.Cut(path, "/"); a.master == "" {
			return errors.New("the name of the master expected: redis+sentinel://host,host/master")
		}
	case cluster:
		if path != "" {
			return errors.New("a cluster has no databases")
		}
	case single:
	}
	if database == "" {
		return nil
	}
	n, err := strconv.Atoi(database)
	if err != nil || n < 0 {
		return fmt.Errorf("the number of a database expected, got %q", database)
	}
	a.database = n
	return nil
}

func (a *address) readParameters(query url.Values) error {
	for name, values := range query {
		if len(values) != 1 {
			return fmt.Errorf("parameter %s comes twice", name)
		}
		value := values[0]
		switch {
		case name == "prefix":
			if err := checkPrefix(value); err != nil {
				return err
			}
			a.prefix = value
		case name == "client_name":
			if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
				return errors.New("client_name: printable ASCII without spaces expected")
			}
			a.clientName = value
		case name == "sentinel_user" && a.topology == sentinel:
			a.sentinels.user = value
		case name == "sentinel_password" && a.topology == sentinel:
			a.sentinels.password = value
		default:
			if known, err := a.security.read(name, value); err != nil {
				return err
			} else if !known {
				return fmt.Errorf("unknown parameter %q", name)
			}
		}
	}
	return a.security.check(a.tls)
}

// checkPrefix refuses what would not stand well before a key. A colon ends the prefix of every
// key and channel: a prefix with one could be the beginning of another fleet's keys. Braces
// would change the slot.
func checkPrefix(prefix string) error {
	if prefix == "" || len(prefix) > maxPrefix || strings.ContainsFunc(prefix, func(r rune) bool { return r <= ' ' || r > '~' }) || strings.ContainsAny(prefix, ":{}") {
		return fmt.Errorf("prefix: 1 to %d bytes of printable ASCII without spaces, colons and braces expected (a dash or a slash does for a colon), got %q", maxPrefix, prefix)
	}
	return nil
}

// place is the address without secrets.
func (a *address) place() string {
	text := strings.Join(a.hosts, ",")
	switch a.topology {
	case sentinel:
		text += "/" + a.master
	case cluster:
		return text + " (cluster), prefix " + a.prefix
	case single:
	}
	return text + "/" + strconv.Itoa(a.database) + ", prefix " + a.prefix
}
