package redisstore

import (
	"errors"
	"fmt"
	"strconv"
)

// security is what an address says of TLS. Its parameters have the names that redis-cli has for
// them, and skip_verify that of other clients' addresses.
type security struct {
	authorities string // cacert: a file of certificates in PEM, instead of the system's
	cert, key   string // files in PEM: what we show to servers that ask for it
	name        string // sni: what the server's certificate has to be for, instead of the host
	blind       bool   // skip_verify: anybody may be the server
}

// read takes a parameter, if it is one of TLS.
func (s *security) read(name, value string) (known bool, err error) {
	text, known := map[string]*string{"cacert": &s.authorities, "cert": &s.cert, "key": &s.key, "sni": &s.name}[name]
	switch {
	case known && value == "" && name == "sni":
		return true, errors.New("sni: a name or an IP address expected")
	case known && value == "":
		return true, fmt.Errorf("%s: the path of a file in PEM expected", name)
	case known:
		*text = value
		return true, nil
	case name != "skip_verify":
		return false, nil
	}
	if s.blind, err = strconv.ParseBool(value); err != nil {
		return true, fmt.Errorf("skip_verify: true or false expected, got %q", value)
	}
	return true, nil
}

// check refuses parameters that do not go together.
func (s *security) check(tls bool) error {
	switch {
	case !tls && *s != (security{}):
		return errors.New("cacert, cert, key, sni and skip_verify are of TLS: an address that begins with rediss expected")
	case (s.cert == "") != (s.key == ""):
		return errors.New("cert and key: both expected, or none")
	case s.blind && s.authorities != "":
		return errors.New("skip_verify: it looks at no authority; cacert or it expected")
	}
	return nil
}
