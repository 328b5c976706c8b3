package codec_test

import (
	"math"
	"math/big"
	"reflect"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

type kind string

type numbers struct {
	I   int
	I8  int8   `json:"i8"`
	I64 int64  `json:",omitzero"`
	U   uint16 `json:"u/16"`
	U64 uint64
	F32 float32
	F64 float64 `json:"f64,omitempty"`
}

type item struct {
	Name  string
	Count int
	Tags  []kind `json:"tags,omitempty"`
	Next  *item  `json:"next,omitempty"`
}

type base struct {
	ID    string `json:"id"`
	Shade int    `json:"shade"`
}

// Ext is embedded by pointer.
type Ext struct {
	Extra map[string]int `json:"extra,omitzero"`
	Shade int            `json:"shade2"`
	Numbers2
}

// Numbers2 is embedded in what is embedded.
type Numbers2 struct {
	Deep []int `json:"deep"`
}

// rich has a field of everything that a codec supports.
type rich struct {
	base
	*Ext
	Flag    bool
	Text    string
	Bytes   []byte
	Hash    [3]byte
	Pair    [2]item
	List    []item
	Ints    []int
	Lists   [][]int
	Map     map[string]item
	Kinds   map[kind]kind
	Ptr     *int
	Item    *item `json:",omitzero"`
	Any     any
	Val     doc.Value
	At      time.Time
	Until   time.Time `json:"until,omitzero"`
	Big     *big.Int  `json:"big"`
	Num     numbers   `json:"num"`
	Ignored int       `json:"-"`
	hidden  int       //nolint:unused // it is there to be left alone
}

// small are values that any and doc.Value may hold.
var small = []any{nil, true, int64(7), 1.5, "x", []any{int64(1), "y"}, map[string]any{"k": []any{}, "m": map[string]any{"n": 1.25}}}

// texts are valid strings, with what JSON escapes.
var texts = []string{"", "a", "b", "sword", "ä\n\"", "~/"}

func config() rapid.MakeConfig {
	one := func(all ...any) *rapid.Generator[any] { return rapid.SampledFrom(all) }
	depth := rapid.Custom(func(t *rapid.T) any {
		var next *item
		for range rapid.IntRange(0, 2).Draw(t, "depth") {
			next = &item{Name: rapid.SampledFrom(texts).Draw(t, "name"), Count: rapid.IntRange(0, 2).Draw(t, "count"), Next: next}
		}
		return next
	})
	return rapid.MakeConfig{
		Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[any]():       rapid.SampledFrom(small),
			reflect.TypeFor[doc.Value](): rapid.Map(rapid.SampledFrom(small), func(x any) any { return doc.Must(x) }),
			reflect.TypeFor[time.Time](): one(time.Time{}, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), time.Date(1999, 12, 31, 23, 59, 59, 0, time.FixedZone("", 3600))),
			reflect.TypeFor[*big.Int]():  rapid.Custom(func(t *rapid.T) any { return big.NewInt(rapid.Int64Range(-3, 3).Draw(t, "big")) }),
			reflect.TypeFor[*item]():     depth,
			reflect.TypeFor[[]byte]():    one([]byte(nil), []byte{}, []byte{1, 2, 255}),
			reflect.TypeFor[[]int]():     one([]int(nil), []int{}, []int{1}, []int{1, 2, 3}, []int{3, 2, 1}),
		},
		Kinds: map[reflect.Kind]*rapid.Generator[any]{
			reflect.String:  rapid.Map(rapid.SampledFrom(texts), func(s string) any { return s }),
			reflect.Int:     one(0, 1, 2, -1, math.MaxInt64),
			reflect.Int64:   one(int64(0), int64(1), int64(math.MinInt64)),
			reflect.Uint64:  one(uint64(0), uint64(1), uint64(math.MaxInt64)),
			reflect.Float32: one(float32(0), float32(0.1), float32(1), float32(math.MaxFloat32)),
			reflect.Float64: one(0.0, 0.1, 1.0, 1e300, -2.5),
		},
	}
}

// drawRich draws a value of the type.
func drawRich(t *rapid.T, what string) rich { return rapid.MakeCustom[rich](config()).Draw(t, what) }
