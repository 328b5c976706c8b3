package doc

// Draft stages operations on one value. What the operations of one call, and of
// consecutive calls with one operation each, touch is copied once and then
// changed in place; nobody else can see that, since whatever the draft hands out
// is frozen. A draft is for one goroutine at a time.
type Draft struct {
	base Value
	now  Value
	own  *owner // what this draft may change in place; nil after something was handed out
}

// NewDraft returns a draft of v without any change.
func NewDraft(v Value) *Draft { return &Draft{base: v, now: v} }

// Apply does the operations in order. It is all or nothing as [Apply] is: a
// refused call leaves the draft as it was before it.
func (d *Draft) Apply(ops ...Op) error {
	if len(ops) > 1 {
		d.own = nil // What is there now must survive a refusal half way.
	}
	if d.own == nil {
		d.own = new(owner)
	}
	before := d.now
	for i := range ops {
		next, err := d.own.apply(d.now, &ops[i])
		if err != nil {
			if i > 0 {
				d.now, d.own = before, nil
			}
			return &OpError{Index: i, Op: ops[i].Kind, Path: ops[i].Path, Err: err}
		}
		d.now = next
	}
	return nil
}

// Get returns what is at the path now, as [Value.Get] does.
func (d *Draft) Get(p Path) (Value, bool) {
	v, ok := d.now.Get(p)
	if v.kind >= KindList {
		d.own = nil
	}
	return v, ok
}

// Value returns the value as staged so far. The draft may go on.
func (d *Draft) Value() Value {
	d.own = nil
	return d.now
}

// Base returns the value that the draft began with.
func (d *Draft) Base() Value { return d.base }

// Reset drops everything staged.
func (d *Draft) Reset() { d.now, d.own = d.base, nil }
