package address

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// stars stand where a password was.
const stars = "***"

// secretParameters are the parameters of an address that nobody but the engine may see.
var secretParameters = [...]string{"password", "sslpassword", "passwd", "pass", "pwd", "auth", "token", "secret"} //nolint:gochecknoglobals // an immutable table

// Redacted is the address as it may be shown: with stars for every password. One that cannot
// be read is cut to what is surely none.
func Redacted(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		if isWords(address) {
			return stars
		}
		return address
	}
	u, err := url.Parse(address)
	if err != nil || u.User == nil && strings.Contains(rest, "@") {
		return scheme + "://" + blind(rest)
	}
	shown := scheme + "://"
	if u.User != nil {
		shown += url.User(u.User.Username()).String()
		if _, has := u.User.Password(); has {
			shown += ":" + stars
		}
		shown += "@"
	}
	shown += u.Host + u.EscapedPath()
	if u.RawQuery != "" {
		shown += "?" + strings.Join(mapped(strings.Split(u.RawQuery, "&"), shownParameter), "&")
	}
	return shown
}

// blind is the rest of an address that cannot be read, without whatever may be a password.
func blind(rest string) string {
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = stars + rest[at:]
	}
	before, _, has := strings.Cut(rest, "?")
	if has {
		return before + "?" + stars
	}
	return rest
}

func shownParameter(pair string) string {
	if name, _, has := strings.Cut(pair, "="); has && isSecret(name) {
		return name + "=" + stars
	}
	return pair
}

func isSecret(name string) bool {
	plain, err := url.QueryUnescape(name)
	if err != nil {
		plain = name
	}
	return slices.Contains(secretParameters[:], strings.ToLower(plain))
}

func mapped(in []string, f func(string) string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = f(s)
	}
	return out
}

// secrets are the passwords of an address, as they are written in it and as they are meant.
func secrets(address string) []string {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		return nil
	}
	var out []string
	add := func(s string) {
		out = append(out, s)
		if plain, err := url.PathUnescape(s); err == nil {
			out = append(out, plain)
		}
		if plain, err := url.QueryUnescape(s); err == nil {
			out = append(out, plain)
		}
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if _, password, has := strings.Cut(rest[:at], ":"); has {
			add(password)
		}
	}
	if _, query, has := strings.Cut(rest, "?"); has {
		for pair := range strings.SplitSeq(query, "&") {
			if name, value, has := strings.Cut(pair, "="); has && isSecret(name) {
				add(value)
			}
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return s == "" })
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) }) // a part of another one comes later
	return slices.Compact(out)
}

// Hide is err without the passwords of the addresses in its text, whoever wrote them there.
// What errors.Is and errors.As find in it is as before. No error stays none.
func Hide(err error, addresses ...string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, a := range addresses {
		text = strings.ReplaceAll(text, a, Redacted(a))
		for _, s := range secrets(a) {
			text = strings.ReplaceAll(text, s, stars)
		}
	}
	if text == err.Error() {
		return err
	}
	return &hidden{err, text}
}

// hidden is an error whose text may be shown.
type hidden struct {
	error

	text string
}

func (h *hidden) Error() string        { return h.text }
func (h *hidden) Is(target error) bool { return errors.Is(h.error, target) }
func (h *hidden) As(target any) bool   { return errors.As(h.error, target) }
