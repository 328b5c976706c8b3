package schema_test

import (
	"encoding"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/schema"
)

type weapon struct {
	Name  string  `json:"name" shoal:"required,minlen=1,maxlen=20"`
	Class string  `json:"class" shoal:"enum=sword|bow"`
	Power float64 `json:"power" shoal:"min=0,max=1.5"`
}

type head struct {
	ID string `json:"id" shoal:"pattern=^[a-z]{1,8}$"`
}

type tree struct {
	Leaf int              `json:"leaf" shoal:"max=9"`
	Kids []*tree          `json:"kids"`
	By   map[string]*tree `json:"by,omitempty"`
}

type hero struct {
	head
	Coins  int64             `json:"coins" shoal:"min=0,required"`
	Level  uint8             `json:"level" shoal:"max=99"`
	Tags   []string          `json:"tags" shoal:"maxlen=3,enum=a|b"`
	Slots  [2]int            `json:"slots" shoal:"min=1"`
	Bag    map[string]weapon `json:"bag" shoal:"maxlen=2"`
	Pet    *string           `json:"pet" shoal:"enum=cat|dog"`
	Raw    []byte            `json:"raw"`
	Any    any               `json:"any"`
	Val    doc.Value         `json:"val"`
	At     time.Time         `json:"at"`
	Tree   *tree             `json:"tree"`
	Secret int               `json:"-"`
}

func TestForDerivesWhatTheTypeSays(t *testing.T) {
	s, err := schema.For[hero]()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := schema.Parse(s.Text()); err != nil || string(again.Text()) != string(s.Text()) {
		t.Errorf("the text does not parse: %v", err)
	}
	name := "cat"
	whole := hero{
		head: head{ID: "ann"}, Coins: 5, Level: 99, Tags: []string{"a"}, Slots: [2]int{1, 2}, Bag: map[string]weapon{"x": {Name: "y", Class: "bow"}},
		Pet: &name, Raw: []byte{1}, Any: 1, Tree: &tree{Leaf: 1, Kids: []*tree{nil, {By: map[string]*tree{"z": nil}}}},
	}
	for _, h := range []hero{whole, {head: head{ID: "a"}, Slots: [2]int{1, 1}}} {
		if found := s.Check(doc.Must(h)); found != nil {
			t.Errorf("%v", found)
		}
	}
	if found := s.Check(value(t, `{"coins":1,"unknown":[]}`)); found != nil {
		t.Errorf("%v", found)
	}
	want := []string{
		`"/coins": missing (required)`,
		`"/bag": want at most 2 members, got 3 (maxProperties)`,
		`"/bag/a/name": missing (required)`,
		`"/bag/b/class": want one of "sword", "bow", got "axe" (enum)`,
		`"/bag/b/name": want at least 1 characters, got 0 (minLength)`,
		`"/bag/b/power": want at most 1.5, got 2 (maximum)`,
		`"/bag/c": want object, got null (type)`,
		`"/id": want a match of ^[a-z]{1,8}$, got "Ann" (pattern)`,
		`"/level": want at most 99, got 100 (maximum)`,
		`"/pet": want one of "cat", "dog", null, got "cow" (enum)`,
		`"/slots": want at least 2 items, got 1 (minItems)`,
		`"/slots/0": want at least 1, got 0 (minimum)`,
		`"/tags/1": want one of "a", "b", got "c" (enum)`,
		`"/tree/kids/0/leaf": want at most 9, got 10 (maximum)`,
	}
	bad := value(t, `{"bag":{"a":{"class":"bow"},"b":{"name":"","class":"axe","power":2},"c":null},"id":"Ann","level":100,"pet":"cow",
		"slots":[0],"tags":["a","c"],"tree":{"kids":[{"leaf":10}]}}`)
	if diff := cmp.Diff(want, texts(s.Check(bad))); diff != "" {
		t.Error(diff)
	}
}

// writer writes text.
type writer struct{ encoding.TextMarshaler }

func TestForRefusesWhatMakesNoSense(t *testing.T) {
	type inner struct {
		Ch chan int `json:"ch"`
	}
	type named struct {
		J float64 `json:",string"`
	}
	if _, err := schema.For[named](); err == nil || !strings.Contains(err.Error(), `field J: json tag ",string": the option "string" is not supported`) {
		t.Errorf("%v", err)
	}
	type rest struct {
		A int            `shoal:"min=x"`
		B int8           `shoal:"max=200"`
		C int            `shoal:"min=5,max=4"`
		D string         `shoal:"min=1"`
		E string         `shoal:"pattern=("`
		F bool           `shoal:"nonsense"`
		G []inner        `shoal:"minlen=-1"`
		H map[int]string `json:"h"`
		I time.Duration
		K int    `json:"k,omitzero" shoal:"required"`
		L int    `shoal:"min=1,min=2"`
		M uint   `shoal:"min=-1"`
		N any    `shoal:"enum=a"`
		O []byte `shoal:"maxlen=4"`
	}
	_, err := schema.For[rest]()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"field A: tag: min=x: invalid syntax", "field B: tag: max=200: outside the range of int8", "field C: tag: min is above max",
		"field D: tag: min does not apply to a string", "field E: tag: pattern: error parsing regexp", `field F: tag: "nonsense" is none of required`,
		"field G[].Ch: chan int has no JSON form", "field G: tag: minlen=-1: invalid syntax", "field H: map[int]string: the keys must be plain strings",
		"field I: time.Duration has no JSON form", "field K: tag: it is required, but left out", "field L: tag: min is given twice",
		"field M: tag: min=-1: outside the range of uint", "field N: tag: enum does not apply to any", "field O: tag: maxlen does not apply to bytes",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}

func TestForTakesTypesWithTheirOwnForm(t *testing.T) {
	type owner struct {
		W writer `json:"w" shoal:"maxlen=3"`
	}
	s, err := schema.For[owner]()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`"/w": want at most 3 characters, got 4 (maxLength)`}, texts(s.Check(value(t, `{"w":"abcd"}`)))); diff != "" {
		t.Error(diff)
	}
}
