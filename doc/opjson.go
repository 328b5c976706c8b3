package doc

// MarshalJSON returns the wire form, an object whose member "op" names the
// operation and whose "path" is a JSON Pointer. The rest depends on "op":
//
//	set              value
//	unset
//	increment        by, and if they are given: min, max, clamp
//	append           items
//	insert           index, value
//	remove           index
//	merge            value
//	compareAndSet    value, and old unless nothing is expected
//	compareAndUnset  old
//
// For example {"by":3,"min":0,"op":"increment","path":"/coins"}.
func (op Op) MarshalJSON() ([]byte, error) {
	if err := op.check(); err != nil {
		return nil, err
	}
	var b Builder
	b.Add("op", text(op.Kind.String()))
	b.Add("path", text(op.Path.String()))
	switch op.Kind {
	case OpSet, OpMerge:
		b.Add("value", op.Value)
	case OpUnset:
	case OpIncrement:
		op.addIncrement(&b)
	case OpAppend:
		b.Add("items", op.Value)
	case OpInsert:
		b.Add("index", Int(int64(op.Index)))
		b.Add("value", op.Value)
	case OpRemove:
		b.Add("index", Int(int64(op.Index)))
	case OpCompareAndSet:
		b.Add("value", op.Value)
		if !op.Absent {
			b.Add("old", op.Old)
		}
	case OpCompareAndUnset:
		b.Add("old", op.Old)
	}
	v, err := b.Object()
	return v.Encode(), err
}

func (op Op) addIncrement(b *Builder) {
	b.Add("by", op.Value)
	if !op.Min.IsNull() {
		b.Add("min", op.Min)
	}
	if !op.Max.IsNull() {
		b.Add("max", op.Max)
	}
	if op.Clamp {
		b.Add("clamp", Bool(true))
	}
}

// UnmarshalJSON reads the wire form. An unknown operation, a field that the
// operation does not have, a field that is missing and one of the wrong kind are
// refused with [ErrBadOp], naming the field.
func (op *Op) UnmarshalJSON(data []byte) error {
	f, err := parseForm("an operation", data)
	if err != nil {
		return err
	}
	read, err := opFrom(f)
	if err != nil {
		return err
	}
	*op = read
	return nil
}

func opFrom(f *form) (Op, error) {
	name := f.text("op")
	op := Op{Path: f.path()}
	f.what = "the operation " + name
	switch name {
	case "set":
		op.Kind, op.Value = OpSet, f.value("value")
	case "merge":
		op.Kind, op.Value = OpMerge, f.value("value")
	case "unset":
		op.Kind = OpUnset
	case "increment":
		op.Kind = OpIncrement
		op.Value = f.value("by")
		op.Min, _ = f.optional("min")
		op.Max, _ = f.optional("max")
		op.Clamp = f.clamp()
	case "append":
		op.Kind, op.Value = OpAppend, f.list("items")
	case "insert":
		op.Kind, op.Index, op.Value = OpInsert, f.count("index"), f.value("value")
	case "remove":
		op.Kind, op.Index = OpRemove, f.count("index")
	case "compareAndSet":
		op.Kind, op.Value = OpCompareAndSet, f.value("value")
		old, there := f.optional("old")
		op.Old, op.Absent = old, !there
	case "compareAndUnset":
		op.Kind, op.Old = OpCompareAndUnset, f.value("old")
	default:
		f.fail("there is no operation %q", name)
	}
	if err := f.end(); err != nil {
		return Op{}, err
	}
	return op, op.check()
}
