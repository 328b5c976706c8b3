package name_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/internal/name"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		what  string
		check func(field, s string) error
		good  []string
		bad   []string
	}{
		{
			"key", name.CheckKey,
			[]string{"u_42", "76561198000000000", "a@b.c", "guild:7", strings.Repeat("k", name.MaxKey)},
			[]string{"", "a/b", "a b", "ü", "a\x00", "a%2f", strings.Repeat("k", name.MaxKey+1)},
		},
		{
			"name", name.CheckName,
			[]string{"players", "Fish"},
			[]string{"", "a/b", strings.Repeat("n", name.MaxName+1)},
		},
		{
			"board", name.CheckBoard,
			[]string{"Kills", "season/reef/Fish/C1S2"},
			[]string{"", "/a", "a/", "a//b", "a\\b", strings.Repeat("b", name.MaxBoard+1)},
		},
	} {
		for _, s := range c.good {
			if err := c.check("f", s); err != nil {
				t.Errorf("%s %q refused: %v", c.what, s, err)
			}
		}
		for _, s := range c.bad {
			var e *name.Error
			if err := c.check("f", s); !errors.As(err, &e) || e.Field != "f" {
				t.Errorf("%s %q: %v, want an error that names the field", c.what, s, err)
			}
		}
	}
}
