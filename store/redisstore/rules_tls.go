package redisstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"
)

// This file holds what to do about TLS that does not come about, without I/O.

// adviceOf is what to change when TLS with a server that should be name failed so, or empty.
func adviceOf(err error, name string) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Sprintf("its certificate%s is signed by no authority that we know: cacert=FILE names a file with the certificate of its authority", issuerOf(err))
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("its certificate is for %s and not for %s: address the server by a name that it is for, or say such a name with sni=NAME", namesOf(e.Certificate), name)
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return fmt.Sprintf("the certificate of %s is good from %s to %s: renew it on the server, or look at the clock here",
			e.Cert.Subject, e.Cert.NotBefore.UTC().Format(time.RFC3339), e.Cert.NotAfter.UTC().Format(time.RFC3339))
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return speaksNone
	}
	if errors.Is(err, context.DeadlineExceeded) || brokenOff(err) {
		return "perhaps " + speaksNone
	}
	return ""
}

// speaksNone is what to do where there is no TLS.
const speaksNone = "the server does not speak TLS on this port: the port where it does expected, or an address that begins with redis instead of rediss"

// issuerOf names who has signed the server's certificate.
func issuerOf(err error) string {
	e, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok || len(e.UnverifiedCertificates) == 0 {
		return ""
	}
	return fmt.Sprintf(", of %s by %s,", e.UnverifiedCertificates[0].Subject, e.UnverifiedCertificates[0].Issuer)
}

// brokenOff tells that the other side ended the connection.
func brokenOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// namesOf are the hosts that a certificate is for.
func namesOf(c *x509.Certificate) string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no host"
	}
	return strings.Join(names, ", ")
}

// adviceAfter is what to change when the first words on a connection failed so, or empty. A
// server that does not like our certificate says so, or just goes.
func (a *address) adviceAfter(err error) string {
	op, ok := errors.AsType[*net.OpError](err)
	told, gone := ok && op.Op == "remote error", brokenOff(err)
	switch {
	case gone && !a.tls:
		return "perhaps the server speaks TLS on this port: an address that begins with rediss expected then"
	case !told && !gone:
		return ""
	case a.security.cert == "":
		return "perhaps the server asks for a certificate of ours: cert=FILE and key=FILE name it"
	}
	return fmt.Sprintf("perhaps the server does not take our certificate: cert=%s has to be of an authority that it knows, and not expired", a.security.cert)
}
