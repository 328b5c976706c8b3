package engines

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// TLS makes a server speak TLS. A Redis does so on a port of its own, see [Redis.TLSAddr], and
// speaks without on the other one; the servers of a Cluster, a Sentinel and its servers speak
// TLS with each other, too. A PostgreSQL takes no connection without.
type TLS struct {
	// Authority signs the certificate of the server, and those of its clients. Needed.
	Authority *Authority
	// Hosts are the names and addresses that the server's certificate is for. Default:
	// 127.0.0.1.
	Hosts []string
	// Clients says that who connects has to show a certificate, too. Default false.
	Clients bool
	// Good is for how long the server's certificate is good, negative when it has expired.
	// Default: an hour.
	Good time.Duration
}

// own issues the server's certificate.
func (t *TLS) own(port int) (Certificate, error) {
	hosts, good := t.Hosts, t.Good
	if len(hosts) == 0 {
		hosts = []string{"127.0.0.1"}
	}
	if good == 0 {
		good = time.Hour
	}
	return t.Authority.Issue("server-"+strconv.Itoa(port), good, hosts...)
}

// secure makes the settings of a Redis those of one that speaks TLS. A sentinel takes them, too.
func (r *Redis) secure(ctx context.Context, t *TLS) (settings map[string]string, err error) {
	if t == nil {
		return nil, nil
	}
	if r.tlsPort, err = freePort(ctx); err != nil {
		return nil, err
	}
	c, err := t.own(r.port)
	if err != nil {
		return nil, err
	}
	clients := "no"
	if t.Clients {
		clients = "yes"
	}
	r.secured = map[string]string{
		"tls-port": strconv.Itoa(r.tlsPort), "tls-cert-file": c.Cert, "tls-key-file": c.Key,
		"tls-ca-cert-file": t.Authority.File, "tls-auth-clients": clients, "tls-replication": "yes",
	}
	return r.secured, nil
}

// withTLS is o for a server that has these settings beside.
func (o *RedisOptions) withTLS(settings map[string]string) *RedisOptions {
	out := &RedisOptions{AppendOnly: o.AppendOnly, TLS: o.TLS, Settings: maps.Clone(o.Settings)}
	if out.Settings == nil {
		out.Settings = make(map[string]string)
	}
	maps.Copy(out.Settings, settings)
	return out
}

// peerPort is the port by which other servers know this one.
func (r *Redis) peerPort() int {
	if r.tlsPort != 0 {
		return r.tlsPort
	}
	return r.port
}

// TLSAddr is host:port where the server speaks TLS; it was started with [TLS].
func (r *Redis) TLSAddr() string { return loopback(r.tlsPort) }

// TLSURL addresses the server by TLS, with further parameters (cacert and so on).
func (r *Redis) TLSURL(prefix string, more url.Values) string {
	return tlsURL("rediss", r.TLSAddr(), "", prefix, more)
}

// TLSURL addresses the cluster by TLS, with further parameters.
func (c *Cluster) TLSURL(prefix string, more url.Values) string {
	addrs := ""
	for i, r := range c.nodes {
		if i > 0 {
			addrs += ","
		}
		addrs += r.TLSAddr()
	}
	return tlsURL("rediss+cluster", addrs, "", prefix, more)
}

// TLSURL addresses the master by TLS through the sentinel, with further parameters.
func (s *Sentinel) TLSURL(prefix string, more url.Values) string {
	return tlsURL("rediss+sentinel", s.sentinel.TLSAddr(), "/"+sentinelMaster, prefix, more)
}

func tlsURL(scheme, addrs, path, prefix string, more url.Values) string {
	text := redisURL(scheme, addrs, path, prefix)
	if len(more) > 0 {
		text += "&" + more.Encode()
	}
	return text
}

// secure makes a PostgreSQL one that takes connections with TLS only. The files belong to the
// server's account, as it wants it; so do copies of what our own connections need.
func (p *Postgres) secure(t *TLS) (settings map[string]string, err error) {
	if t == nil {
		return nil, nil
	}
	c, err := t.own(p.port)
	if err != nil {
		return nil, err
	}
	admin, err := t.Authority.Issue("client-"+strconv.Itoa(p.port), time.Hour)
	if err != nil {
		return nil, err
	}
	p.ssl = url.Values{"sslmode": {"verify-ca"}, "sslrootcert": {t.Authority.File}, "sslcert": {admin.Cert}, "sslkey": {admin.Key}}
	if t.Good < 0 { // nobody can connect but with eyes shut
		p.ssl = url.Values{"sslmode": {"require"}}
	}
	settings = map[string]string{"ssl": "on"}
	for name, file := range map[string]string{
		"ssl_cert_file": c.Cert, "ssl_key_file": c.Key, "ssl_ca_file": t.Authority.File,
	} {
		settings[name] = filepath.Join(p.data, filepath.Base(file))
		if err := p.copyIn(file, settings[name]); err != nil {
			return nil, err
		}
	}
	rule := "hostssl all all 127.0.0.1/32 trust" //nolint:dupword // databases and users
	if t.Clients {
		rule += " clientcert=verify-ca"
	}
	if err := os.WriteFile(filepath.Join(p.data, "pg_hba.conf"), []byte(rule+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("engines: configure PostgreSQL: %w", err)
	}
	return settings, nil
}

// copyIn copies a file into the server's folder.
func (p *Postgres) copyIn(from, to string) error {
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err == nil && p.as != nil {
		err = os.Chown(to, int(p.as.uid), int(p.as.gid))
	}
	if err != nil {
		return fmt.Errorf("engines: configure PostgreSQL: %w", errors.Join(err))
	}
	return nil
}

// TLSURL addresses a schema of the server with the parameters of TLS (sslmode and so on).
func (p *Postgres) TLSURL(schema string, ssl url.Values) string {
	all := maps.Clone(ssl)
	all.Set("schema", schema)
	return "postgres://" + postgresUser + "@" + p.Addr() + "/" + postgresUser + "?" + all.Encode()
}
