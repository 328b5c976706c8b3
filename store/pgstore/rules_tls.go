package pgstore

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// This file holds what to do about TLS that does not come about, without I/O.

// codeNoAccess is that no rule of the server's pg_hba.conf lets such a connection in.
const codeNoAccess = "28000"

// advise adds to a failure to connect what to change, where TLS may be why.
func advise(err error) error {
	if advice := adviceOf(err); advice != "" {
		return fmt.Errorf("%w; %s", err, advice)
	}
	return err
}

func adviceOf(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the server's certificate is signed by no authority that we know: sslrootcert=FILE names a file with the certificate of its authority"
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the server's certificate is not for %s: address it by a name that it is for, or look at its authority only with sslmode=verify-ca", e.Host)
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return fmt.Sprintf("the certificate of %s is good from %s to %s: renew it on the server, or look at the clock here",
			e.Cert.Subject, e.Cert.NotBefore.UTC().Format(time.RFC3339), e.Cert.NotAfter.UTC().Format(time.RFC3339))
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return "perhaps the server does not take our certificate: sslcert=FILE and sslkey=FILE have to be of an authority that it knows, and not expired"
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == codeNoAccess {
		return adviceOfAccess(e.Message)
	}
	if strings.Contains(err.Error(), "server refused TLS connection") { // pgx has no sentinel for it
		return "the server speaks no TLS: ssl = on there, or sslmode=disable here"
	}
	return ""
}

// adviceOfAccess reads what the server says, in the language that most servers speak.
func adviceOfAccess(message string) string {
	switch {
	case strings.Contains(message, "no encryption"), strings.Contains(message, "SSL off"):
		return "if it takes connections with TLS only, say sslmode=verify-full (with sslrootcert=FILE), or at least sslmode=require"
	case strings.Contains(message, "client certificate"):
		return "sslcert=FILE and sslkey=FILE name a certificate of ours"
	}
	return ""
}
