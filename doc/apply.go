package doc

import "fmt"

// Apply returns what the operations, in order, make of v. It is all or nothing: if
// one is refused, v itself comes back with an [*OpError] that says which and why.
// Operations never panic, and leave the number of levels at [DefaultMaxDepth] at
// most ([ErrTooDeep]) unless v was deeper already.
func Apply(v Value, ops ...Op) (Value, error) {
	o := new(owner)
	now := v
	for i := range ops {
		next, err := o.apply(now, &ops[i])
		if err != nil {
			return v, &OpError{Index: i, Op: ops[i].Kind, Path: ops[i].Path, Err: err}
		}
		now = next
	}
	return now, nil
}

// apply does one operation. A refused one has changed nothing, not even what o
// owns: everything is checked on the way down and written on the way up.
func (o *owner) apply(v Value, op *Op) (Value, error) {
	if err := op.check(); err != nil {
		return Value{}, err
	}
	if err := op.checkDepth(v); err != nil {
		return Value{}, err
	}
	switch op.Kind {
	case OpSet:
		return o.edit(v, op.Path.segs, makeParents, func(Value, bool) (Value, error) { return op.Value, nil })
	case OpUnset:
		return o.unset(v, op.Path.segs)
	case OpIncrement:
		return o.edit(v, op.Path.segs, needParents, op.sum)
	case OpAppend, OpInsert, OpRemove:
		return o.edit(v, op.Path.segs, needParents, func(now Value, found bool) (Value, error) {
			return o.relist(now, found, op)
		})
	case OpMerge:
		return o.edit(v, op.Path.segs, makeParents, func(now Value, found bool) (Value, error) {
			return o.mergeAt(now, found, op.Value)
		})
	case OpCompareAndSet:
		return o.edit(v, op.Path.segs, makeParents, func(now Value, found bool) (Value, error) {
			return op.Value, op.expect(now, found)
		})
	case OpCompareAndUnset:
		now, found := v.Get(op.Path)
		if err := op.expect(now, found); err != nil {
			return Value{}, err
		}
		return o.unset(v, op.Path.segs)
	default:
		return Value{}, ErrBadOp
	}
}

// checkDepth refuses what would nest deeper than is allowed.
func (op Op) checkDepth(v Value) error {
	depth := op.Path.Len() + op.Value.Depth()
	switch op.Kind {
	case OpUnset, OpRemove, OpCompareAndUnset: // These put nothing anywhere.
		return nil
	case OpInsert:
		depth++
	case OpSet, OpIncrement, OpAppend, OpMerge, OpCompareAndSet:
	}
	return checkDepth(v, depth)
}

// checkDepth refuses depth levels in what is made of v.
func checkDepth(v Value, depth int) error {
	if depth > max(DefaultMaxDepth, v.Depth()) {
		return fmt.Errorf("%w: %d levels", ErrTooDeep, depth)
	}
	return nil
}

// expect compares what was found with what a compare-and-set expects.
func (op Op) expect(now Value, found bool) error {
	switch {
	case op.Absent && found:
		return fmt.Errorf("%w: something is there", ErrMismatch)
	case !op.Absent && !found:
		return fmt.Errorf("%w: nothing is there", ErrMismatch)
	case !op.Absent && !now.Equal(op.Old):
		return ErrMismatch
	}
	return nil
}

// parents says what becomes of members that are missing on the way, and whether
// "-" may add an item to a list.
type parents bool

const (
	needParents parents = false // they are missed
	makeParents parents = true  // they are created as objects
)

// change makes a new value of what is at the end of a path, if anything is.
type change func(now Value, found bool) (Value, error)

// edit applies a change at the end of the path segs below v.
func (o *owner) edit(v Value, segs []segment, missing parents, do change) (Value, error) {
	if len(segs) == 0 {
		return do(v, true)
	}
	switch v.kind {
	case KindObject:
		return o.editMember(v, segs, missing, do)
	case KindList:
		return o.editItem(v, segs, missing, do)
	case KindNull, KindBool, KindInt, KindFloat, KindString:
	}
	return Value{}, fmt.Errorf("%w: %q leads into a value of kind %s", ErrWrongType, segs[0].name, v.kind)
}

func (o *owner) editMember(v Value, segs []segment, missing parents, do change) (Value, error) {
	name := segs[0].name
	root := v.root()
	if root == nil {
		val, err := o.fresh(segs, missing, do)
		if err != nil {
			return Value{}, err
		}
		return v.holding(o.sprout([]string{name}, val)), nil
	}
	var p place
	now, found := root.seekMember(name, &p)
	if !found {
		val, err := o.fresh(segs, missing, do)
		if err != nil {
			return Value{}, err
		}
		return v.holding(o.grown(o.insert(root, p.at[:], name, val))), nil
	}
	was := now.extent()
	val, err := o.edit(now, segs[1:], missing, do)
	if err != nil {
		return Value{}, err
	}
	return v.holding(o.replace(root, p.at[:], val, was)), nil
}

// fresh is the value of a member that is missing so far, with all that is missing
// below it.
func (o *owner) fresh(segs []segment, missing parents, do change) (Value, error) {
	name, below := segs[0].name, segs[1:]
	if err := checkName(name); err != nil {
		return Value{}, fmt.Errorf("%w: %w", ErrBadPath, err)
	}
	if len(below) == 0 {
		return do(Value{}, false)
	}
	if missing == needParents {
		return Value{}, fmt.Errorf("%w: %q is missing", ErrNoPath, name)
	}
	if below[0].pos == endPos {
		return Value{}, fmt.Errorf("%w: %q is missing, and whether it is a list cannot be guessed", ErrNoPath, name)
	}
	return o.editMember(Value{kind: KindObject}, below, missing, do)
}

func (o *owner) editItem(v Value, segs []segment, missing parents, do change) (Value, error) {
	s := segs[0]
	if s.pos == endPos && len(segs) == 1 && missing == makeParents {
		val, err := do(Value{}, false)
		if err != nil {
			return Value{}, err
		}
		return o.insertIndex(v, v.Len(), val), nil
	}
	if s.pos < 0 || s.pos >= v.Len() {
		return Value{}, fmt.Errorf("%w: %q of a list of %d", ErrIndex, s.name, v.Len())
	}
	item := v.Index(s.pos)
	was := item.extent()
	val, err := o.edit(item, segs[1:], missing, do)
	if err != nil {
		return Value{}, err
	}
	return o.putIndex(v, s.pos, val, was), nil
}

// unset takes the member at the end of segs away, if it is there.
func (o *owner) unset(v Value, segs []segment) (Value, error) {
	if len(segs) == 0 {
		return Value{}, fmt.Errorf("%w: the whole document cannot be unset", ErrBadPath)
	}
	above, name := segs[:len(segs)-1], segs[len(segs)-1].name
	parent, _ := v.Get(Path{above})
	if parent.kind == KindList {
		return Value{}, fmt.Errorf("%w: an item of a list is removed, not unset", ErrWrongType)
	}
	if _, found := parent.Member(name); !found {
		return v, nil
	}
	return o.edit(v, above, needParents, func(now Value, _ bool) (Value, error) {
		return o.dropMember(now, name), nil
	})
}

// relist does an append, insert or remove on what is at its path.
func (o *owner) relist(now Value, found bool, op *Op) (Value, error) {
	if !found {
		if op.Kind == OpRemove {
			return Value{}, ErrNoPath
		}
		now = List()
	}
	if now.kind != KindList {
		return Value{}, fmt.Errorf("%w: %s", ErrWrongType, now.kind)
	}
	last := now.Len()
	if op.Kind == OpRemove {
		last--
	}
	if op.Index > last {
		return Value{}, fmt.Errorf("%w: %d of a list of %d", ErrIndex, op.Index, now.Len())
	}
	if op.Kind == OpInsert {
		return o.insertIndex(now, op.Index, op.Value), nil
	}
	if op.Kind == OpRemove {
		return o.removeIndex(now, op.Index), nil
	}
	return o.spliceIndex(now, now.Len(), 0, appendItems(nil, op.Value, 0, op.Value.Len())), nil
}

// mergeAt is Merge at the end of its path.
func (o *owner) mergeAt(now Value, found bool, over Value) (Value, error) {
	if !found {
		return over, nil
	}
	if now.kind != KindObject {
		return Value{}, fmt.Errorf("%w: %s", ErrWrongType, now.kind)
	}
	return o.merge(now, over), nil
}

// merge lays the object over on the object now.
func (o *owner) merge(now, over Value) Value {
	for name, val := range over.Members() {
		at, found := now.Member(name)
		was := at.extent()
		switch {
		case found && at.kind == KindObject && val.kind == KindObject:
			val = o.merge(at, val)
		case found && at.same(val):
			continue
		}
		now = o.putMember(now, name, val, was)
	}
	return now
}
