package doc

import "fmt"

// Check reports the first broken promise of a value's trees: heights, widths,
// order of names, and the sums that every node carries.
func Check(v Value) error {
	if got := len(v.Encode()); got != v.Size() {
		return fmt.Errorf("size %d, but %d bytes: %s", v.Size(), got, v)
	}
	return v.check()
}

func (v Value) check() error {
	if v.kind < KindList || v.root() == nil {
		return nil
	}
	return v.root().check(v.kind == KindObject)
}

func (n *node) check(named bool) error {
	if w := n.width(); w == 0 || w > fanout {
		return fmt.Errorf("a node of width %d", w)
	}
	if named != (n.keys != nil) || named && len(n.keys) != n.width() {
		return fmt.Errorf("%d names for %d items, named %v", len(n.keys), n.width(), named)
	}
	for i := 1; i < len(n.keys); i++ {
		if n.keys[i-1] >= n.keys[i] {
			return fmt.Errorf("names %q and %q out of order", n.keys[i-1], n.keys[i])
		}
	}
	sums := *n
	sums.measure()
	if sums.count != n.count || sums.size != n.size || sums.depth != n.depth {
		return fmt.Errorf("sums %d %d %d, should be %d %d %d", n.count, n.size, n.depth, sums.count, sums.size, sums.depth)
	}
	for i, kid := range n.kids {
		if kid.height+1 != n.height {
			return fmt.Errorf("height %d under height %d", kid.height, n.height)
		}
		if named && kid.keys[0] != n.keys[i] {
			return fmt.Errorf("branch says %q, kid begins with %q", n.keys[i], kid.keys[0])
		}
		if err := kid.check(named); err != nil {
			return err
		}
	}
	for _, v := range n.vals {
		if err := v.check(); err != nil {
			return err
		}
	}
	return nil
}

// Height is the number of levels of a value's own tree.
func Height(v Value) int {
	if n := v.root(); n != nil {
		return int(n.height) + 1
	}
	return 0
}

// MaxMarks is the limit of a trail.
const MaxMarks = maxMarks

// Nodes is how many nodes a value's own tree has.
func Nodes(v Value) int { return v.root().nodes() }

func (n *node) nodes() int {
	if n == nil {
		return 0
	}
	sum := 1
	for _, kid := range n.kids {
		sum += kid.nodes()
	}
	return sum
}

// Visited is how many items of two trees are looked at when they are compared.
func Visited(a, b Value) int {
	var x, y cursor
	x.start(a.root())
	y.start(b.root())
	n := 0
	for ; meet(&x, &y); n++ {
		x.skip()
		y.skip()
	}
	return n
}

// LongestCommon is the alignment of two lists of classes, as index pairs.
func LongestCommon(a, b []int) (pairs [][2]int, ok bool) {
	found, ok := longestCommon(a, b)
	for _, p := range found {
		pairs = append(pairs, [2]int{p.x, p.y})
	}
	return pairs, ok
}

// The shape of nodes, and the bound on alignment.
const (
	Fanout      = fanout
	MaxDistance = maxDistance
)

// BuiltForm is the JSON form of effects, made the plain way: as a value.
func BuiltForm(e Effects) Value {
	var set, tail, all Builder
	var unset []Value
	for _, x := range e.list {
		at := x.Path.String()
		switch x.Kind {
		case EffectSet:
			set.Add(at, x.Value)
		case EffectUnset:
			unset = append(unset, text(at))
		case EffectTail:
			tail.Add(at, MustObject(map[string]Value{"from": Int(int64(x.From)), "items": x.Value}))
		}
	}
	if set.Len() > 0 {
		all.Add("set", must(set.Object()))
	}
	if tail.Len() > 0 {
		all.Add("tail", must(tail.Object()))
	}
	if len(unset) > 0 {
		all.Add("unset", List(unset...))
	}
	return must(all.Object())
}

// EffectsOf are these effects, right or wrong.
func EffectsOf(list ...Effect) Effects { return Effects{list: list} }

// ComparePointers is how paths are ordered in what is stored.
func ComparePointers(p, q Path) int { return comparePointers(p, q) }
