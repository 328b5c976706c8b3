package field_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/field"
)

type low struct {
	Deep  int
	Both  int
	Named int `json:"tagged"`
}

// High is embedded by pointer.
type High struct {
	Both   int
	Tagged int `json:"tagged"`
	low
}

type top struct {
	*High
	Plain  string `json:"plain,omitempty"`
	Nil    int    `json:",omitzero,case:strict"`
	When   time.Time
	Out    int `json:"-"`
	hidden int //nolint:unused // it is there to be left alone
}

func TestOfFollowsTheRulesOfJSON(t *testing.T) {
	fields, err := field.Of(reflect.TypeFor[top]())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fields {
		got = append(got, f.Name+"="+f.Go)
	}
	want := []string{"Both=High.Both", "tagged=High.Tagged", "Deep=High.low.Deep", "plain=Plain", "Nil=Nil", "When=When"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !fields[3].OmitEmpty || fields[3].OmitZero || !fields[4].OmitZero || fields[4].OmitEmpty {
		t.Errorf("%+v", fields)
	}
}

func TestOfRefusesTwoOfOneName(t *testing.T) {
	number := reflect.TypeFor[int]()
	_, err := field.Of(reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: number, Tag: `json:"x"`}, {Name: "B", Type: number, Tag: `json:"x"`}, {Name: "C", Type: number, Tag: `json:"y,string"`},
	}))
	for _, want := range []string{`field B: the member "x" is A already`, `field C: json tag "y,string"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestOfDropsFieldsThatNoneIsAboveTheOther(t *testing.T) {
	type a struct{ X, Y int }
	type b struct{ X, Z int }
	type both struct {
		a
		b
	}
	fields, err := field.Of(reflect.TypeFor[both]())
	if err != nil || len(fields) != 2 || fields[0].Name != "Y" || fields[1].Name != "Z" {
		t.Errorf("%+v, %v", fields, err)
	}
}

func TestOfRefusesWhatHasNothing(t *testing.T) {
	type hollow struct{ x int }
	if _, err := field.Of(reflect.TypeFor[hollow]()); err == nil || !strings.Contains(err.Error(), "no exported fields") {
		t.Errorf("%v, of %+v", err, hollow{x: 1})
	}
	if _, err := field.Of(reflect.TypeFor[struct{}]()); err != nil {
		t.Error(err)
	}
}

func TestOfRefusesEmbeddedTypesWithAFormOfTheirOwn(t *testing.T) {
	type stamped struct {
		time.Time
		Note string
	}
	want := "field Time: an embedded type with methods for JSON of its own needs a json name"
	if _, err := field.Of(reflect.TypeFor[stamped]()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

func TestCustom(t *testing.T) {
	if m := field.Custom(reflect.TypeFor[time.Time]()); !m.Marshals || !m.Texts || !m.Unmarshals {
		t.Errorf("%+v", m)
	}
	if m := field.Custom(reflect.TypeFor[top]()); m != (field.Methods{}) {
		t.Errorf("%+v", m)
	}
}
